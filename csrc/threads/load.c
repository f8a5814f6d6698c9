/* Reads the load of the cpus and the quotas of control groups. Files are read line by line into a
 * buffer on the stack. */
#define _GNU_SOURCE
#include "threads/load.h"

#include <math.h>

#include "hetsched.h"

#if defined(__linux__)

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"

/* Longer paths count as missing. Stacks of signal handlers are small. */
enum { LONGEST_PATH = 1024 };

/* ---- lines of a file ------------------------------------------------------------------------- */

typedef struct {
    int file;
    size_t at, end; /* of what is in the buffer and not yet returned */
    char buffer[2048];
} line_reader;

static int open_lines(const char *root, const char *path, line_reader *lines)
{
    char name[LONGEST_PATH];
    lines->at = lines->end = 0;
    if (snprintf(name, sizeof name, "%s/%s", root, path) >= (int)sizeof name) return 0;
    lines->file = open(name, O_RDONLY | O_CLOEXEC);
    return lines->file >= 0;
}

static void close_lines(line_reader *lines) { close(lines->file); }

/* Fills the free part of the buffer. Returns 0 at the end of the file. */
static int read_more(line_reader *lines)
{
    memmove(lines->buffer, lines->buffer + lines->at, lines->end - lines->at);
    lines->end -= lines->at;
    lines->at = 0;
    ssize_t count;
    do count = read(lines->file, lines->buffer + lines->end, sizeof lines->buffer - 1 - lines->end);
    while (count < 0 && errno == EINTR);
    if (count > 0) lines->end += (size_t)count;
    return count > 0;
}

/* Returns the next line without its end, or NULL. A line that does not fit is returned in parts. */
static char *next_line(line_reader *lines)
{
    for (;;) {
        char *start = lines->buffer + lines->at;
        char *newline = memchr(start, '\n', lines->end - lines->at);
        if (newline) {
            *newline = 0;
            lines->at = (size_t)(newline - lines->buffer) + 1;
            return start;
        }
        if (read_more(lines)) continue;
        if (lines->at == lines->end) return NULL;
        lines->buffer[lines->end] = 0;
        start = lines->buffer + lines->at;
        lines->at = lines->end;
        return start;
    }
}

/* ---- the load of the cpus -------------------------------------------------------------------- */

/* Reads "cpu3 user nice system idle iowait irq softirq steal ...", where old kernels have fewer
 * numbers. The time of guests, which may follow, is part of user and nice. */
static void read_cpu(const char *line, hs__load_sample *sample)
{
    char *end;
    const unsigned long cpu = strtoul(line + 3, &end, 10);
    uint32_t total = 0;
    uint32_t idle = 0;
    int count = 0;
    /* "cpu " is the sum of all cpus. */
    if (line[3] < '0' || line[3] > '9' || cpu >= HS__LOAD_CPUS) return;
    for (; count < 8; count++) {
        const char *start = end;
        const unsigned long long ticks = strtoull(start, &end, 10);
        if (end == start) break;
        total += (uint32_t)ticks;
        if (count == 3 || count == 4) idle += (uint32_t)ticks;
    }
    if (count < 5) return;
    while (sample->cpus <= (int32_t)cpu) { /* cpus between are offline */
        sample->busy[sample->cpus] = 0;
        sample->total[sample->cpus++] = 0;
    }
    sample->busy[cpu] = total - idle;
    sample->total[cpu] = total;
}

int hs__take_load_sample(const char *root, double time, hs__load_sample *sample)
{
    line_reader lines;
    sample->time = time;
    sample->own = hs__process_cpu_clock();
    sample->cpus = 0;
    if (!open_lines(root, "proc/stat", &lines)) return 0;
    for (char *line = next_line(&lines); line && strncmp(line, "cpu", 3) == 0;
         line = next_line(&lines))
        read_cpu(line, sample);
    close_lines(&lines);
    return sample->cpus > 0;
}

/* ---- quotas ---------------------------------------------------------------------------------- */

