/* Reads the files of records, which anybody may have made or damaged. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blas/record.h"

/* Returns the part of a path after the last slash. */
static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void hs__make_printable(char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~') *text = '?';
}

/* Reads a record of a regular file: a pipe would be waited for. Returns why it cannot be read;
 * NULL: it was read.
 *   bytes  out: length of the file; at most that of a record is read */
static const char *read_file(const char *path, hs__record *record, size_t *bytes)
{
    struct stat status;
    const char *fault = NULL;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) return errno == ELOOP ? "it is a link" : strerror(errno);
    memset(record, 0, sizeof *record);
    const int is_open = !fstat(file, &status);
    if (is_open && !S_ISREG(status.st_mode)) fault = "it is not a regular file";
    else if (!is_open || pread(file, record, sizeof *record, 0) < 0) fault = strerror(errno);
    else *bytes = (size_t)status.st_size;
    close(file);
    return fault;
}

static int is_amount(double value, double most) { return value >= 0.0 && value <= most; }

/* Returns whether the counts can come from a process. */
static int is_plausible(const hs__record *record)
{
    const uint64_t most = (uint64_t)1 << 53;
    const double most_seconds = 1e9;
    const double most_volume = 1e30;
    int is_good = is_amount(record->start, most_seconds) && is_amount(record->last, most_seconds) &&
                  record->last >= record->start && record->threads >= 0 && record->startable >= 0;
    for (int routine = 0; routine < HS__ALL_ROUTINES; routine++)
        for (int dtype = 0; dtype < 4; dtype++) {
            const hs__governed_tally *tally = &record->governed[routine][dtype];
            is_good &= tally->told < most && tally->untold < most && tally->threads < most &&
                       is_amount(tally->seconds, most_seconds);
        }
    for (int routine = 0; routine < HS__ROUTINES; routine++)
        for (int dtype = 0; dtype < 4; dtype++) {
            const hs__tally *tally = &record->tallies[routine][dtype];
            for (int fate = 0; fate < HS__FATES; fate++) is_good &= tally->calls[fate] < most;
            is_good &= is_amount(tally->largest, most_volume) &&
                       is_amount(tally->volume, most_volume) &&
                       is_amount(tally->seconds, most_seconds) &&
                       is_amount(fabs(tally->lost), most_seconds);
        }
    return is_good;
}

/* Returns what is wrong with a file of so many bytes that should be a record; NULL: nothing. */
static const char *find_fault(const hs__record *record, size_t bytes, const char *name)
{
    hs__record_head good;
    hs__set_record_head(&good, name);
    if (bytes < sizeof good || memcmp(record->head.magic, good.magic, sizeof good.magic) != 0)
        return "it is not a record of hetsched, or it is cut";
    if (memcmp(&record->head, &good, offsetof(hs__record_head, name)) != 0)
        return "another version of hetsched made it";
    if (bytes < sizeof *record) return "it is cut";
    if (bytes > sizeof *record) return "it is too long";
    if (strncmp(record->head.name, name, sizeof good.name) != 0)
        return "it is a copy, or was renamed";
    if (!memchr(record->command, 0, sizeof record->command) || !is_plausible(record))
        return "it is damaged";
    return NULL;
}

const char *hs__read_record(const char *path, hs__record *record)
{
    size_t bytes = 0;
    const char *fault = read_file(path, record, &bytes);
    if (!fault) fault = find_fault(record, bytes, name_of(path));
    if (!fault) hs__make_printable(record->command);
    return fault;
}
