/* Explains calls on stderr, each kind once. */
#include "blas/explain.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "blas/drivers.h"
#include "blas/output.h"

const char *const hs__reasons[] = {
    [HS__TAKEN] = "taken",
    [HS__SMALL] = "small",
    [HS__ONE_THREAD] = "one thread is asked for or one cpu is left",
    [HS__BUSY] = "in a signal handler during another call, or the gate was held for long",
    [HS__PARALLEL] = "in a parallel region of OpenMP",
    [HS__REFUSED] = "unusual arguments, or no memory or threads",
};
_Static_assert(sizeof hs__reasons / sizeof *hs__reasons == HS__FATES, "a reason for each");

enum { MOST_KINDS = 512, SLOTS = 2 * MOST_KINDS };
/* Kinds that were shown, by the hash of their text; 0 is free. Two of 512 texts have the same hash
 * once in 10^14 programs. */
static _Atomic uint64_t shown[SLOTS];
static atomic_int kinds;

/* The last call of this thread that goes to the library behind, governed. */
static _Thread_local struct {
    const hs__entry *entry;
    hs__fate fate;
} left;

/* FNV-1a. */
static uint64_t hash_text(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash ? hash : 1;
}

/* Returns whether the kind is new, and keeps it. */
static int is_new(uint64_t kind)
{
    for (uint64_t i = 0; i < SLOTS; i++) {
        _Atomic uint64_t *slot = &shown[(kind + i) % SLOTS];
        uint64_t found = atomic_load_explicit(slot, memory_order_relaxed);
        if (found == kind) return 0;
        if (found) continue;
        if (atomic_load_explicit(&kinds, memory_order_relaxed) > MOST_KINDS) return 0;
        if (atomic_compare_exchange_strong(slot, &found, kind)) return 1;
        if (found == kind) return 0;
    }
    return 0;
}

/* Writes a line in one piece, so that lines of several threads do not mix. */
static void write_line(const char *text, const char *more)
{
    char line[256];
    const int length =
        snprintf(line, sizeof line, "hetsched[%ld]: %s%s\n", (long)getpid(), text, more);
    hs__write(STDERR_FILENO, line, (size_t)length);
}

/* more: what is not of the kind */
static void explain(const hs__entry *entry, double volume, const char *reason, const char *more)
{
    char kind[128];
    snprintf(kind, sizeof kind, "%c%s, %.1e multiply-adds: %s", "sdcz"[entry->dtype],
             hs__name_of_routine(entry->routine), volume, reason);
    if (!is_new(hash_text(kind))) return;
    const int before = atomic_fetch_add(&kinds, 1);
    if (before < MOST_KINDS) write_line(kind, more);
    if (before != MOST_KINDS) return;
    snprintf(kind, sizeof kind, "more than %d kinds of calls; the rest is not shown", MOST_KINDS);
    write_line(kind, "");
}

void hs__explain_taken(const hs__entry *entry, double volume, int32_t workers)
{
    char more[32];
    snprintf(more, sizeof more, ", %d worker%s", (int)workers, workers == 1 ? "" : "s");
    explain(entry, volume, hs__reasons[HS__TAKEN], more);
}

void hs__explain_left(const hs__entry *entry, hs__fate fate, double volume)
{
    if (volume >= entry->governed) {
        left.entry = entry;
        left.fate = fate;
        return;
    }
    explain(entry, volume, hs__reasons[fate], ", forwarded");
}

void hs__explain_governed(const hs__entry *entry, double volume, int threads)
{
    const char *reason = "not computed by hetsched";
    if (entry->routine < HS__ROUTINES) {
        if (left.entry != entry) return; /* the program asks for the size of a workspace */
        reason = hs__reasons[left.fate];
        left.entry = NULL;
    }
    char more[48] = ", forwarded";
    if (threads == HS__INSIDE) snprintf(more, sizeof more, ", inside another call");
    else if (threads)
        snprintf(more, sizeof more, ", forwarded on %d thread%s", threads, threads == 1 ? "" : "s");
    explain(entry, volume, reason, more);
}
