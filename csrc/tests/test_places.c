/* Places of the drop-in library's workers within masks of machines of any size, and masks of
 * threads that OpenMP has bound. */
#define _GNU_SOURCE
#include "blas/places.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blas/entry.h"
#include "blas/settings.h"
#include "check.h"

hs__settings hs__blas_settings;

/* ---- a process with an OpenMP runtime, the test itself --------------------------------------- */

static struct {
    int bind, parallel, places, kept;
    int binds, asked; /* as LLVM's: who asks for places is on one cpu from then on */
    int procs[4][8];  /* of each place, ended by a negative number */
} runtime;

#define VISIBLE __attribute__((visibility("default")))

VISIBLE int omp_in_parallel(void) { return runtime.parallel; }
VISIBLE int omp_get_proc_bind(void) { return runtime.bind; }
VISIBLE int omp_get_num_places(void)
{
    runtime.asked++;
    if (runtime.binds) hs__pin(pthread_self(), sched_getcpu());
    return runtime.places;
}
VISIBLE int omp_get_place_num_procs(int place)
{
    int count = 0;
    while (runtime.procs[place][count] >= 0) count++;
    return count;
}
VISIBLE void omp_get_place_proc_ids(int place, int *ids)
{
    memcpy(ids, runtime.procs[place], sizeof *ids * (size_t)omp_get_place_num_procs(place));
}

unsigned long long hs__load_count(void) { return 1; }
void hs__keep_loaded(const void *address) { runtime.kept += address != NULL; }
void hs__each_object(int (*visit)(void *handle, void *context), void *context)
{
    void *handle = dlopen(NULL, RTLD_LAZY);
    /* The second visit finds the runtime known. */
    for (int call = 0; call < 2; call++) visit(handle, context);
    dlclose(handle);
}

/* ---- masks ----------------------------------------------------------------------------------- */

/* A mask with these cpus; the list ends with a negative number. */
static hs__cpus mask_of(size_t room, const int32_t *cpus)
{
    hs__cpus mask = {calloc(1, CPU_ALLOC_SIZE(room)), CPU_ALLOC_SIZE(room)};
    for (int i = 0; mask.set && cpus[i] >= 0; i++) hs__cpus_add(&mask, cpus[i]);
    return mask;
}

static void name_places(int32_t count, const int32_t *cores)
{
    memset(&hs__blas_settings, 0, sizeof hs__blas_settings);
    hs__blas_settings.named.count = count;
    hs__blas_settings.named.has_speeds = count > 0;
    hs__blas_settings.named.domains = 3;
    hs__blas_settings.most = count ? count : HS__MOST_WORKERS;
    for (int32_t i = 0; i < count; i++) {
        hs__blas_settings.named.cores[i] = cores[i];
        hs__blas_settings.named.speeds[i] = 1.0 + i;
        hs__blas_settings.named.domain_of[i] = i % 3;
    }
    for (int d = 0; d < 3; d++) hs__blas_settings.domain[d].depth[0] = 10 + d;
}

/* Checks the places within a mask: they are the named ones with these numbers, with their speeds
 * and domains. */
static void expect_places(const int32_t *cpus, int32_t count, const int32_t *which)
{
    static hs__places found;
    hs__cpus mask = mask_of(70000, cpus);
    memset(&found, 0x55, sizeof found);
    hs__places_within(&mask, &found);
    CHECK(found.count == count && found.has_speeds && found.domains == 3);
    for (int32_t i = 0; i < count && i < found.count; i++) {
        CHECK(found.cores[i] == hs__blas_settings.named.cores[which[i]] &&
              found.speeds[i] == 1.0 + which[i]);
        CHECK(found.domain_of[i] == which[i] % 3);
    }
    free(mask.set);
}

#define CPUS(...) (const int32_t[]){__VA_ARGS__, -1}

static void those_that_are_allowed(void)
{
    const int32_t cores[] = {4, 0, 2, 65000, 1030, 6};
    name_places(6, cores);
    expect_places(CPUS(0, 1, 2, 3, 4, 5, 6, 7, 1030, 65000), 6, CPUS(0, 1, 2, 3, 4, 5));
    expect_places(CPUS(0, 1, 2, 3), 2, CPUS(1, 2));  /* narrower */
    expect_places(CPUS(1030, 65000), 2, CPUS(3, 4)); /* moved */
    expect_places(CPUS(4), 1, CPUS(0));              /* one */
    expect_places(CPUS(7, 6, 5), 1, CPUS(5));
    hs__blas_settings.most = 2; /* a limit of workers: they may be anywhere */
    expect_places(CPUS(2, 6, 1030), 3, CPUS(2, 4, 5));
}

/* No named cpu is allowed. Then there is one cpu of each core. Nothing is known of cpus that do not
 * exist, so each of them counts as a core. */
