#include "counters.h"

#include <string.h>

#include "hal.h"
#include "test_fault.h"

#define EVENT_INST_RETIRED 0x0008u
#define SPIN_LOOPS 1000u
#define SMALL_SPINS 3u /* a counter of 8 bits may come back to where it was, but not each time */
#define SMALL_RANGE 256u

static counter_column_t *active;
static uint32_t active_count;
static uint32_t active_slots;
static bool active_observer;
static bool active_small;
static uint8_t start_small[HAL_SMALL_COUNTERS], end_small[HAL_SMALL_COUNTERS];
static uint32_t start_small_cycles;
static uint32_t start_cycles;
static uint64_t start_observed[HAL_OBSERVER_MAX];
static uint64_t end_observed[HAL_OBSERVER_MAX];
static uint64_t bias[HAL_OBSERVER_MAX];
static counter_self_test_t test;

static void spin(void) {
    for (volatile uint32_t i = 0; i < SPIN_LOOPS; i++) {
    }
}

static void test_small(void) {
    test.small_present =
        test.cycles_present != 0u && hal_event_slots() == 0u && hal_small_enable(true) ? 1u : 0u;
    for (uint32_t round = 0; test.small_present != 0u && round < SMALL_SPINS; round++) {
        hal_small_read(start_small);
        for (uint32_t i = 0; i <= round; i++) {
            spin();
        }
        hal_small_read(end_small);
        for (uint32_t i = 0; i < HAL_SMALL_COUNTERS; i++) {
            test.small_advance |= (start_small[i] != end_small[i] ? 1u : 0u) << i;
        }
    }
    if (test.small_present != 0u) {
        (void)hal_small_enable(false);
    }
}

const counter_self_test_t *counters_self_test(void) {
    static uint64_t before[HAL_OBSERVER_MAX], after[HAL_OBSERVER_MAX];
    uint32_t values[HAL_EVENT_SLOTS_MAX] = {0}, again[HAL_EVENT_SLOTS_MAX] = {0};
    uint32_t first;

    memset(&test, 0, sizeof(test));
    test.cycles_present = hal_cycles_init() == HAL_CYCLES_PRESENT ? 1u : 0u;
    if (test.cycles_present != 0u) {
        first = hal_cycles();
        spin();
        test.cycles_advance = hal_cycles() - first;
        hal_cycles_enable(false);
        first = hal_cycles();
        spin();
        test.cycles_frozen = hal_cycles() == first ? 1u : 0u;
        hal_cycles_enable(true);
    }
    if (test.cycles_present != 0u) {
        spin(); /* once, so that the measured one is warm */
        hal_second_clock_start();
        first = hal_cycles();
        spin();
        test.rate_window_ticks = hal_cycles() - first;
        test.rate_second_ticks = hal_second_clock_stop();
    }
    test.event_slots = hal_event_slots();
    if (test.event_slots != 0u && hal_event_select(0u, EVENT_INST_RETIRED)) {
        hal_events_start(1u);
        spin();
        (void)hal_events_stop(1u, values);
        spin();
        hal_events_read(1u, again);
        test.event_advance = values[0];
        test.event_frozen = values[0] == again[0] ? 1u : 0u;
    }
    test.observer_count = hal_observer_count();
    if (test.observer_count != 0u) {
        hal_observer_read(before);
        spin();
        hal_observer_read(after);
        test.observer_advance = (uint32_t)(after[0] - before[0]);
    }
    if (test.cycles_present != 0u) {
        first = hal_cycles();
        test.empty_bracket_cycles = hal_cycles() - first;
    }
    test_small();
    if (HARNESS_TEST_FAULT == TEST_FAULT_DEAD_COUNTER) {
        test.cycles_advance = 0u;
    }
    return &test;
}

bool counters_trusted(void) {
    const bool cycles = hal_observer_only_icount() || (test.cycles_advance != 0u && test.cycles_frozen != 0u);
    const bool events = test.event_slots == 0u || (test.event_advance != 0u && test.event_frozen != 0u);
    const bool observer = test.observer_count == 0u || test.observer_advance != 0u;

    return cycles && events && observer;
}

