/* Makes the record of a process, and counts its calls. */
#define _GNU_SOURCE
#include "blas/record.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "blas/explain.h"
#include "blas/settings.h"

static _Atomic(hs__record *) current;
/* The record in which this thread is counted as a caller. */
static _Thread_local hs__record *counted_in;
/* hs_clock when the process began. */
static double process_start;

/* ---- files ----------------------------------------------------------------------------------- */

void hs__set_record_head(hs__record_head *head, const char *name)
{
    memset(head, 0, sizeof *head);
    memcpy(head->magic, "hs-calls", sizeof head->magic);
    head->version = HS__RECORD_VERSION;
    head->bytes = sizeof(hs__record);
    head->routines = HS__ALL_ROUTINES;
    head->pid_bytes = sizeof(pid_t);
    snprintf(head->name, sizeof head->name, "%s", name);
}

/* Creates a file in the directory, and returns its descriptor, or -1. In the order of their names,
 * files are in the order of their creation. The file is new: a link that another user has put there
 * is not followed. */
static int create_file(char name[HS__RECORD_NAME], char path[PATH_MAX + HS__RECORD_NAME])
{
    for (int attempt = 0; attempt < 8; attempt++) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(name, HS__RECORD_NAME, "%012lld.%09ld-%ld.hetsched", (long long)now.tv_sec,
                 now.tv_nsec, (long)getpid());
        snprintf(path, PATH_MAX + HS__RECORD_NAME, "%s/%s", hs__blas_settings.directory, name);
        const int file =
            open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
        if (file >= 0 || errno != EEXIST) return file;
    }
    return -1;
}

/* Gives the file its length, with space on the disk: without it, a full disk would end the program
 * by SIGBUS later. A file that is longer than allowed would end it by SIGXFSZ. */
static int reserve_space(int file)
{
    struct rlimit most;
    int error = EINTR;
    if (getrlimit(RLIMIT_FSIZE, &most) || most.rlim_cur < sizeof(hs__record)) return 0;
    for (int attempt = 0; attempt < 100 && error == EINTR; attempt++)
        error = posix_fallocate(file, 0, sizeof(hs__record));
    return !error && !fchmod(file, S_IRUSR | S_IWUSR); /* whatever the umask is */
}

