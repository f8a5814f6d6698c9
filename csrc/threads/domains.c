/* Domains of a pool: checks them, and makes the kernel of each. */
#include "threads/domains.h"

#include <stdlib.h>

struct hs__domain {
    int has_kernel;
    hs__kernel kernel; /* the domain's own, if it has one */
    hs_domain sizes;   /* without the kernel's name */
};

static int are_sizes(const int32_t sizes[2]) { return sizes[0] >= 0 && sizes[1] >= 0; }

static int is_valid(int32_t p, int32_t count, const hs_domain *given, const int32_t *domain_of)
{
    if (count < 1 || count > p || !given || !domain_of) return 0;
    for (int32_t d = 0; d < count; d++)
        if (!are_sizes(given[d].depth) || !are_sizes(given[d].rows) || !are_sizes(given[d].cols))
            return 0;
    for (int32_t w = 0; w < p; w++)
        if (domain_of[w] < 0 || domain_of[w] >= count) return 0;
    return 1;
}

hs_status hs__domains_open(hs__domains *domains, int32_t p, int32_t count, const hs_domain *given,
                           const int32_t *domain_of)
{
    *domains = (hs__domains){.count = 1};
    if (!given && !domain_of && count <= 1) return HS_OK;
    if (!is_valid(p, count, given, domain_of)) return HS_ERROR_VALUE;
    domains->of = malloc((size_t)p * sizeof *domains->of);
    domains->domain = calloc((size_t)count, sizeof *domains->domain);
    if (!domains->of || !domains->domain) return HS_ERROR_MEMORY;
    domains->count = count;
    for (int32_t w = 0; w < p; w++) domains->of[w] = domain_of[w];
    for (int32_t d = 0; d < count; d++) {
        domains->domain[d].sizes = given[d];
        domains->domain[d].sizes.kernel = NULL;
        if (!given[d].kernel) continue;
        const hs_status status = hs__kernel_set(given[d].kernel, &domains->domain[d].kernel);
        if (status) return status;
        domains->domain[d].has_kernel = 1;
    }
    return HS_OK;
}

void hs__domains_close(hs__domains *domains)
{
    free(domains->of);
    free(domains->domain);
}

/* As hs__blocking requires. */
enum { LEAST_DEPTH = 2 };

static int32_t size_of(int32_t given, int32_t usual, int32_t tile)
{
    if (!given) return usual;
    return given < tile ? tile : given;
}

static hs__kernel kernel_of(const hs__domain *x)
{
    hs__kernel kernel = x->has_kernel ? x->kernel : *hs__kernel_current();
    for (int type = 0; type < 2; type++) {
        hs__blocking *real = &kernel.real[type];
        real->depth = size_of(x->sizes.depth[type], real->depth, LEAST_DEPTH);
        real->rows = size_of(x->sizes.rows[type], real->rows, real->tile_rows);
        real->cols = size_of(x->sizes.cols[type], real->cols, real->tile_cols);
    }
    return kernel;
}

void hs__domain_kernels(const hs__domains *domains, hs__kernel *kernel)
{
    if (!domains->domain) {
        kernel[0] = *hs__kernel_current();
        return;
    }
    int32_t least[2] = {INT32_MAX, INT32_MAX};
    for (int32_t d = 0; d < domains->count; d++) {
        kernel[d] = kernel_of(&domains->domain[d]);
        for (int type = 0; type < 2; type++)
            if (kernel[d].real[type].depth < least[type]) least[type] = kernel[d].real[type].depth;
    }
    for (int32_t d = 0; d < domains->count; d++)
        for (int type = 0; type < 2; type++) kernel[d].real[type].depth = least[type];
}
