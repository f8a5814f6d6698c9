/* A binary heap of workers by their times: the least time first, ties to the lowest index. */
#ifndef HS_CORE_HEAP_H
#define HS_CORE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The time is the exact sum of both parts, where `rest` is at most half of the last bit of `time`:
 * two such sums compare like the real numbers. */
typedef struct hs__timed {
    double time, rest;
    int32_t worker;
} hs__timed;

static inline bool hs__sooner(const hs__timed *x, const hs__timed *y)
{
    if (x->time != y->time) return x->time < y->time;
    return (x->rest < y->rest) | ((x->rest == y->rest) & (x->worker < y->worker));
}

static inline void hs__heap_put(hs__timed *heap, int32_t *place, int32_t at, hs__timed x)
{
    heap[at] = x;
    if (place) place[x.worker] = at;
}

/* Puts x at the free place `at` of a heap of `size`, or moves it down to where it belongs. */
static inline void hs__heap_down(hs__timed *heap, int32_t *place, int32_t size, int32_t at,
                                 hs__timed x)
{
    for (int32_t child; (child = 2 * at + 1) < size; at = child) {
        child += (child + 1 < size) && hs__sooner(&heap[child + 1], &heap[child]);
        if (!hs__sooner(&heap[child], &x)) break;
        hs__heap_put(heap, place, at, heap[child]);
    }
    hs__heap_put(heap, place, at, x);
}

/* The same, but x may also move up. */
static inline void hs__heap_settle(hs__timed *heap, int32_t *place, int32_t size, int32_t at,
                                   hs__timed x)
{
    for (int32_t above; at && hs__sooner(&x, &heap[above = (at - 1) / 2]); at = above)
        hs__heap_put(heap, place, at, heap[above]);
    hs__heap_down(heap, place, size, at, x);
}

/* Makes a heap of entries in any order. O(size). */
static inline void hs__heap_order(hs__timed *heap, int32_t size)
{
    for (int32_t i = size / 2; i-- > 0;) hs__heap_down(heap, NULL, size, i, heap[i]);
}

/* A heap that workers enter and leave. place [workers] has the position of each worker, -1 for a
 * worker that is not in the heap. */
typedef struct hs__heap {
    hs__timed *at;
    int32_t *place, size;
} hs__heap;

/* Sets the time of a worker, and adds the worker if it is not in the heap. */
static inline void hs__heap_set(hs__heap *heap, int32_t worker, double time)
{
    const int32_t at = heap->place[worker] < 0 ? heap->size++ : heap->place[worker];
    hs__heap_settle(heap->at, heap->place, heap->size, at, (hs__timed){time, 0.0, worker});
}

static inline void hs__heap_remove(hs__heap *heap, int32_t worker)
{
    const int32_t at = heap->place[worker];
    if (at < 0) return;
    heap->place[worker] = -1;
    if (at < --heap->size)
        hs__heap_settle(heap->at, heap->place, heap->size, at, heap->at[heap->size]);
}

#endif