static double read_number(const char *root, const char *directory, const char *name, double *second)
{
    char path[LONGEST_PATH];
    line_reader lines;
    double first = 0.0;
    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path) return 0.0;
    if (!open_lines(root, path, &lines)) return 0.0;
    char *line = next_line(&lines);
    if (line) {
        first = strtod(line, &line);
        if (second) *second = strtod(line, NULL);
    }
    close_lines(&lines);
    return first;
}

/* Returns the quota of one group in cpus; infinite for "max", for -1 and if a file is missing. */
static double quota_of(const char *root, const char *directory, int version)
{
    double period = 0.0;
    double quota;
    if (version == 2) {
        quota = read_number(root, directory, "cpu.max", &period);
    } else {
        quota = read_number(root, directory, "cpu.cfs_quota_us", NULL);
        period = read_number(root, directory, "cpu.cfs_period_us", NULL);
    }
    return quota > 0.0 && period > 0.0 ? quota / period : INFINITY;
}

/* Returns whether a list such as "rw,cpu,cpuacct" has a word. */
static int has_word(const char *list, const char *word)
{
    const size_t length = strlen(word);
    while (list) {
        if (strncmp(list, word, length) == 0 && (list[length] == ',' || !list[length])) return 1;
        list = strchr(list, ',');
        if (list) list++;
    }
    return 0;
}

/* Replaces the codes of mountinfo for blanks and the like ("\040"), in place. */
static void unescape(char *text)
{
    char *to = text;
    for (; *text; text++) {
        int code = 0;
        int length = 0;
        if (*text == '\\' && sscanf(text + 1, "%3o%n", &code, &length) == 1 && length == 3) {
            *to++ = (char)code;
            text += 3;
        } else {
            *to++ = *text;
        }
    }
    *to = 0;
}

/* A mount of a hierarchy of control groups. */
typedef struct {
    char point[LONGEST_PATH];
    char top[LONGEST_PATH]; /* the group that is visible there */
} mount;

/* Reads a line of mountinfo, "31 23 0:28 /top /point options ... - type source options". Returns
 * whether it is a mount of the hierarchy with the cpu controller. */
static int read_mount(char *line, int version, mount *found)
{
    char *fields[6];
    char *type[3];
    char *rest = strstr(line, " - ");
    if (!rest) return 0;
    *rest = 0;
    rest += 3;
    char *state = NULL;
    for (int i = 0; i < 6; i++, line = NULL)
        if (!(fields[i] = strtok_r(line, " ", &state))) return 0;
    for (int i = 0; i < 3; i++, rest = NULL)
        if (!(type[i] = strtok_r(rest, " ", &state))) return 0;
    if (strcmp(type[0], version == 2 ? "cgroup2" : "cgroup") != 0) return 0;
    if (version == 1 && !has_word(type[2], "cpu")) return 0;
    unescape(fields[3]);
    unescape(fields[4]);
    const int fits = snprintf(found->top, LONGEST_PATH, "%s", fields[3]) < LONGEST_PATH &&
                     snprintf(found->point, LONGEST_PATH, "%s", fields[4]) < LONGEST_PATH;
    return fits && !strstr(found->point, "/..");
}

/* Returns the part of a group's path below the group that is visible; NULL if the group is not
 * visible. */
static const char *path_below(const char *group, const char *top)
{
    const size_t length = strcmp(top, "/") != 0 ? strlen(top) : 0;
    if (strncmp(group, top, length) != 0 || (group[length] && group[length] != '/')) return NULL;
    return strstr(group + length, "/..") ? NULL : group + length;
}

/* Returns the smallest quota of a group and its ancestors, as far as they are visible at the mount.
 * below: path_below. */
