/* Events: recorded ones have a place, however long the run has lasted. Polls: work continues
 * between two of them. With the test's own clock in place of the system's clock. */
#define hs_clock test_clock
#include "run/run.c"

#include "run/member.h"

#include <stdint.h>
#include <string.h>

#include "check.h"

enum { GUARD = 2, ROOM = 3 };

static void counter_of_hours(void)
{
    hs_event memory[GUARD + ROOM + GUARD], before[GUARD + ROOM + GUARD];
    memset(memory, 0x55, sizeof memory);
    memcpy(before, memory, sizeof before);
    hs__run run = {.trace = {.events = memory + GUARD, .event_capacity = ROOM},
                   .event_count = INT32_MAX - 1};
    hs__member self = hs__member_start(&run, 0, 1);
    /* a 32-bit counter would wrap here */
    for (int i = 0; i < 5; i++) hs__record(&self, i % 2 ? HS_TRANSFER : HS_COMPUTE, i, i + 0.5);
    CHECK(memcmp(memory, before, sizeof memory) == 0);
    CHECK(atomic_load(&run.event_count) == INT32_MAX - 1);
}

static void full(void)
{
    hs_event memory[ROOM + GUARD];
    memset(memory, 0x55, sizeof memory);
    hs__run run = {.trace = {.events = memory, .event_capacity = ROOM}};
    hs__member self = hs__member_start(&run, 4, 0);
    for (int i = 0; i < 2 * ROOM; i++) {
        self.box = i;
        hs__record(&self, HS_COMPUTE, i, i + 0.5);
    }
    CHECK(atomic_load(&run.event_count) == ROOM);
    for (int i = 0; i < ROOM; i++)
        CHECK(memory[i].worker == 4 && memory[i].box == i && memory[i].start == i &&
              memory[i].end == i + 0.5);
    CHECK(memory[ROOM].box == 0x55555555);
}

/* An array of no events asks for no trace, whether it has an address or not. */
static void none(void)
{
    hs_event memory[1];
    memset(memory, 0x55, sizeof memory);
    hs__run run = {.workers = 1, .trace = {.events = memory}};
    hs__member self = hs__member_start(&run, 0, 1);
    hs__record(&self, HS_COMPUTE, 0, 1);
    CHECK(atomic_load(&run.event_count) == 0 && memory[0].box == 0x55555555);
    CHECK(hs__valid_run(&run));
    run.trace.event_capacity = -1;
    CHECK(!hs__valid_run(&run));
    run.trace.events = NULL;
    run.trace.event_capacity = 1;
    CHECK(!hs__valid_run(&run));
}

/* What workers write at every task shares no cache line with what all of them read all the time. */
static void cache_lines(void)
{
    enum { LINE = 64 };
    CHECK(offsetof(hs__run, cancel) / LINE != offsetof(hs__run, done) / LINE);
    CHECK(offsetof(hs__run, cancel) / LINE != offsetof(hs__run, event_count) / LINE);
    CHECK(offsetof(hs__run, done) / LINE != offsetof(hs__run, event_count) / LINE);
}

static double now = 1.0;
static int calls;
double test_clock(void) { return now; }

static int poll_slowly(void *context, double fraction)
{
    (void)context;
    (void)fraction;
    now += 0.06;
    calls++;
    return 0;
}

/* A poll function that takes longer than the time between two polls, as when its thread must wait
 * for its core. */
static void polls(void)
{
    hs__run run = {.options.poll = poll_slowly};
    if (!CHECK(hs_pool_create(1, NULL, &run.pool) == HS_OK) ||
        !CHECK(hs__pool_lock(run.pool, HS__TOGETHER, NULL, NULL, &run.lease) == HS_OK))
        return;
    start_clock(&run);
    hs__poll(&run);
    CHECK(calls == 0);
    now += 0.051;
    hs__poll(&run);
    CHECK(calls == 1);
    now += 0.049;
    hs__poll(&run);
    hs__poll(&run);
    CHECK(calls == 1);
    now += 0.002;
    hs__poll(&run);
    CHECK(calls == 2 && run.polling > 0.119 && run.polling < 0.121);
    hs__pool_unlock(run.lease);
    hs_pool_destroy(run.pool);
}

int main(void)
{
    polls();
    counter_of_hours();
    full();
    none();
    cache_lines();
    return check_result();
}
