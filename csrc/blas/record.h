/* The record of a process: counts of its calls, which any thread adds to without a lock.
 *
 * A record is made at the first counted call, so a process without calls has none, and a forked
 * process counts from zero. If HETSCHED_BLAS_REPORT names a directory, the record is a file of it
 * that is mapped into memory. The kernel keeps what is written there, however the process ends:
 * by _exit, by a signal, or by execve. If the file cannot be made, the program runs on, and its
 * counts are lost.
 *
 * Readers must not trust a file: it may be cut, damaged, or of another version (record_file.c). */
#ifndef HS_BLAS_RECORD_H
#define HS_BLAS_RECORD_H

#include <stdatomic.h>
#include <stdint.h>

#include "blas/drivers.h"
#include "blas/gate.h"

enum { HS__RECORD_VERSION = 1, HS__RECORD_NAME = 64, HS__RECORD_COMMAND = 32 };

/* Calls of a routine and type that the gate has decided about. */
typedef struct hs__tally {
    _Atomic uint64_t calls[HS__FATES];
    _Atomic double largest; /* multiply-adds of the largest call */
    _Atomic double volume;  /* taken calls: multiply-adds of all */
    _Atomic double seconds; /* taken calls: time of all, added up */
    _Atomic double lost;    /* taken calls: core-seconds of other programs, added up */
} hs__tally;

/* Calls of a routine and type that the library behind computed, governed. */
typedef struct hs__governed_tally {
    _Atomic uint64_t told;    /* calls with a known number of threads */
    _Atomic uint64_t untold;  /* calls that began while another thread told the library a number */
    _Atomic uint64_t threads; /* sum over the calls that were told */
    _Atomic double seconds;   /* time of all that have ended, added up */
} hs__governed_tally;

/* What the head of a file must be. */
typedef struct hs__record_head {
    char magic[8];
    uint32_t version;           /* HS__RECORD_VERSION */
    uint32_t bytes;             /* of the record */
    uint32_t routines;          /* HS__ALL_ROUTINES */
    uint32_t pid_bytes;         /* of a pid_t */
    char name[HS__RECORD_NAME]; /* of the file, so that a copy is found out; empty: no file */
} hs__record_head;

typedef struct hs__record {
    hs__record_head head;
    int64_t pid;
    char command[HS__RECORD_COMMAND]; /* name of the program, ends with 0 */
    double start;                     /* hs_clock when the process began, or the library's load */
    _Atomic double last;              /* hs_clock at the end, or after the last timed call */
    _Atomic int32_t ended;            /* non-zero after exit or _exit */
    _Atomic int32_t threads;          /* threads that have made a counted call */
    _Atomic int32_t startable;        /* hs__startable at the last call that the gate saw */
    hs__tally tallies[HS__ROUTINES][4];
    hs__governed_tally governed[HS__ALL_ROUTINES][4];
} hs__record;

/* Begins to count for a report. Called once, when the library is loaded. */
void hs__start_records(void);

/* Returns the record of this process; NULL if it has made no counted call. It is NULL also in a
 * child of vfork, which shares the memory of its parent. */
hs__record *hs__current_record(void);

/* Reads a record from a file that may be anything. Returns what is wrong with it, or NULL. */
const char *hs__read_record(const char *path, hs__record *record);

/* Replaces all but printable ASCII by question marks: control characters would command a
 * terminal. */
void hs__make_printable(char *text);

/* Fills in the head of a record with this name. */
void hs__set_record_head(hs__record_head *head, const char *name);

#endif
