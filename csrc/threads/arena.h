/* Large allocations, and the memory that a pool keeps from run to run. */
#ifndef HS_THREADS_ARENA_H
#define HS_THREADS_ARENA_H

#include <stdatomic.h>
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

/* Memory for one call, which a later call may get again: pages that are new to the process must be
 * cleared by the system, which takes up to a tenth of a decomposition of order 600. */
typedef struct hs__memory {
    void *data;
    size_t bytes;
} hs__memory;

/* Memory that is kept between calls. All zero at first. Any thread may use it. */
typedef struct hs__spare {
    atomic_int in_use;
    hs__memory memory; /* data NULL and 0 bytes: none */
} hs__spare;
typedef struct hs__spares {
    hs__spare of[4];
} hs__spares;

/* Returns at least so many bytes, aligned as by hs__allocate_pages. data is NULL without memory. */
hs__memory hs__spares_take(hs__spares *spares, size_t bytes);

/* Ends the use of memory by a call: keeps it if it has at most `most` bytes and a place is empty or
 * has less, else frees it. data may be NULL. */
void hs__spares_keep(hs__spares *spares, hs__memory memory, size_t most);

/* Frees the memory that is kept. */
void hs__spares_free(hs__spares *spares);

#endif
