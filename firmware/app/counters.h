/* Columns of a pass: what is read around each layer, from whichever unit counts it. */
#ifndef HARNESS_COUNTERS_H
#define HARNESS_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#define COUNTERS_MAX_COLUMNS 24u

typedef enum counter_source {
    COUNTER_CYCLES = 0,   /* the cycle counter */
    COUNTER_EVENT = 1,    /* an event counter; id is the architectural event number */
    COUNTER_OBSERVER = 2, /* the emulator's observation number id */
    COUNTER_SMALL = 3,    /* the 8-bit counter number id of a DWT without PMU */
} counter_source_t;

typedef enum counter_status {
    COUNTER_OK = 0,
    COUNTER_UNSUPPORTED = 1, /* this core does not count it */
    COUNTER_NO_SLOT = 2,     /* more events than slots: the host asked for too much at once */
} counter_status_t;

typedef struct counter_column {
    uint8_t source;
    uint8_t status;
    uint16_t id;
} counter_column_t;

/* What was seen when every counter was made to advance and to stand still. */
typedef struct counter_self_test {
    uint32_t cycles_present, cycles_advance, cycles_frozen;
    uint32_t event_slots, event_advance, event_frozen;
    uint32_t observer_count, observer_advance;
    uint32_t empty_bracket_cycles;
    uint32_t small_present, small_advance; /* bit n: 8-bit counter n moved */
    uint32_t rate_window_ticks,
        rate_second_ticks; /* of one busy loop, by the window clock and by a second one */
} counter_self_test_t;

const counter_self_test_t *counters_self_test(void);
bool counters_trusted(void); /* the self-test passed for every unit that is present */

/* Set each column's status. Returns the 32-bit words one row takes, the last of which tells overflow. */
uint32_t counters_configure(counter_column_t *columns, uint32_t count);
uint32_t counter_column_words(const counter_column_t *column);

void counters_begin(void);
void counters_end(uint32_t *row);

/*
 * Take what the last bracket observed as the cost of bracketing itself: it is left out of observations from
 * then on. Only of those: they are exact, so the difference is. Counters of the core keep it, as on silicon.
 */
void counters_keep_bias(void);

#endif
