/* Records of processes: no count of several threads is lost, a forked process has its own record,
 * and files with any content can be reported. */
#define _GNU_SOURCE
#include "blas/record.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blas/control.h"
#include "blas/settings.h"
#include "check.h"

hs__settings hs__blas_settings;
_Atomic int32_t hs__startable = 3;

enum { THREADS = 4, MOST_FILES = 8, MOST_TEXT = 1 << 16 };

static hs__entry gemm = {.routine = HS__GEMM, .dtype = HS_FLOAT64};
static hs__entry syevd = {.routine = HS__SYEVD, .dtype = HS_FLOAT64};

/* ---- files of the directory ------------------------------------------------------------------ */

static char paths[MOST_FILES][PATH_MAX + 256];

/* Finds the files of the directory, and returns how many there are. */
static int find_files(void)
{
    int count = 0;
    DIR *folder = opendir(hs__blas_settings.directory);
    for (struct dirent *file; folder && (file = readdir(folder));)
        if (file->d_name[0] != '.' && count < MOST_FILES)
            snprintf(paths[count++], sizeof *paths, "%s/%s", hs__blas_settings.directory,
                     file->d_name);
    if (folder) closedir(folder);
    return count;
}

static void remove_files(int count)
{
    for (int i = 0; i < count; i++) unlink(paths[i]);
}

/* Reports the files that find_files has found. */
static const char *report(int count)
{
    static char text[MOST_TEXT];
    const char *given[MOST_FILES];
    const int file = memfd_create("text", 0);
    for (int i = 0; i < count; i++) given[i] = paths[i];
    CHECK(hetsched_blas_write_report(given, count, file));
    const ssize_t length = pread(file, text, sizeof text - 1, 0);
    close(file);
    text[length > 0 ? length : 0] = 0;
    return text;
}

/* ---- counts ---------------------------------------------------------------------------------- */

static int rounds;

static void *count_calls(void *unused)
{
    for (int i = 0; i < rounds; i++) {
        hs__count_call(&gemm, HS__SMALL, i);
        hs__count_taken(&gemm, 1000.0, 2, hs_clock(), 0.5);
        hs__count_governed(&syevd, i % 3);
        hs__time_governed(&syevd, hs_clock());
    }
    return unused;
}

static void check_counts(const hs__record *record, uint64_t threads)
{
    const uint64_t calls = threads * (uint64_t)rounds;
    const hs__tally *tally = &record->tallies[HS__GEMM][HS_FLOAT64];
    const hs__governed_tally *governed = &record->governed[HS__SYEVD][HS_FLOAT64];
    CHECK(tally->calls[HS__SMALL] == calls && tally->calls[HS__TAKEN] == calls);
    CHECK(tally->volume == 1000.0 * (double)calls);
    CHECK(tally->largest == (rounds > 1000 ? rounds - 1.0 : 1000.0));
    CHECK(tally->seconds > 0.0 && tally->lost > 0.0 && tally->lost < tally->seconds);
    CHECK(governed->told + governed->untold == calls);
    CHECK(governed->threads == threads * (uint64_t)(rounds / 3 * 3));
    CHECK(governed->seconds > 0.0);
    CHECK(record->threads == (int32_t)threads && record->startable == 3);
    CHECK(record->pid == getpid() && record->last >= record->start && !record->ended);
}

static void count_in_threads(void)
{
    pthread_t thread[THREADS];
    rounds = CHECK_MANY(30000, 3000);
    for (int i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, count_calls, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
}

/* All threads make the record at the same time; one record is left. */
static void test_threads(void)
{
    CHECK(!hs__current_record());
    count_in_threads();
    const hs__record *record = hs__current_record();
    if (CHECK(record != NULL)) check_counts(record, THREADS);
    CHECK(find_files() == 1);
}

/* Returns whether a forked process ends with all checks fulfilled. */
static int passes(void (*test)(void))
{
    const pid_t child = fork();
    if (!child) {
        check_failures = 0;
        test();
        _exit(check_failures != 0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    return status == 0;
}

static void check_no_record(void) { CHECK(!hs__current_record()); }

static void count_alone(void)
{
    CHECK(!hs__current_record());
    rounds = 30;
    count_calls(NULL);
    check_counts(hs__current_record(), 1);
}

static void test_forks(void)
{
    const int before = find_files();
    CHECK(passes(check_no_record));
    CHECK(find_files() == before);
    CHECK(passes(count_alone));
    CHECK(passes(count_in_threads));
    CHECK(find_files() == before + 2);
    CHECK(hs__current_record() != NULL);
}

/* Without a directory, the record is in memory. */
static void count_without_files(void)
{
    strcat(hs__blas_settings.directory, "/missing");
    count_alone();
}

static void test_no_directory(void)
{
    const int before = find_files();
    CHECK(passes(count_without_files));
    CHECK(find_files() == before);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void test_report(void)
{
    const int count = find_files();
    const char *text = report(count);
    CHECK(strstr(text, "hetsched: calls of all 3 processes, from 9 threads\n") != NULL);
    CHECK(strstr(text, "The system refused to start threads: calls had 3 workers at most.") !=
          NULL);
    CHECK(strstr(text, "; dsyevd (eigh) was forwarded on 1.5 threads, ") != NULL);
    CHECK(!strstr(text, "left out"));
    CHECK(!strcmp(report(0), "hetsched: no call of BLAS or LAPACK was seen\n"));
}

/* Changes bytes of a file in turn, and restores them. */
static void test_damaged_files(void)
{
    static char content[sizeof(hs__record)];
    const int file = open(paths[0], O_RDWR | O_CLOEXEC);
    CHECK(pread(file, content, sizeof content, 0) == (ssize_t)sizeof content);
    for (int turn = CHECK_MANY(20000, 500); turn; turn--) {
        const int length = 1 + (int)check_random(12);
        const off_t at = check_random(sizeof content - 12);
        char changed[12];
        for (int i = 0; i < length; i++)
            changed[i] = (char)(check_random(2) ? 255 : check_random(256));
        CHECK(pwrite(file, changed, (size_t)length, at) == length);
        const char *text = report(1);
        for (; *text == '\n' || (*text >= ' ' && *text <= '~');) text++;
        CHECK(!*text);
        CHECK(pwrite(file, content + at, (size_t)length, at) == length);
    }
    for (int turn = CHECK_MANY(300, 30); turn; turn--) {
        const off_t length = check_random(sizeof content);
        CHECK(!ftruncate(file, length));
        CHECK(strstr(report(1), " is left out of the report: ") != NULL);
        CHECK(pwrite(file, content, sizeof content, 0) == (ssize_t)sizeof content);
    }
    CHECK(!strstr(report(1), "left out"));
    close(file);
}

int main(void)
{
    char folder[] = "/tmp/hetsched-test-record-XXXXXX";
    if (!CHECK(mkdtemp(folder) != NULL)) return check_result();
    snprintf(hs__blas_settings.directory, sizeof hs__blas_settings.directory, "%s", folder);
    hs__blas_settings.report = HS__REPORT_IN_FILES;
    hs__start_records();
    test_threads();
    test_forks();
    test_no_directory();
    test_report();
    test_damaged_files();
    remove_files(find_files());
    CHECK(!rmdir(folder));
    return check_result();
}
