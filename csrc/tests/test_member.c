/* Events: what is recorded has a place, however long the run has gone on. */
#include "run/member.h"

#include <stdint.h>
#include <string.h>

#include "check.h"

enum { GUARD = 2, ROOM = 3 };

static void counter_of_hours(void)
{
    hs_event memory[GUARD + ROOM + GUARD], before[GUARD + ROOM + GUARD];
    memset(memory, 0x55, sizeof memory), memcpy(before, memory, sizeof before);
    hs_run run = {.events = memory + GUARD, .event_capacity = ROOM};
    hs__course course = {.run = &run, .event_count = INT32_MAX - 1};
    hs__member self = hs__member_start(&course, 0, 1);
    for (int i = 0; i < 5; i++) hs__record(&self, i % 2 ? HS_TRANSFER : HS_COMPUTE, i, i + 0.5); /* a 32-bit counter wraps here */
    CHECK(memcmp(memory, before, sizeof memory) == 0);
    CHECK(hs__course_end(&course) == HS_OK && run.event_count == ROOM);
}

static void full(void)
{
    hs_event memory[ROOM + GUARD];
    memset(memory, 0x55, sizeof memory);
    hs_run run = {.events = memory, .event_capacity = ROOM};
    hs__course course = {.run = &run};
    hs__member self = hs__member_start(&course, 4, 0);
    for (int i = 0; i < 2 * ROOM; i++) self.box = i, hs__record(&self, HS_COMPUTE, i, i + 0.5);
    CHECK(hs__course_end(&course) == HS_OK && run.event_count == ROOM && course.event_count == ROOM);
    for (int i = 0; i < ROOM; i++) CHECK(memory[i].worker == 4 && memory[i].box == i && memory[i].start == i && memory[i].end == i + 0.5);
    CHECK(memory[ROOM].box == 0x55555555);
}

/* An array of no events is no wish for a trace, whether it has an address or not. */
static void none(void)
{
    hs_event memory[1];
    memset(memory, 0x55, sizeof memory);
    hs_run run = {.events = memory};
    hs__course course = {.run = &run};
    hs__member self = hs__member_start(&course, 0, 1);
    hs__record(&self, HS_COMPUTE, 0, 1);
    CHECK(course.event_count == 0 && memory[0].box == 0x55555555);
    CHECK(hs__valid_run(&run, 1));
    run.event_capacity = -1;
    CHECK(!hs__valid_run(&run, 1));
    run.events = NULL, run.event_capacity = 1;
    CHECK(!hs__valid_run(&run, 1));
}

int main(void)
{
    counter_of_hours();
    full();
    none();
    return check_result();
}
