/* Memory for much data, and that which a pool keeps from run to run. */
#ifndef HS_THREADS_ARENA_H
#define HS_THREADS_ARENA_H

#include <stddef.h>
#include <stdint.h>

/* Aligned for vectors and pages, on large pages where the system has them; for free(). NULL if
 * there is none. There are 4096 bytes more: micro-kernels load the next step of a panel before they
 * know that there is none. */
void *hs__allocate_pages(size_t bytes);

/* Buffers that grow as they are asked for. */
typedef struct hs__arena {
    int32_t count;
    struct hs__buffer {
        void *data;
        size_t bytes;
    } *buffer; /* [count] */
} hs__arena;

/* 0 if there is no memory. Closing what was not opened, all zero, is allowed. */
int hs__arena_open(hs__arena *arena, int32_t count);
void hs__arena_close(hs__arena *arena);

/* Buffer number `slot`, by hs__allocate_pages, of so many bytes or more; its content does not
 * outlast a growth. NULL if there is none. */
void *hs__arena_get(hs__arena *arena, int32_t slot, size_t bytes);

/* Gives back the buffers of more than `most` bytes. */
void hs__arena_trim(hs__arena *arena, size_t most);

#endif
