/* Writes a long piece of memory in order and past the caches: its lines are not read before they
 * are written, which is a quarter of what a + b -> c moves. What reads it at once finds it in
 * memory instead of the caches. */
#ifndef HS_KERNEL_STREAM_H
#define HS_KERNEL_STREAM_H

#include <stdint.h>

/* Bytes that wait in the buffer before they are written; more than that stays in the first level
 * cache, too. */
enum {
    HS__STREAM_WAITING = 4096,
    HS__STREAM_PUT = 2048,
    HS__STREAM_BYTES = HS__STREAM_WAITING + HS__STREAM_PUT
};

/* Bytes `first` up to `end` of the buffer wait to be written to where `line`, the start of a line
 * of the caches, stands for its start. */
typedef struct hs__stream {
    char *line, *buffer;
    int64_t first, end;
} hs__stream;

/* Whether this processor can. */
int hs__stream_can(void);

/* To all that follows `to`. buffer [HS__STREAM_BYTES], aligned to 64 bytes. */
hs__stream hs__stream_start(void *to, void *buffer);

/* Where the next bytes, at most HS__STREAM_PUT, are to be put; and that so many are there. */
static inline void *hs__stream_place(const hs__stream *x) { return x->buffer + x->end; }
void hs__stream_put(hs__stream *x, int64_t bytes);

/* All is written, and seen by others before what is stored after this call. */
void hs__stream_end(hs__stream *x);

#endif
