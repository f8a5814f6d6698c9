/* Large allocations, and the memory that a pool keeps from run to run. */
#ifndef HS_THREADS_ARENA_H
#define HS_THREADS_ARENA_H

#include <stddef.h>
#include <stdint.h>

/* Allocates memory aligned for vectors and pages, on huge pages where the system has them; release
 * it with free(). Returns NULL if there is no memory. The block is 4096 bytes larger than
 * requested, because micro-kernels load the next step of a panel before they know that there is
 * none. */
void *hs__allocate_pages(size_t bytes);

/* Buffers that grow on demand. */
typedef struct hs__arena {
    int32_t count;
    struct hs__buffer {
        void *data;
        size_t bytes;
    } *buffer; /* [count] */
} hs__arena;

/* Returns 0 if there is no memory. Closing an arena that was never opened (all zero) is allowed. */
int hs__arena_open(hs__arena *arena, int32_t count);
void hs__arena_close(hs__arena *arena);

/* Returns buffer number `slot` with at least the given size, allocated by hs__allocate_pages. Its
 * content is lost when it grows. NULL if there is no memory. */
void *hs__arena_get(hs__arena *arena, int32_t slot, size_t bytes);

/* Frees the buffers of more than `most` bytes. */
void hs__arena_trim(hs__arena *arena, size_t most);

#endif