uint32_t counter_column_words(const counter_column_t *column) {
    if (column->status != COUNTER_OK) {
        return 0u;
    }
    return column->source == COUNTER_OBSERVER ? 2u : 1u;
}

uint32_t counters_configure(counter_column_t *columns, uint32_t count) {
    const uint32_t slots = hal_event_slots();
    uint32_t next_slot = 0u;
    uint32_t words = 1u;

    active = columns;
    active_count = count;
    active_observer = false;
    active_small = false;
    memset(bias, 0, sizeof(bias));
    for (uint32_t i = 0; i < count; i++) {
        counter_column_t *column = &columns[i];

        column->status = COUNTER_UNSUPPORTED;
        if (column->source == COUNTER_CYCLES) {
            column->status = test.cycles_present != 0u ? COUNTER_OK : COUNTER_UNSUPPORTED;
        } else if (column->source == COUNTER_OBSERVER) {
            column->status = column->id < hal_observer_count() ? COUNTER_OK : COUNTER_UNSUPPORTED;
            active_observer |= column->status == COUNTER_OK;
        } else if (column->source == COUNTER_SMALL && test.small_advance != 0u &&
                   column->id < HAL_SMALL_COUNTERS) {
            column->status = COUNTER_OK;
            active_small = true;
        } else if (column->source == COUNTER_EVENT && slots != 0u) {
            if (next_slot == slots) {
                column->status = COUNTER_NO_SLOT;
            } else if (hal_event_select(next_slot, column->id)) {
                column->status = COUNTER_OK;
                next_slot++;
            }
        }
        words += counter_column_words(column);
    }
    active_slots = (1u << next_slot) - 1u;
    if (test.small_present != 0u) {
        (void)hal_small_enable(active_small);
    }
    return words;
}

void counters_begin(void) {
    if (active_observer) {
        hal_observer_read(start_observed);
    }
    if (active_slots != 0u) {
        hal_events_start(active_slots);
    }
    if (active_small) {
        start_small_cycles = hal_cycles();
        hal_small_read(start_small);
    }
    start_cycles = hal_cycles();
}

void counters_end(uint32_t *row) {
    const uint32_t cycles = hal_cycles() - start_cycles;
    static uint32_t events[HAL_EVENT_SLOTS_MAX];
    uint32_t wrapped = 0u;
    uint32_t overflow = 0u;
    uint32_t slot = 0u;
    bool small_wrapped = false;

    if (active_small) {
        /* At most one a cycle: in fewer cycles than its range it cannot have come round. */
        hal_small_read(end_small);
        small_wrapped = hal_cycles() - start_small_cycles >= SMALL_RANGE;
    }
    if (active_slots != 0u) {
        wrapped = hal_events_stop(active_slots, events);
    }
    if (active_observer) {
        hal_observer_read(end_observed);
    }
    for (uint32_t i = 0; i < active_count; i++) {
        const counter_column_t *column = &active[i];

        if (column->status != COUNTER_OK) {
            continue;
        }
        if (column->source == COUNTER_CYCLES) {
            *row++ = cycles;
        } else if (column->source == COUNTER_OBSERVER) {
            const uint64_t delta = end_observed[column->id] - start_observed[column->id] - bias[column->id];

            *row++ = (uint32_t)delta;
            *row++ = (uint32_t)(delta >> 32);
        } else if (column->source == COUNTER_SMALL) {
            overflow |= (small_wrapped ? 1u : 0u) << i;
            *row++ = (uint8_t)(end_small[column->id] - start_small[column->id]);
        } else {
            overflow |= (wrapped >> slot & 1u) << i;
            *row++ = events[slot++];
        }
    }
    *row = overflow;
}

void counters_keep_bias(void) {
    for (uint32_t i = 0; i < HAL_OBSERVER_MAX; i++) {
        bias[i] = end_observed[i] - start_observed[i];
    }
}
