/* [rects, cost, bound] = hs_partition(areas, method, shape): rectangles of given areas that tile a square, or a matrix. */
#include "gateway.h"

/* In the order in which "best" tries them: of equal costs the first is taken. For more than `most` workers it does not. */
typedef enum { COLUMNS, GUILLOTINE, INTERVAL, RULE } family;
static const struct {
    const char *name;
    family family;
    hs_rule rule;
    int64_t most;
} methods[] = {
    {"guillotine", GUILLOTINE, HS_RULE_ROWS, 12},
    {"interval", INTERVAL, HS_RULE_ROWS, 128},
    {"columns", COLUMNS, HS_RULE_ROWS, INT32_MAX},
    {"nagamochi-abe", RULE, HS_RULE_NAGAMOCHI_ABE, INT32_MAX},
    {"recursive", RULE, HS_RULE_RECURSIVE, INT32_MAX},
    {"kaddoura", RULE, HS_RULE_KADDOURA, INT32_MAX},
    {"kalinov-lastovetsky", RULE, HS_RULE_KALINOV_LASTOVETSKY, INT32_MAX},
    {"rows", RULE, HS_RULE_ROWS, INT32_MAX},
};
enum { METHODS = sizeof methods / sizeof *methods };

/* A floorplan in postfix notation, as partition.h has them; plan is [2 p]. */
typedef struct {
    int32_t *plan, length;
    double cost;
} floorplan;

static hs_status by_columns(int32_t p, const double *areas, double aspect, floorplan *found)
{
    int32_t *order = mxMalloc((size_t)p * sizeof *order), *start = mxMalloc(((size_t)p + 1) * sizeof *start), columns;
    const hs_status status = hs_partition_columns(p, areas, aspect, 1, p, p, NULL, order, start, &columns, &found->cost);
    if (status) return status;
    found->length = 0;
    for (int32_t j = 0; j < columns; j++) {
        for (int32_t i = start[j]; i < start[j + 1]; i++) {
            found->plan[found->length++] = order[i];
            if (i > start[j]) found->plan[found->length++] = HS_ABOVE;
        }
        if (j) found->plan[found->length++] = HS_BESIDE;
    }
    return HS_OK;
}

static hs_status by_method(int method, int32_t p, const double *areas, double aspect, floorplan *found)
{
    switch (methods[method].family) {
    case COLUMNS: return by_columns(p, areas, aspect, found);
    case GUILLOTINE: return hs_partition_guillotine(p, areas, NULL, aspect, 0, NULL, found->plan, &found->length, &found->cost);
    case INTERVAL:
        return hs_partition_interval(p, areas, NULL, aspect, NULL, NULL, 0.0, 0, NULL, found->plan, &found->length, &found->cost);
    default: return hs_partition_rule(methods[method].rule, p, areas, aspect, NULL, found->plan, &found->length, &found->cost);
    }
}

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

static void read_shape(const mxArray *x, int64_t *m, int64_t *n)
{
    int64_t length;
    const double *shape = gateway_vector(x, "shape", &length);
    for (int i = 0; i < 2; i++)
        if (length != 2 || !(shape[i] >= 1.0 && shape[i] <= 9007199254740992.0 && shape[i] == floor(shape[i])))
            mexErrMsgIdAndTxt("hetsched:value", "shape must be two positive whole numbers, rows and columns");
    *m = (int64_t)shape[0], *n = (int64_t)shape[1];
}

void mexFunction(int nlhs, mxArray *plhs[], int nrhs, const mxArray *prhs[])
{
    gateway_count(nrhs, 1, 3, nlhs, 3, "[rects, cost, bound] = hs_partition(areas, method, shape)");
    int64_t length, positive, m = 0, n = 0;
    const double *areas = gateway_vector(prhs[0], "areas", &length);
    const int32_t p = (int32_t)length;
    check_areas(areas, p, &positive);
    char word[32] = "best";
    if (nrhs > 1) {
        if (!mxIsChar(prhs[1])) mexErrMsgIdAndTxt("hetsched:type", "method must be a word");
        gateway_word(prhs[1], "method", word);
    }
    if (nrhs > 2) read_shape(prhs[2], &m, &n);
    if (m && positive > (double)m * (double)n)
        mexErrMsgIdAndTxt("hetsched:infeasible", "shape has fewer cells than areas has workers, %lld", (long long)positive);
    const double aspect = m ? (double)n / (double)m : 1.0;
    const int best = !strcmp(word, "best");
    floorplan least = {NULL, 0, INFINITY};
    for (int method = 0; method < METHODS; method++) {
        if (best ? positive > methods[method].most : strcmp(word, methods[method].name) != 0) continue;
        floorplan found = {mxMalloc(2 * (size_t)p * sizeof *found.plan), 0, 0.0};
        const hs_status status = by_method(method, p, areas, aspect, &found);
        /* One method may refuse areas that are too far apart; others do not. */
        if (status == HS_ERROR_UNSUPPORTED && best) continue;
        if (status == HS_ERROR_UNSUPPORTED)
            mexErrMsgIdAndTxt("hetsched:unsupported", "areas are too many, or too far apart, for method '%s'", word);
        gateway_check(status);
        if (!least.plan || found.cost < least.cost * (1.0 - 1e-12)) least = found;
    }
    if (!least.plan) mexErrMsgIdAndTxt("hetsched:value", "method '%s' is not known", word);

    plhs[0] = mxCreateDoubleMatrix((mwSize)p, 4, mxREAL);
    double *rows = (double *)mxGetData(plhs[0]);
    int32_t *workers = mxMalloc(2 * (size_t)p * sizeof *workers), pieces;
    hs_certificate certificate;
    if (m) {
        int64_t *cells = mxMalloc(8 * (size_t)p * sizeof *cells);
        gateway_check(hs_floorplan_tile(m, n, p, areas, least.plan, least.length, NULL, workers, cells, &pieces));
        gateway_check(hs_zones_certificate(m, n, p, NULL, pieces, workers, cells, &certificate));
        for (int32_t q = 0; q < pieces; q++)
            for (int k = 0; k < 4 && cells[4 * q + 2] && cells[4 * q + 3]; k++)
                rows[workers[q] + (int64_t)k * p] = (double)(cells[4 * q + k] + (k < 2)); /* the host counts from 1 */
    } else {
        double *rects = mxMalloc(8 * (size_t)p * sizeof *rects);
        gateway_check(hs_floorplan_rects(p, areas, NULL, 1.0, least.plan, least.length, workers, rects, &pieces, NULL));
        gateway_check(hs_floorplan_certificate(p, areas, NULL, 1.0, least.plan, least.length, &certificate));
        for (int32_t q = 0; q < pieces; q++)
            for (int k = 0; k < 4; k++) rows[workers[q] + (int64_t)k * p] = rects[4 * q + k];
    }
    if (nlhs > 1) plhs[1] = mxCreateDoubleScalar(certificate.value);
    if (nlhs > 2) plhs[2] = mxCreateDoubleScalar(certificate.bound);
}
