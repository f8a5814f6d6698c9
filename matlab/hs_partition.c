/* [rects, cost, bound, certificate] = hs_partition(areas, method, shape, options): zones of given areas that tile a square, or a matrix. */
#include "gateway.h"

static const struct {
    const char *name;
    hs_partition_method method;
} methods[] = {
    {"best", HS_PARTITION_BEST},
    {"columns", HS_PARTITION_COLUMNS},
    {"interval", HS_PARTITION_INTERVAL},
    {"guillotine", HS_PARTITION_GUILLOTINE},
    {"nonrectangular", HS_PARTITION_NONRECTANGULAR},
    {"contiguous", HS_PARTITION_CONTIGUOUS},
    {"rows", HS_PARTITION_ROWS},
    {"kalinov-lastovetsky", HS_PARTITION_KALINOV_LASTOVETSKY},
    {"recursive", HS_PARTITION_RECURSIVE},
    {"nagamochi-abe", HS_PARTITION_NAGAMOCHI_ABE},
    {"snrpp", HS_PARTITION_SNRPP},
    {"kaddoura", HS_PARTITION_KADDOURA},
    {"mohammadi-behroozi", HS_PARTITION_MOHAMMADI_BEHROOZI},
    {"search", HS_PARTITION_SEARCH}, /* only as the method that won */
};
enum { METHODS = sizeof methods / sizeof *methods, ASKED = METHODS - 1 };

static void check_areas(const double *areas, int64_t p, int64_t *positive)
{
    double sum = 0.0;
    *positive = 0;
    for (int64_t i = 0; i < p; i++) {
        if (!(areas[i] >= 0.0 && isfinite(areas[i])))
            mexErrMsgIdAndTxt("hetsched:value", "areas must be finite and not negative, areas(%lld) is %g", (long long)i + 1,
                              areas[i]);
        sum += areas[i], *positive += areas[i] > 0.0;
    }
    if (!*positive || !isfinite(sum)) mexErrMsgIdAndTxt("hetsched:value", "areas must have a positive, finite sum");
}

static void read_shape(const mxArray *x, hs_partition *problem)
{
    int64_t length;
    const double *shape = gateway_vector(x, "shape", &length);
    for (int i = 0; i < 2; i++)
        if (length != 2 || !(shape[i] >= 1.0 && shape[i] <= 9007199254740992.0 && shape[i] == floor(shape[i])))
            mexErrMsgIdAndTxt("hetsched:value", "shape must be two positive whole numbers, rows and columns");
    problem->m = (int64_t)shape[0], problem->n = (int64_t)shape[1];
}

static int32_t read_method(const mxArray *x, char word[32])
{
    if (!mxIsChar(x)) mexErrMsgIdAndTxt("hetsched:type", "method must be a word");
    gateway_word(x, "method", word);
    for (int i = 0; i < ASKED; i++)
        if (!strcmp(word, methods[i].name)) return methods[i].method;
    mexErrMsgIdAndTxt("hetsched:value", "method '%s' is not known", word);
    return -1;
}

/* A number of the options, in low .. high; NaN where it is not given. */
static double read_number(const mxArray *options, const char *name, double low, double high, int whole)
{
    int64_t length;
    const mxArray *field = mxGetField(options, 0, name);
    if (!field || mxIsEmpty(field)) return NAN;
    const double *value = gateway_vector(field, name, &length);
    if (length != 1 || !(*value >= low && *value <= high) || (whole && *value != floor(*value)))
        mexErrMsgIdAndTxt("hetsched:value", "options.%s must be a %snumber from %g to %g", name, whole ? "whole " : "", low, high);
    return *value;
}

/* A vector of the options with an entry for each worker, or NULL. */
static const double *read_entries(const mxArray *options, const char *name, int32_t p)
{
    int64_t length;
    const mxArray *field = mxGetField(options, 0, name);
    if (!field || mxIsEmpty(field)) return NULL;
    const double *values = gateway_vector(field, name, &length);
    if (length != p) mexErrMsgIdAndTxt("hetsched:size", "options.%s must have %d entries like areas", name, (int)p);
    return values;
}

static void read_options(const mxArray *options, hs_partition *problem, hs_effort *effort)
{
    static const char *const known[] = {"link_costs", "groups", "group_cost", "objective", "columns", "seed", "budget"};
    if (!mxIsStruct(options) || mxGetNumberOfElements(options) != 1) mexErrMsgIdAndTxt("hetsched:type", "options must be a struct");
    for (int i = 0; i < mxGetNumberOfFields(options); i++) {
        const char *name = mxGetFieldNameByNumber(options, i);
        size_t k = 0;
        while (k < sizeof known / sizeof *known && strcmp(name, known[k]) != 0) k++;
        if (k == sizeof known / sizeof *known) mexErrMsgIdAndTxt("hetsched:value", "options.%s is not known", name);
    }
    problem->weights = read_entries(options, "link_costs", problem->p);
    for (int32_t i = 0; problem->weights && i < problem->p; i++)
        if (!(problem->weights[i] > 0.0 && isfinite(problem->weights[i])))
            mexErrMsgIdAndTxt("hetsched:value", "options.link_costs must be positive and finite");
    const double *groups = read_entries(options, "groups", problem->p);
    if (groups) {
        int32_t *own = mxMalloc((size_t)problem->p * sizeof *own);
        for (int32_t i = 0; i < problem->p; i++) {
            if (!(groups[i] >= 1.0 && groups[i] <= problem->p && groups[i] == floor(groups[i])))
                mexErrMsgIdAndTxt("hetsched:value", "options.groups must be whole numbers from 1 to %d", (int)problem->p);
            own[i] = (int32_t)groups[i] - 1;
        }
        problem->groups = own;
    }
    const double cost = read_number(options, "group_cost", 0.0, 1e300, 0);
    const double columns = read_number(options, "columns", 1.0, 1e9, 1);
    const double seed = read_number(options, "seed", 0.0, 9007199254740992.0, 1);
    const double budget = read_number(options, "budget", 0.0, 1e300, 0);
    problem->group_cost = isnan(cost) ? 1.0 : cost;
    problem->columns = isnan(columns) ? 0 : (int32_t)columns;
    effort->seed = isnan(seed) ? 0 : (uint64_t)seed;
    effort->timed = !isnan(budget);
    effort->seconds = isnan(budget) ? 0.0 : budget;
    const mxArray *objective = mxGetField(options, 0, "objective");
    char word[32] = "sum";
    if (objective) {
        if (!mxIsChar(objective)) mexErrMsgIdAndTxt("hetsched:type", "options.objective must be a word");
        gateway_word(objective, "objective", word);
    }
    problem->largest = !strcmp(word, "max");
    if (!problem->largest && strcmp(word, "sum") != 0)
        mexErrMsgIdAndTxt("hetsched:value", "options.objective must be 'sum' or 'max', got '%s'", word);
}