static void none_that_is_allowed(void)
{
    static hs__places found;
    const int32_t cores[] = {0, 1, 2};
    for (int named = 0; named < 2; named++) {
        name_places(named ? 3 : 0, cores);
        hs__cpus mask = mask_of(70000, CPUS(6003, 6001, 6002, 6000, 65001));
        hs__places_within(&mask, &found);
        CHECK(found.count == 5 && !found.has_speeds && !found.domains);
        for (int32_t i = 0; i < 4 && i < found.count; i++) CHECK(found.cores[i] == 6000 + i);
        free(mask.set);
    }
    name_places(0, cores);
    hs__cpus many = mask_of(4096, CPUS(0));
    for (int32_t cpu = 2000; cpu < 4096; cpu++) hs__cpus_add(&many, cpu);
    hs__places_within(&many, &found);
    CHECK(found.count == HS__MOST_WORKERS);
    free(many.set);
}

/* The mask cannot be read: there is no worker beside the caller. */
static void no_mask(void)
{
    static hs__places found;
    const int32_t cores[] = {0, 1, 2};
    for (int named = 0; named < 4; named += 3) {
        name_places(named, cores);
        hs__places_within(&(hs__cpus){0}, &found);
        CHECK(found.count == 1 && !found.has_speeds && !found.domains);
    }
}

static void domains_of_places(void)
{
    static hs__places found;
    const int32_t cores[] = {0, 1, 2, 3, 4, 5};
    hs_domain domain[HS__MOST_DOMAINS];
    int32_t of[HS__MOST_WORKERS];
    name_places(6, cores);
    hs__cpus mask = mask_of(64, CPUS(2, 4, 5)); /* of the domains 2, 1, 2 */
    hs__places_within(&mask, &found);
    CHECK(hs__domains_of(&found, 3, domain, of) == 2 && of[0] == 0 && of[1] == 1 && of[2] == 0);
    CHECK(domain[0].depth[0] == 12 && domain[1].depth[0] == 11);
    CHECK(hs__domains_of(&found, 1, domain, of) == 1 && domain[0].depth[0] == 12);
    free(mask.set);
    mask = mask_of(8192, CPUS(7000, 7001));
    hs__places_within(&mask, &found);
    CHECK(hs__domains_of(&found, 2, domain, of) == 0);
    free(mask.set);
}

/* The sites of places: the cpus of each domain that are in the mask. Domains with the same blocks
 * are of one kind. Nothing is known of cpus that do not exist, so they have no siblings. */
static void sites_of_places(void)
{
    static hs__places found;
    static hs__place_sites sites;
    const int32_t cores[] = {7000, 7001, 7002, 7003, 7004, 7005, 7006};
    name_places(7, cores);
    hs__blas_settings.domain[2] = hs__blas_settings.domain[1];
    hs__cpus mask = mask_of(8192, CPUS(0, 7000, 7001, 7002, 7003, 7005, 7006));
    hs__places_within(&mask, &found);
    CHECK(!hs__find_sites(&found, &mask, &sites) && sites.count == 3);
    CHECK(sites.site[0].count == 3 && sites.site[0].cores == 3 && sites.site[0].kind == 0);
    CHECK(sites.site[0].cpus[0] == 7000 && sites.site[0].cpus[1] == 7003 &&
          sites.site[0].cpus[2] == 7006);
    CHECK(sites.site[1].cores == 1 && sites.site[1].cpus[0] == 7001 && sites.site[1].kind == 1);
    CHECK(sites.site[2].cores == 2 && sites.site[2].cpus[1] == 7005 && sites.site[2].kind == 1);
    CHECK(fabs(hs__mean_speed(&found, 2) - 4.5) < 1e-12);
    hs__free_sites(&sites);
    free(mask.set);
    mask = mask_of(8192, CPUS(7001, 7005)); /* no cpu of domain 0 */
    hs__places_within(&mask, &found);
    CHECK(!hs__find_sites(&found, &mask, &sites) && sites.count == 2);
    CHECK(sites.domain[0] == 1 && sites.domain[1] == 2);
    hs__free_sites(&sites);
    free(mask.set);
    mask = mask_of(8192, CPUS(8000, 8001, 8002)); /* none is named: one site of all */
    hs__places_within(&mask, &found);
    CHECK(!hs__find_sites(&found, &mask, &sites) && sites.count == 1 && sites.site[0].cores == 3);
    hs__free_sites(&sites);
    hs__places_within(&(hs__cpus){0}, &found);
    CHECK(hs__find_sites(&found, &(hs__cpus){0}, &sites) == HS_ERROR_VALUE);
    free(mask.set);
}

