/* How much of the machine is free: samples of the cpus' load and quotas of control groups, of
 * machines that are folders of the test's own. */
#define _GNU_SOURCE
#include "threads/load.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "hetsched.h"
#include "machine_root.h"

static hs__cpus mask_of(int32_t from, int32_t below)
{
    hs__cpus mask = {calloc(1, CPU_ALLOC_SIZE(2048)), CPU_ALLOC_SIZE(2048)};
    for (int32_t cpu = from; cpu < below; cpu++) hs__cpus_add(&mask, cpu);
    return mask;
}

static int is_near(double found, double expected) { return fabs(found - expected) < 1e-9; }

/* ---- two samples ----------------------------------------------------------------------------- */

static hs__load_sample before, after;

/* All cpus have 100 ticks in a second. busy: those with work, of each cpu */
static double free_of(int32_t cpus, const uint32_t *busy, double own, int32_t from, int32_t below)
{
    hs__cpus mask = mask_of(from, below);
    before.time = 10.0;
    after.time = 11.0;
    before.own = 3.0;
    after.own = 3.0 + own;
    before.cpus = after.cpus = cpus;
    for (int32_t cpu = 0; cpu < cpus; cpu++) {
        before.busy[cpu] = UINT32_MAX - 20; /* the counts wrap around */
        before.total[cpu] = UINT32_MAX - 10;
        after.busy[cpu] = before.busy[cpu] + busy[cpu];
        after.total[cpu] = before.total[cpu] + 100;
    }
    const double found = hs__free_cpus(&before, &after, &mask, HS__OTHER_USERS);
    free(mask.set);
    return found;
}

static void test_two_samples(void)
{
    const uint32_t idle[4] = {0};
    const uint32_t half[4] = {50, 0, 0, 0};
    const uint32_t full[4] = {100, 100, 0, 0};
    const uint32_t backwards[4] = {(uint32_t)-2, 0, 0, 102};
    CHECK(is_near(free_of(4, idle, 0.0, 0, 4), 4.0));
    CHECK(is_near(free_of(4, half, 0.0, 0, 4), 3.5));
    CHECK(is_near(free_of(4, full, 0.0, 0, 4), 2.0));
    CHECK(is_near(free_of(4, full, 0.0, 0, 2), 0.0));
    CHECK(is_near(free_of(4, full, 0.0, 2, 4), 2.0));
    CHECK(is_near(free_of(4, full, 1.25, 0, 4), 3.25)); /* this process's own work */
    CHECK(is_near(free_of(4, full, 9.0, 0, 4), 4.0));
    CHECK(is_near(free_of(4, backwards, 0.0, 0, 4), 3.0));
    CHECK(is_near(free_of(2, full, 0.0, 0, 6), 4.0)); /* cpus of which nothing is known are free */
    after.total[0] = before.total[0];                 /* a cpu without ticks, too */
    hs__cpus mask = mask_of(0, 2);
    CHECK(is_near(hs__free_cpus(&before, &after, &mask, HS__OTHER_USERS), 1.0));
    before.total[1] = 0; /* a cpu that was offline: its ticks are those since the start */
    before.busy[1] = 0;
    CHECK(is_near(hs__free_cpus(&before, &after, &mask, HS__OTHER_USERS), 2.0));
    free(mask.set);
}

/* ---- samples --------------------------------------------------------------------------------- */

static void test_sample(void)
{
    static hs__load_sample sample;
    CHECK(!hs__take_load_sample(root, 1.0, &sample));
    write_file("proc/stat", "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 4 800 16 32 64 128 1000 1000\n"
                            "cpu2 1 2 4 8 16\ncpu3 1 2 4 8\ncpu4000 1 1 1 1 1\nintr 5 4\ncpu5 1\n");
    CHECK(hs__take_load_sample(root, 1.0, &sample));
    CHECK(sample.time == 1.0 && sample.own > 0.0 && sample.cpus == 3);
    CHECK(sample.busy[0] == 231 && sample.total[0] == 1047); /* without guests, with steal */
    CHECK(sample.total[1] == 0);                             /* offline */
    CHECK(sample.busy[2] == 7 && sample.total[2] == 31);
    CHECK(hs__take_load_sample("", 1.0, &sample)); /* this machine */
    CHECK(sample.cpus > 0);
}

static void write_ticks(int busy, int idle)
{
    char text[128];
    snprintf(text, sizeof text, "cpu0 %d 0 0 %d 0\ncpu1 0 0 0 %d 0\nintr\n", busy, idle,
             busy + idle);
    write_file("proc/stat", text);
}

/* A forked process has its parent's samples. What the parent used is not its own. */
static void test_fork(hs__load *load, const hs__cpus *mask, double time)
{
    for (int in_use = 0; in_use < 2; in_use++) {
        if (in_use) atomic_store(&load->owner, (int)getpid());
        CHECK(hs__load_free(load, time, mask, HS__OTHER_USERS, 7.0) == (in_use ? 7.0 : 2.0));
        const pid_t child = fork();
        if (!child) {
            const double found = hs__load_free(load, time, mask, HS__OTHER_USERS, 7.0);
            _exit(fabs(found - 1.5) < 1e-3 ? 3 : 4);
        }
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
    }
    atomic_store(&load->owner, 0);
}