/* The rectangles of each worker, in pages; all zero after its last one. The host counts cells from 1. */
static mxArray *rects_of(const hs_partition *problem, const hs_partition_plan *plan)
{
    mwSize most = 1;
    for (int32_t q = 0, own = 0; q < plan->pieces; q++) {
        own = q && plan->workers[q] == plan->workers[q - 1] ? own + 1 : 1;
        most = (mwSize)own > most ? (mwSize)own : most;
    }
    const mwSize p = (mwSize)problem->p, sides[3] = {p, 4, most};
    mxArray *array = mxCreateNumericArray(most > 1 ? 3 : 2, sides, mxDOUBLE_CLASS, mxREAL);
    double *values = (double *)mxGetData(array);
    for (int32_t q = 0, page = 0; q < plan->pieces; q++) {
        page = q && plan->workers[q] == plan->workers[q - 1] ? page + 1 : 0;
        for (mwSize k = 0; k < 4 && plan->rects[4 * q + 2] > 0.0 && plan->rects[4 * q + 3] > 0.0; k++)
            values[(mwSize)plan->workers[q] + p * (k + 4 * (mwSize)page)] = plan->rects[4 * q + (int32_t)k] + (problem->m && k < 2);
    }
    return array;
}

static mxArray *certificate_of(int32_t method, const hs_certificate *found)
{
    static const char *names[] = {"method", "value", "bound", "gap", "optimal", "scope"};
    mxArray *certificate = mxCreateStructMatrix(1, 1, 6, names);
    const char *name = "";
    for (int i = 0; i < METHODS; i++)
        if (methods[i].method == (hs_partition_method)method) name = methods[i].name;
    mxSetField(certificate, 0, "method", mxCreateString(name));
    mxSetField(certificate, 0, "value", mxCreateDoubleScalar(found->value));
    mxSetField(certificate, 0, "bound", mxCreateDoubleScalar(found->bound));
    mxSetField(certificate, 0, "gap", mxCreateDoubleScalar(found->gap));
    mxSetField(certificate, 0, "optimal", mxCreateLogicalScalar(found->optimal != 0));
    mxSetField(certificate, 0, "scope", mxCreateString(found->scope));
    return certificate;
}

void mexFunction(int nlhs, mxArray *plhs[], int nrhs, const mxArray *prhs[])
{
    gateway_count(nrhs, 1, 4, nlhs, 4, "[rects, cost, bound, certificate] = hs_partition(areas, method, shape, options)");
    int64_t length, positive;
    hs_partition problem = {.areas = gateway_vector(prhs[0], "areas", &length)};
    hs_effort effort = {0};
    problem.p = (int32_t)length;
    check_areas(problem.areas, problem.p, &positive);
    char word[32] = "best";
    if (nrhs > 1) problem.method = read_method(prhs[1], word);
    if (nrhs > 2 && !mxIsEmpty(prhs[2])) read_shape(prhs[2], &problem);
    if (nrhs > 3) read_options(prhs[3], &problem, &effort);
    if (problem.m && positive > (double)problem.m * (double)problem.n)
        mexErrMsgIdAndTxt("hetsched:infeasible", "shape has fewer cells than areas has workers, %lld", (long long)positive);
    if (problem.method == HS_PARTITION_CONTIGUOUS && !problem.m)
        mexErrMsgIdAndTxt("hetsched:value", "method 'contiguous' needs shape");

    const size_t p = (size_t)problem.p;
    hs_partition_plan plan = {.workers = mxMalloc(3 * p * sizeof *plan.workers), .rects = mxMalloc(12 * p * sizeof *plan.rects)};
    hs_certificate certificate;
    const hs_status status = hs_partition_best(&problem, &effort, NULL, &plan, &certificate);
    if (status == HS_ERROR_UNSUPPORTED)
        mexErrMsgIdAndTxt("hetsched:unsupported", "areas are too many, or too far apart, for method '%s'", word);
    gateway_check(status);
    plhs[0] = rects_of(&problem, &plan);
    if (nlhs > 1) plhs[1] = mxCreateDoubleScalar(certificate.value);
    if (nlhs > 2) plhs[2] = mxCreateDoubleScalar(certificate.bound);
    if (nlhs > 3) plhs[3] = certificate_of(plan.method, &certificate);
}