/* Domains of settings that are not of this machine share cpus. Each cpu is in one site. */
static void sites_that_share_cpus(void)
{
    static hs__places found;
    static hs__place_sites sites;
    const int32_t cores[] = {7000, 7001, 7002, 7001, 7002, 7000, 7000, 7000, 7000};
    int32_t cpus = 0;
    name_places(9, cores);
    hs__cpus mask = mask_of(8192, CPUS(7000, 7001, 7002));
    hs__places_within(&mask, &found);
    CHECK(!hs__find_sites(&found, &mask, &sites) && sites.count == 2);
    for (int32_t i = 0; i < sites.count; i++) {
        CHECK(sites.site[i].cores == sites.site[i].count);
        cpus += sites.site[i].count;
    }
    CHECK(cpus == 3 && sites.domain[0] == 0 && sites.domain[1] == 1);
    hs__free_sites(&sites);
    free(mask.set);
}

/* ---- OpenMP ---------------------------------------------------------------------------------- */

/* start: the mask when the library was loaded; NULL: not known. */
static void is_unbound_from(const int32_t *before, const int32_t *cpus, const int32_t *expected)
{
    hs__openmp known = {.count = 0};
    hs__cpus start = before ? mask_of(2048, before) : (hs__cpus){0};
    hs__cpus mask = mask_of(2048, cpus);
    hs__cpus wanted = mask_of(2048, expected);
    hs__unbind(&known, &start, &mask);
    CHECK(known.count == 1 && hs__cpus_same(&mask, &wanted));
    free(start.set);
    free(mask.set);
    free(wanted.set);
}

static void is_unbound(const int32_t *cpus, const int32_t *expected)
{
    is_unbound_from(NULL, cpus, expected);
}

static void bound_threads(void)
{
    static const int procs[4][8] = {{0, 8, -1}, {1, 9, -1}, {2, -1}, {1500, -1}};
    memcpy(runtime.procs, procs, sizeof procs);
    runtime.places = 4;
    /* false, true, primary, close, spread */
    for (runtime.bind = 0; runtime.bind < 5; runtime.bind++) {
        const int32_t *all = CPUS(0, 1, 2, 8, 9, 1500);
        is_unbound(CPUS(0, 8), runtime.bind ? all : CPUS(0, 8));
        is_unbound(CPUS(1, 9), runtime.bind ? all : CPUS(1, 9));
        is_unbound(CPUS(2), runtime.bind ? all : CPUS(2));
        is_unbound(CPUS(1500), runtime.bind ? all : CPUS(1500));
        is_unbound(CPUS(0), CPUS(0)); /* not a place: set by something else */
        is_unbound(CPUS(0, 1), CPUS(0, 1));
        is_unbound(CPUS(0, 8, 2), CPUS(0, 8, 2));
        is_unbound(CPUS(5), CPUS(5));
    }
    runtime.bind = 1;
    /* Places with cpus that the process did not have. */
    is_unbound_from(CPUS(0, 1, 2, 8, 9, 10), CPUS(2), CPUS(0, 1, 2, 8, 9));
    is_unbound_from(CPUS(2, 7), CPUS(2), CPUS(2));
    is_unbound_from(CPUS(5, 7), CPUS(2), CPUS(2));
    is_unbound_from(CPUS(1, 9), CPUS(2), CPUS(1, 9));
    runtime.places = 1; /* as after taskset -c 2: one cpu remains one */
    memcpy(runtime.procs[0], procs[2], sizeof procs[2]);
    is_unbound(CPUS(2), CPUS(2));
    runtime.places = 0;
    is_unbound(CPUS(2), CPUS(2));
    hs__openmp known = {.count = 0};
    hs__cpus none = {0};
    hs__unbind(&known, &none, &none);
    CHECK(!none.set);
}

static void a_runtime_that_binds_who_asks(void)
{
    hs__openmp known = {.count = 0};
    hs__cpus before, mask, after;
    CHECK(hs__cpus_of(pthread_self(), &before) && hs__cpus_of(pthread_self(), &mask));
    runtime.binds = runtime.bind = runtime.places = 1;
    runtime.asked = 0;
    hs__unbind(&known, &before, &mask);
    CHECK(!runtime.asked && hs__cpus_same(&mask, &before));
    hs__unbind(&known, &(hs__cpus){0}, &mask);
    CHECK(hs__cpus_of(pthread_self(), &after));
    CHECK(runtime.asked && hs__cpus_same(&after, &before));
    runtime.binds = 0;
    free(before.set);
    free(mask.set);
    free(after.set);
}

static void parallel_regions(void)
{
    hs__openmp known = {.count = 0};
    runtime.kept = 0;
    for (int call = 0; call < 4; call++) {
        runtime.parallel = call % 2;
        CHECK(hs__is_in_parallel(&known) == call % 2);
    }
    CHECK(known.count == 1 && runtime.kept == 1 && hs__has_openmp(&known));
}

int main(void)
{
    those_that_are_allowed();
    none_that_is_allowed();
    no_mask();
    domains_of_places();
    sites_of_places();
    sites_that_share_cpus();
    bound_threads();
    a_runtime_that_binds_who_asks();
    parallel_regions();
    return check_result();
}
