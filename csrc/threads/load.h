/* How much of the machine other programs leave to this process: free cpus and CPU quotas, as Linux
 * tells them in /proc and /sys. On other systems all cpus are free.
 *
 * No function waits or allocates memory. They may be called from any thread, in a forked child, and
 * from a signal handler with 16 KB of stack; they may change errno. */
#ifndef HS_THREADS_LOAD_H
#define HS_THREADS_LOAD_H

#include <stdatomic.h>
#include <stdint.h>

#include "threads/cpus.h"

/* Cpus with higher numbers count as free. */
enum { HS__LOAD_CPUS = 1024, HS__LOAD_SAMPLES = 4 };

/* The times of a moment. Ticks are counted as in /proc/stat, modulo 2^32. */
typedef struct hs__load_sample {
    double time;                   /* hs_clock */
    double own;                    /* CPU time that this process has had, in seconds */
    int32_t cpus;                  /* the sample has cpus 0 .. cpus - 1 */
    uint32_t busy[HS__LOAD_CPUS];  /* [cpus] ticks with work, or stolen by the hypervisor */
    uint32_t total[HS__LOAD_CPUS]; /* [cpus] all ticks; 0: unknown */
} hs__load_sample;

/* Takes a sample. Returns 0 if /proc/stat cannot be read.
 *   root  the folder with proc, and sys: "" for this machine, others for tests */
int hs__take_load_sample(const char *root, double time, hs__load_sample *sample);

/* Whose use of the cpus counts: that of all programs, or of all but this process. */
typedef enum hs__users { HS__ALL_USERS = 0, HS__OTHER_USERS } hs__users;

/* Returns how many cpus of the mask these users left free between two samples, from 0 to the number
 * of cpus. Cpus without ticks in a sample count as free. With HS__OTHER_USERS the result is too large
 * if threads of this process run outside the mask. */
double hs__free_cpus(const hs__load_sample *before, const hs__load_sample *after,
                     const hs__cpus *mask, hs__users users);

/* Returns the number of cpus that the quotas of the process's control groups and all their
 * ancestors allow, in versions 1 and 2; infinite without a quota. root: see above. */
double hs__cpu_quota(const char *root);

/* What is known of the load: samples of the last moments. Initially all zero but `root`. */
typedef struct hs__load {
    const char *root;
    atomic_int owner; /* the process with a thread that takes a sample now; 0: none does */
    int process;      /* that took the samples */
    int64_t count;    /* of samples taken so far; sample i is in place i % HS__LOAD_SAMPLES */
    hs__load_sample samples[HS__LOAD_SAMPLES];
    double next_sample;        /* not before this time */
    _Atomic double next_quota; /* the same */
    _Atomic double quota;      /* as it was read last; 0: not yet */
} hs__load;

/* Returns the load of this machine, which all pools and calls of the process look at. */
hs__load *hs__machine_load(void);

/* Takes the first sample, so that the load is known 0.1 s later. time: of hs_clock */
void hs__load_start(hs__load *load, double time);

/* Returns the number of cpus in the mask that these users leave free. Takes a sample if the last
 * one is 50 ms old; less often if that would cost more than 0.5 % of the time.
 *   time     of hs_clock
 *   unknown  the result until there are samples 0.1 s apart, and while another thread takes one */
double hs__load_free(hs__load *load, double time, const hs__cpus *mask, hs__users users,
                     double unknown);

/* Returns the quota in cpus, infinite without one. Reads it if it is a second old; less often if
 * that would cost more than 0.5 % of the time. Costs nanoseconds otherwise. While another thread
 * reads the load, the result is the last quota. time: of hs_clock */
double hs__load_quota(hs__load *load, double time);

#endif
