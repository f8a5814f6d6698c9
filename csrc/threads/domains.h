/* The domains of a pool: which workers share a cache, and which kernel they multiply with. */
#ifndef HS_THREADS_DOMAINS_H
#define HS_THREADS_DOMAINS_H

#include "kernel/kernel.h"

typedef struct hs__domain hs__domain;

typedef struct hs__domains {
    int32_t count;      /* 1 .. p */
    int32_t *of;        /* [p] domain of each worker; NULL: all 0 */
    hs__domain *domain; /* [count], or NULL: the kernel in use */
} hs__domains;

/* Opens the domains given to hs_pool_create_domains, or one domain of all workers if given is
 * NULL. */
hs_status hs__domains_open(hs__domains *domains, int32_t p, int32_t count, const hs_domain *given,
                           const int32_t *domain_of);
void hs__domains_close(hs__domains *domains);

static inline int32_t hs__domain_of(const hs__domains *domains, int32_t worker)
{
    return domains->of ? domains->of[worker] : 0;
}

/* Fills in the kernel with which the workers of each domain multiply now.
 *   kernel  [count] out. All have the least depth of panels of all domains, so that every element
 *           is the sum of the same terms in the same order */
void hs__domain_kernels(const hs__domains *domains, hs__kernel *kernel);

#endif