static void test_load(void)
{
    static hs__load load;
    hs__cpus mask = mask_of(0, 2);
    load.root = root;
    write_ticks(1000, 1000);
    hs__load_start(&load, 100.0);
    CHECK(load.count == 1);
    CHECK(hs__load_free(&load, 100.0, &mask, HS__OTHER_USERS, 7.0) == 7.0); /* nothing is known */
    write_ticks(1010, 1000);
    CHECK(hs__load_free(&load, 100.01, &mask, HS__OTHER_USERS, 7.0) == 7.0); /* it is too new */
    CHECK(load.count == 1);
    load.next_sample = 100.05;                                               /* whatever the cost */
    CHECK(hs__load_free(&load, 100.06, &mask, HS__OTHER_USERS, 7.0) == 7.0); /* it still is */
    CHECK(load.count == 2);
    for (int i = 1; i < 10; i++) { /* long times, of which this process's own work is little */
        write_ticks(1000 + 50 * i, 1000 + 50 * i);
        load.next_sample = 0.0;
        const double found = hs__load_free(&load, 1e6 * i, &mask, HS__OTHER_USERS, 7.0);
        CHECK(i == 1 || fabs(found - 1.5) < 1e-3);
    }
    for (int i = 0; i < HS__LOAD_SAMPLES; i++) load.samples[i].own = 2.0 * load.samples[i].time;
    test_fork(&load, &mask, 9e6);
    free(mask.set);
}

/* A reading that costs much is rare. */
static void test_cost(void)
{
    static hs__load load;
    hs__cpus mask = mask_of(0, 1);
    load.root = "";
    for (double time = 1.0; time < 4.0; time += 0.001) {
        hs__load_free(&load, time, &mask, HS__OTHER_USERS, 7.0);
        CHECK(hs__load_quota(&load, time) > 0.0);
    }
    CHECK(load.count >= 2 && load.count <= 61);
    CHECK(load.next_quota >= 4.0 - 1e-6);
    free(mask.set);
}

/* ---- quotas ---------------------------------------------------------------------------------- */

static void test_quota(void)
{
    CHECK(hs__cpu_quota(root) == INFINITY);
    write_file("proc/self/cgroup", "1:name=systemd:/x\n0::/a/b c\n");
    CHECK(hs__cpu_quota(root) == INFINITY);
    write_file("proc/self/mountinfo",
               "30 23 0:28 / /sys/fs/other rw - cgroup cgroup rw,cpuset\n"
               "31 23 0:28 / /sys/fs/c\\040g rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
    CHECK(hs__cpu_quota(root) == INFINITY);
    write_file("sys/fs/c g/a/b c/cpu.max", "max 100000\n");
    CHECK(hs__cpu_quota(root) == INFINITY);
    write_file("sys/fs/c g/a/cpu.max", "150000 100000\n");
    CHECK(hs__cpu_quota(root) == 1.5);
    write_file("sys/fs/c g/a/b c/cpu.max", "200000 50000\n");
    CHECK(hs__cpu_quota(root) == 1.5);
    write_file("sys/fs/c g/cpu.max", "50000 100000\n");
    CHECK(hs__cpu_quota(root) == 0.5);
    write_file("proc/self/cgroup", "0::/../elsewhere\n"); /* the mount's top is the nearest one */
    CHECK(hs__cpu_quota(root) == 0.5);

    /* version 1, with the group of a container mounted */
    write_file("proc/self/cgroup", "4:cpuset:/d\n3:cpu,cpuacct:/docker/1\n0::/\n");
    write_file("proc/self/mountinfo",
               "32 31 0:29 /docker /cg/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n");
    write_file("cg/cpu/1/cpu.cfs_quota_us", "-1\n");
    write_file("cg/cpu/1/cpu.cfs_period_us", "100000\n");
    CHECK(hs__cpu_quota(root) == INFINITY);
    write_file("cg/cpu/cpu.cfs_quota_us", "300000\n");
    write_file("cg/cpu/cpu.cfs_period_us", "100000\n");
    CHECK(hs__cpu_quota(root) == 3.0);
    write_file("cg/cpu/1/cpu.cfs_quota_us", "25000\n");
    CHECK(hs__cpu_quota(root) == 0.25);

    static hs__load load;
    load.root = root;
    atomic_store(&load.owner, (int)getpid()); /* another thread has the load */
    CHECK(hs__load_quota(&load, 1.0) == 0.25);
    atomic_store(&load.owner, 0);
    CHECK(hs__load_quota(&load, 1.0) == 0.25);
    write_file("cg/cpu/1/cpu.cfs_quota_us", "1000000\n");
    CHECK(hs__load_quota(&load, 1.9) == 0.25); /* as it was a moment ago */
    CHECK(hs__load_quota(&load, 1e3) == 3.0);
}

int main(void)
{
    if (!make_root()) return check_result();
    test_two_samples();
    test_sample();
    test_load();
    test_cost();
    test_quota();
    remove_root();
    return check_result();
}
