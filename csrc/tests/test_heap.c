/* The heap of workers, against a search for the least time in a plain list. */
#include "check.h"
#include "core/heap.h"

enum { WORKERS = 40, STEPS = 20000 };

/* Returns one of few times, so that ties are frequent; half a unit in the last place decides
 * some. */
static hs__timed some_time(int32_t worker)
{
    return (hs__timed){1.0 + check_random(6), check_random(2) * 0x1p-54, worker};
}

static int32_t least_of(const hs__timed *own, const int *in)
{
    int32_t least = -1;
    for (int32_t i = 0; i < WORKERS; i++)
        if (in[i] && (least < 0 || own[i].time < own[least].time ||
                      (own[i].time == own[least].time && own[i].rest < own[least].rest)))
            least = i;
    return least;
}

static void by_the_top(void)
{
    hs__timed heap[WORKERS], own[WORKERS];
    int in[WORKERS];
    for (int32_t i = 0; i < WORKERS; i++) {
        heap[i] = own[i] = some_time(i);
        in[i] = 1;
    }
    hs__heap_order(heap, WORKERS);
    for (int step = 0; step < STEPS; step++) {
        const int32_t first = heap[0].worker;
        CHECK(first == least_of(own, in));
        own[first] = some_time(first);
        hs__heap_down(heap, NULL, WORKERS, 0, own[first]);
    }
}

static void by_the_worker(void)
{
    hs__timed at[WORKERS], own[WORKERS];
    int32_t place[WORKERS];
    int in[WORKERS] = {0};
    hs__heap heap = {.at = at, .place = place};
    for (int32_t i = 0; i < WORKERS; i++) place[i] = -1;
    for (int step = 0; step < STEPS; step++) {
        const int32_t i = (int32_t)check_random(WORKERS);
        if (check_random(3)) {
            own[i] = (hs__timed){1.0 + check_random(9), 0.0, i};
            in[i] = 1;
            hs__heap_set(&heap, i, own[i].time);
        } else {
            hs__heap_remove(&heap, i);
            in[i] = 0;
        }
        int32_t count = 0;
        for (int32_t k = 0; k < WORKERS; k++) {
            count += in[k];
            CHECK(in[k] ? at[place[k]].worker == k : place[k] == -1);
        }
        CHECK(heap.size == count && (!count || at[0].worker == least_of(own, in)));
    }
}

int main(void)
{
    by_the_top();
    by_the_worker();
    return check_result();
}
