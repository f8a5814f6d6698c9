/* Large allocations on huge pages, and buffers that grow on demand. */
#define _GNU_SOURCE
#include "threads/arena.h"

#include <stdlib.h>
#include <sys/mman.h>

void *hs__allocate_pages(size_t bytes)
{
    enum { SLACK = 4096 };
    void *memory = NULL;
    const size_t huge = (size_t)2 << 20;
    const size_t alignment = bytes >= huge ? huge : 4096;
    if (bytes > SIZE_MAX - alignment - SLACK) return NULL;
    const size_t rounded = (bytes + SLACK + alignment - 1) / alignment * alignment;
    if (posix_memalign(&memory, alignment, rounded)) return NULL;
#if defined(MADV_HUGEPAGE)
    if (alignment == huge) madvise(memory, rounded, MADV_HUGEPAGE);
#endif
    return memory;
}

int hs__arena_open(hs__arena *arena, int32_t count)
{
    *arena = (hs__arena){.count = count, .buffer = calloc((size_t)count, sizeof *arena->buffer)};
    return arena->buffer != NULL;
}

void hs__arena_close(hs__arena *arena)
{
    for (int32_t i = 0; arena->buffer && i < arena->count; i++) free(arena->buffer[i].data);
    free(arena->buffer);
}

/* Clears the buffer's entry before it frees the memory, so that a child forked in between does not
 * find memory that is being freed. */
static void give_back(struct hs__buffer *b)
{
    void *old = b->data;
    *b = (struct hs__buffer){.bytes = 0};
    free(old);
}

void *hs__arena_get(hs__arena *arena, int32_t slot, size_t bytes)
{
    struct hs__buffer *b = &arena->buffer[slot];
    if (b->bytes >= bytes) return b->data;
    give_back(b);
    b->data = hs__allocate_pages(bytes);
    if (b->data) b->bytes = bytes;
    return b->data;
}

void hs__arena_trim(hs__arena *arena, size_t most)
{
    for (int32_t i = 0; i < arena->count; i++)
        if (arena->buffer[i].bytes > most) give_back(&arena->buffer[i]);
}

/* ---- memory of calls ------------------------------------------------------------------------- */

enum { SPARES = sizeof(hs__spares) / sizeof(hs__spare) };

/* A thread that finds the place in use goes on to the next one. */
static int begin_use(hs__spare *spare) { return !atomic_exchange(&spare->in_use, 1); }
static void end_use(hs__spare *spare) { atomic_store(&spare->in_use, 0); }

/* Memory that is much too large stays for a call that needs it. */
static int suits(const hs__memory *kept, size_t bytes)
{
    return kept->bytes >= bytes && kept->bytes / 4 <= bytes;
}

hs__memory hs__spares_take(hs__spares *spares, size_t bytes)
{
    hs__memory found = {NULL, bytes};
    for (int i = 0; i < SPARES && !found.data; i++) {
        hs__spare *spare = &spares->of[i];
        if (!begin_use(spare)) continue;
        if (suits(&spare->memory, bytes)) {
            found = spare->memory;
            spare->memory = (hs__memory){NULL, 0};
        }
        end_use(spare);
    }
    if (!found.data) found.data = hs__allocate_pages(bytes);
    return found;
}

void hs__spares_keep(hs__spares *spares, hs__memory memory, size_t most)
{
    for (int i = 0; i < SPARES && memory.data && memory.bytes <= most; i++) {
        hs__spare *spare = &spares->of[i];
        if (!begin_use(spare)) continue;
        const hs__memory smaller = spare->memory;
        if (smaller.bytes < memory.bytes) {
            spare->memory = memory;
            memory = smaller; /* it may find another place */
        }
        end_use(spare);
    }
    free(memory.data);
}

void hs__spares_free(hs__spares *spares)
{
    for (int i = 0; i < SPARES; i++) {
        hs__spare *spare = &spares->of[i];
        if (!begin_use(spare)) continue;
        free(spare->memory.data);
        spare->memory = (hs__memory){NULL, 0};
        end_use(spare);
    }
}