static double quota_below(const char *root, const mount *at, int version, const char *below)
{
    char directory[LONGEST_PATH];
    double least = INFINITY;
    if (snprintf(directory, sizeof directory, "%s%s", at->point, below) >= (int)sizeof directory)
        return INFINITY;
    for (size_t end = strlen(directory);;) {
        least = fmin(least, quota_of(root, directory, version));
        if (end <= strlen(at->point)) return least;
        while (end > strlen(at->point) && directory[end - 1] != '/') end--;
        while (end > strlen(at->point) && directory[end - 1] == '/') end--;
        directory[end] = 0;
    }
}

/* Returns the smallest quota of a group and its ancestors. In a container the mount may not show
 * the group; its top is then the nearest known group. */
static double quota_of_group(const char *root, const char *group, int version)
{
    line_reader lines;
    mount at, first;
    int mounts = 0;
    int visible = 0;
    double least = INFINITY;
    if (!open_lines(root, "proc/self/mountinfo", &lines)) return INFINITY;
    for (char *line = next_line(&lines); line; line = next_line(&lines)) {
        if (!read_mount(line, version, &at)) continue;
        const char *below = path_below(group, at.top);
        if (!mounts++) first = at;
        if (!below) continue;
        visible = 1;
        least = fmin(least, quota_below(root, &at, version, below));
    }
    close_lines(&lines);
    return mounts && !visible ? quota_below(root, &first, version, "") : least;
}

double hs__cpu_quota(const char *root)
{
    line_reader lines;
    double least = INFINITY;
    if (!open_lines(root, "proc/self/cgroup", &lines)) return INFINITY;
    for (char *line = next_line(&lines); line; line = next_line(&lines)) {
        char *controllers = strchr(line, ':'); /* "4:cpu,cpuacct:/group", "0::/group" */
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *group++ = 0;
        controllers++;
        if (!*controllers) least = fmin(least, quota_of_group(root, group, 2));
        else if (has_word(controllers, "cpu")) least = fmin(least, quota_of_group(root, group, 1));
    }
    close_lines(&lines);
    return least;
}

/* ---- both, read as often as it pays ---------------------------------------------------------- */

static const double least_window = 0.1, sample_every = 0.05, quota_every = 1.0;
/* The time from one reading to the next over its cost, which is CPU time: other programs may
 * interrupt it. */
static const double times_cost = 200.0;

/* Locks the samples for this thread, without waiting. A forked child also gets the lock if a thread
 * of its parent held it during the fork. */
static int lock_samples(hs__load *load, int process)
{
    int owner = 0;
    if (atomic_compare_exchange_strong(&load->owner, &owner, process)) return 1;
    return owner != process && atomic_compare_exchange_strong(&load->owner, &owner, process);
}

static double time_of_next(double time, double least, double cost)
{
    return time + fmax(least, times_cost * cost);
}

static void take_sample(hs__load *load, double time)
{
    const double start = hs__cpu_clock();
    hs__load_sample *sample = &load->samples[load->count % HS__LOAD_SAMPLES];
    if (hs__take_load_sample(load->root, time, sample)) load->count++;
    load->next_sample = time_of_next(time, sample_every, hs__cpu_clock() - start);
}

static void read_quota(hs__load *load, double time)
{
    const double start = hs__cpu_clock();
    atomic_store(&load->quota, hs__cpu_quota(load->root));
    atomic_store(&load->next_quota, time_of_next(time, quota_every, hs__cpu_clock() - start));
}

/* Returns the free cpus of the mask between the newest sample and the newest one that is old
 * enough. */
static double free_of_samples(const hs__load *load, const hs__cpus *mask, hs__users users,
                              double unknown)
{
    const int64_t last = load->count - 1;
    for (int64_t i = last - 1; i >= 0 && i > last - HS__LOAD_SAMPLES; i--) {
        const hs__load_sample *before = &load->samples[i % HS__LOAD_SAMPLES];
        const hs__load_sample *after = &load->samples[last % HS__LOAD_SAMPLES];
        if (after->time - before->time >= least_window)
            return hs__free_cpus(before, after, mask, users);
    }
    return unknown;
}

/* A forked process keeps its parent's samples, since it may end before it has enough of its own. To
 * the child, the parent is another program; its own CPU time begins at 0. The thread must have
 * taken the load. */
