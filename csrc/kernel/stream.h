/* Writes a long piece of memory in order with non-temporal stores, past the caches. Its lines are
 * not read before they are written, which saves a quarter of the traffic of a + b -> c. A reader
 * right after it finds the data in memory instead of the caches. */
#ifndef HS_KERNEL_STREAM_H
#define HS_KERNEL_STREAM_H

#include <stdint.h>

/* Bytes that wait in the buffer before they are written; the whole buffer stays in the L1 cache. */
enum {
    HS__STREAM_WAITING = 4096,
    HS__STREAM_PUT = 2048,
    HS__STREAM_BYTES = HS__STREAM_WAITING + HS__STREAM_PUT
};

/* Bytes `first` up to `end` of the buffer wait to be written. `line`, the start of a cache line, is
 * the destination of the start of the buffer. */
typedef struct hs__stream {
    char *line, *buffer;
    int64_t first, end;
} hs__stream;

/* Returns whether this processor has non-temporal stores. */
int hs__stream_can(void);

/* Starts a stream to consecutive addresses from `to` on. buffer [HS__STREAM_BYTES], aligned to 64
 * bytes. */
hs__stream hs__stream_start(void *to, void *buffer);

/* Returns where to put the next bytes, at most HS__STREAM_PUT; hs__stream_put then says how many
 * are there. */
static inline void *hs__stream_place(const hs__stream *x) { return x->buffer + x->end; }
void hs__stream_put(hs__stream *x, int64_t bytes);

/* Writes everything that remains. Other threads see it before any later store of this thread. */
void hs__stream_end(hs__stream *x);

#endif