static hs__record *map_file(int file)
{
    void *memory = mmap(NULL, sizeof(hs__record), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static hs__record *map_memory(void)
{
    void *memory =
        mmap(NULL, sizeof(hs__record), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Makes a file and maps it. Returns NULL if that fails, and leaves no file then. */
static hs__record *open_file(char path[PATH_MAX + HS__RECORD_NAME])
{
    char name[HS__RECORD_NAME];
    const int file = create_file(name, path);
    if (file < 0) return NULL;
    hs__record *made = reserve_space(file) ? map_file(file) : NULL;
    close(file);
    if (made) hs__set_record_head(&made->head, name);
    else unlink(path);
    return made;
}

/* ---- the record of this process -------------------------------------------------------------- */

/* Two threads may both make a record. One of them is published, the other one is removed. */
static hs__record *open_record(void)
{
    char path[PATH_MAX + HS__RECORD_NAME] = "";
    hs__record *made = NULL;
    if (hs__blas_settings.report == HS__REPORT_IN_FILES) made = open_file(path);
    const int is_file = made != NULL;
    if (!made) made = map_memory();
    if (!made) return NULL;
    if (!is_file) hs__set_record_head(&made->head, "");
    made->pid = getpid();
    snprintf(made->command, sizeof made->command, "%s", program_invocation_short_name);
    made->start = process_start;
    made->last = process_start;
    made->startable = HS__MOST_WORKERS;
    hs__record *expected = NULL;
    if (atomic_compare_exchange_strong(&current, &expected, made)) return made;
    munmap(made, sizeof *made);
    if (is_file) unlink(path);
    return expected;
}

/* Returns the record to count in, and counts the calling thread at its first call. NULL: no
 * memory. */
static hs__record *find_record(void)
{
    hs__record *record = atomic_load_explicit(&current, memory_order_acquire);
    if (!record) {
        const int error = errno;
        record = open_record();
        errno = error;
        if (!record) return NULL;
    }
    if (counted_in != record) {
        counted_in = record;
        atomic_fetch_add_explicit(&record->threads, 1, memory_order_relaxed);
    }
    return record;
}

hs__record *hs__current_record(void)
{
    hs__record *record = atomic_load_explicit(&current, memory_order_acquire);
    return record && record->pid == getpid() ? record : NULL;
}

/* The mapping of the parent's record stays: a signal handler that forks may have interrupted a
 * thread that was counting, and its child goes on to count there. */
static void in_child(void)
{
    atomic_store(&current, NULL);
    process_start = hs_clock();
}

void hs__start_records(void)
{
    process_start = hs_clock();
    pthread_atfork(NULL, NULL, in_child);
}

/* ---- counts ---------------------------------------------------------------------------------- */

/* No cell depends on another one, so relaxed order is enough. */
static void add_one(_Atomic uint64_t *to)
{
    atomic_fetch_add_explicit(to, 1, memory_order_relaxed);
}

static void add(_Atomic double *to, double more)
{
    double before = atomic_load_explicit(to, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(to, &before, before + more, memory_order_relaxed,
                                                  memory_order_relaxed)) {}
}

static void raise_to(_Atomic double *to, double least)
{
    double before = atomic_load_explicit(to, memory_order_relaxed);
    while (before < least && !atomic_compare_exchange_weak_explicit(
                                 to, &before, least, memory_order_relaxed, memory_order_relaxed)) {}
}

static void note_startable(hs__record *record)
{
    const int32_t startable = atomic_load_explicit(&hs__startable, memory_order_relaxed);
    atomic_store_explicit(&record->startable, startable, memory_order_relaxed);
}

static void note_time(hs__record *record, double now)
{
    atomic_store_explicit(&record->last, now, memory_order_relaxed);
}

void hs__count_call(const hs__entry *entry, hs__fate fate, double volume)
{
    hs__record *record = hs__blas_settings.report ? find_record() : NULL;
    if (record) {
        hs__tally *tally = &record->tallies[entry->routine][entry->dtype];
        add_one(&tally->calls[fate]);
        raise_to(&tally->largest, volume);
        if (fate != HS__SMALL) note_startable(record);
    }
    if (hs__blas_settings.explain) hs__explain_left(entry, fate, volume);
}

void hs__count_taken(const hs__entry *entry, double volume, int32_t workers, double start,
                     double lost_cores)
{
    const double now = hs_clock();
    hs__record *record = hs__blas_settings.report ? find_record() : NULL;
    if (record) {
        hs__tally *tally = &record->tallies[entry->routine][entry->dtype];
        add_one(&tally->calls[HS__TAKEN]);
        raise_to(&tally->largest, volume);
        add(&tally->volume, volume);
        add(&tally->seconds, now - start);
        add(&tally->lost, lost_cores * (now - start));
        note_startable(record);
        note_time(record, now);
    }
    if (hs__blas_settings.explain) hs__explain_taken(entry, volume, workers);
}

void hs__count_governed(const hs__entry *entry, int threads)
{
    hs__record *record = hs__blas_settings.report ? find_record() : NULL;
    if (!record) return;
    hs__governed_tally *tally = &record->governed[entry->routine][entry->dtype];
    if (!threads) {
        add_one(&tally->untold);
        return;
    }
    add_one(&tally->told);
    atomic_fetch_add_explicit(&tally->threads, (uint64_t)threads, memory_order_relaxed);
}

void hs__time_governed(const hs__entry *entry, double start)
{
    hs__record *record = hs__blas_settings.report ? find_record() : NULL;
    if (!record) return;
    const double now = hs_clock();
    add(&record->governed[entry->routine][entry->dtype].seconds, now - start);
    note_time(record, now);
}