static void follow_process(hs__load *load, int process)
{
    if (load->process == process) return;
    load->process = process;
    for (int i = 0; i < HS__LOAD_SAMPLES; i++) load->samples[i].own = 0.0;
    load->next_sample = 0.0;
    atomic_store(&load->next_quota, 0.0);
}

void hs__load_start(hs__load *load, double time)
{
    const int process = (int)getpid();
    if (!lock_samples(load, process)) return;
    follow_process(load, process);
    if (!load->count) take_sample(load, time);
    atomic_store(&load->owner, 0);
}

double hs__load_free(hs__load *load, double time, const hs__cpus *mask, hs__users users,
                     double unknown)
{
    const int process = (int)getpid();
    if (!lock_samples(load, process)) return unknown;
    follow_process(load, process);
    if (time >= load->next_sample) take_sample(load, time);
    const double found = free_of_samples(load, mask, users, unknown);
    atomic_store(&load->owner, 0);
    return found;
}

double hs__load_quota(hs__load *load, double time)
{
    if (time >= atomic_load_explicit(&load->next_quota, memory_order_relaxed)) {
        const int process = (int)getpid();
        if (lock_samples(load, process)) {
            follow_process(load, process);
            read_quota(load, time);
            atomic_store(&load->owner, 0);
        }
    }
    const double quota = atomic_load(&load->quota);
    /* Another thread is about to read it for the first time. */
    return quota > 0.0 ? quota : hs__cpu_quota(load->root);
}

#else

int hs__take_load_sample(const char *root, double time, hs__load_sample *sample)
{
    (void)root;
    (void)time;
    (void)sample;
    return 0;
}
double hs__cpu_quota(const char *root)
{
    (void)root;
    return INFINITY;
}
void hs__load_start(hs__load *load, double time)
{
    (void)load;
    (void)time;
}
double hs__load_free(hs__load *load, double time, const hs__cpus *mask, hs__users users,
                     double unknown)
{
    (void)load;
    (void)time;
    (void)mask;
    (void)users;
    return unknown;
}
double hs__load_quota(hs__load *load, double time)
{
    (void)load;
    (void)time;
    return INFINITY;
}

#endif

hs__load *hs__machine_load(void)
{
    static hs__load load = {.root = ""};
    return &load;
}

double hs_cpu_quota(void) { return hs__load_quota(hs__machine_load(), hs_clock()); }

/* If more threads run than the quota has cpus, all of them are throttled until the period of the
 * quota ends. An additional worker for a small fraction of a cpu therefore gains little and makes
 * times less even. */
int32_t hs_workers_for_quota(double quota)
{
    if (!(quota > 1.0)) return 1;
    if (quota >= INT32_MAX) return INT32_MAX;
    const double whole = floor(quota + 1e-9);
    return (int32_t)whole + (quota - whole >= 0.1 * whole - 1e-9);
}

double hs__free_cpus(const hs__load_sample *before, const hs__load_sample *after,
                     const hs__cpus *mask, hs__users users)
{
    const int32_t cpus = before->cpus < after->cpus ? before->cpus : after->cpus;
    double busy = 0.0;
    for (int32_t cpu = 0; cpu < cpus && cpu < hs__cpus_end(mask); cpu++) {
        if (!hs__cpus_have(mask, cpu) || !before->total[cpu] || !after->total[cpu]) continue;
        /* The system's count of idle ticks may go back a little. */
        const int32_t total = (int32_t)(after->total[cpu] - before->total[cpu]);
        const int32_t work = (int32_t)(after->busy[cpu] - before->busy[cpu]);
        if (total > 0 && work > 0) busy += work < total ? (double)work / total : 1.0;
    }
    if (users == HS__OTHER_USERS) {
        const double own = (after->own - before->own) / (after->time - before->time);
        busy = busy > own ? busy - own : 0.0;
    }
    const double count = hs__cpus_count(mask);
    return busy < count ? count - busy : 0.0;
}
