/* Registers of the Armv8.1-M Performance Monitoring Unit, with 16-bit counters that chain in pairs. */

#include "pages.h"

#include <stddef.h>

#include "events.h"

#define COUNTERS_MAX 31u
#define CYCLE_COUNTER 31u

#define EVCNTR 0x000u
#define CCNTR 0x07Cu
#define EVTYPER 0x400u
#define CCFILTR 0x47Cu
#define CNTENSET 0xC00u
#define CNTENCLR 0xC20u
#define INTENSET 0xC40u
#define INTENCLR 0xC60u
#define OVSCLR 0xC80u
#define SWINC 0xCA0u
#define OVSSET 0xCC0u
#define TYPE 0xE00u
#define CTRL 0xE04u

#define CTRL_ENABLE (1u << 0)
#define CTRL_RESET_EVENTS (1u << 1)
#define CTRL_RESET_CYCLES (1u << 2)
/* 32 bits is the largest counter; there is a cycle counter; the low byte states the event counters */
#define TYPE_FIXED 0x00A05F00u

#define EVENT_BITS 16u
#define EVENT_UNSUPPORTED 0xFFFFu

typedef struct counter {
    uint16_t event;
    const event_t *model; /* NULL when the event is not modelled */
    uint64_t held;        /* value while stopped */
    uint64_t base;        /* quantity at value zero while running */
} counter_t;

static counter_t counters[COUNTERS_MAX + 1u];
static unsigned counter_count;
static uint32_t enabled, overflowed, interrupts;
static bool pmu_enabled;

static bool exists(unsigned index) {
    return index < counter_count || index == CYCLE_COUNTER;
}

static uint32_t existing_mask(void) {
    return (1u << CYCLE_COUNTER) | ((1u << counter_count) - 1u);
}

static bool running(unsigned index) {
    return pmu_enabled && (enabled >> index & 1u) != 0u;
}

static uint64_t quantity_of(const counter_t *counter) {
    return counter->model != NULL && counter->model->source == EVENT_QUANTITY
               ? counters_value(counter->model->quantity)
               : 0u;
}

/* The value since the last call may have passed the counter's width: sets its flag, feeds its neighbour. */
static void carry(unsigned index) {
    counter_t *counter = &counters[index];
    const unsigned width = index == CYCLE_COUNTER ? 32u : EVENT_BITS;
    const uint64_t wraps = counter->held >> width;
    counter_t *next = &counters[index + 1u];

    if (wraps == 0u) {
        return;
    }
    counter->held &= (1ull << width) - 1u;
    counter->base += wraps << width;
    overflowed |= 1u << index;
    if (index != CYCLE_COUNTER && index % 2u == 0u && exists(index + 1u) && running(index + 1u) &&
        next->model != NULL && next->model->source == EVENT_CHAIN) {
        next->held += wraps;
    }
}

/* Brings `held` of every counter up to the present. */
static void advance(void) {
    for (unsigned index = 0; index <= CYCLE_COUNTER; index++) {
        counter_t *counter = &counters[index];

        if (!exists(index)) {
            continue;
        }
        if (running(index) && counter->model != NULL && counter->model->source == EVENT_QUANTITY) {
            counter->held = quantity_of(counter) - counter->base;
        }
        carry(index);
    }
}

/* After registers changed: running counters go on from the value they hold. */
static void rebase(void) {
    for (unsigned index = 0; index <= CYCLE_COUNTER; index++) {
        counters[index].base = quantity_of(&counters[index]) - counters[index].held;
    }
}

void pmu_prepare(unsigned count, bool cache_modelled, bool tcm_modelled) {
    counter_count = count < COUNTERS_MAX ? count : COUNTERS_MAX;
    events_prepare(cache_modelled, tcm_modelled);
    counters[CYCLE_COUNTER].event = EVENT_CPU_CYCLES;
    counters[CYCLE_COUNTER].model = event_find(EVENT_CPU_CYCLES);
    for (unsigned index = 0; index < counter_count; index++) {
        counters[index].model = event_find(counters[index].event);
    }
}

static void show(volatile uint32_t *words) {
    const bool dead = pages_events_zero();

    for (unsigned index = 0; index < counter_count; index++) {
        words[EVCNTR / 4u + index] = dead ? 0u : (uint32_t)counters[index].held;
        words[EVTYPER / 4u + index] =
            counters[index].model != NULL ? counters[index].event : EVENT_UNSUPPORTED;
    }
    words[CCNTR / 4u] = (uint32_t)counters[CYCLE_COUNTER].held;
    words[CCFILTR / 4u] = 0u;
    words[CNTENSET / 4u] = words[CNTENCLR / 4u] = enabled;
    words[INTENSET / 4u] = words[INTENCLR / 4u] = interrupts;
    words[OVSSET / 4u] = words[OVSCLR / 4u] = overflowed;
    words[SWINC / 4u] = 0u;
    words[TYPE / 4u] = TYPE_FIXED | counter_count;
    words[CTRL / 4u] = pmu_enabled ? CTRL_ENABLE : 0u;
}

void pmu_refresh(volatile uint32_t *words) {
    advance();
    show(words);
}

static void store_control(uint32_t value) {
    pmu_enabled = (value & CTRL_ENABLE) != 0u;
    for (unsigned index = 0; index < counter_count && (value & CTRL_RESET_EVENTS) != 0u; index++) {
        counters[index].held = 0u;
    }
    if ((value & CTRL_RESET_CYCLES) != 0u) {
        counters[CYCLE_COUNTER].held = 0u;
    }
}

static void store_increment(uint32_t value) {
    for (unsigned index = 0; index < counter_count; index++) {
        if ((value >> index & 1u) != 0u && running(index) && counters[index].model != NULL &&
            counters[index].model->source == EVENT_SOFTWARE) {
            counters[index].held++;
            carry(index);
        }
    }
}

static void store_indexed(uint32_t offset, uint32_t value) {
    const unsigned index = offset % 0x80u / 4u;

    if (index >= counter_count) {
        return;
    }
    if (offset < CCNTR) {
        counters[index].held = value & 0xFFFFu;
    } else {
        counters[index].event = (uint16_t)value;
        counters[index].model = event_find(counters[index].event);
    }
}

void pmu_stored(volatile uint32_t *words, uint32_t offset) {
    const uint32_t value = words[offset / 4u], existing = existing_mask();

    advance();
    switch (offset) {
    case CCNTR:
        counters[CYCLE_COUNTER].held = value;
        break;
    case CNTENSET:
        enabled |= value & existing;
        break;
    case CNTENCLR:
        enabled &= ~value;
        break;
    case INTENSET:
        interrupts |= value & existing;
        break;
    case INTENCLR:
        interrupts &= ~value;
        break;
    case OVSSET:
        overflowed |= value & existing;
        break;
    case OVSCLR:
        overflowed &= ~value;
        break;
    case SWINC:
        store_increment(value);
        break;
    case CTRL:
        store_control(value);
        break;
    default:
        if (offset < CCNTR || (offset >= EVTYPER && offset < CCFILTR)) {
            store_indexed(offset, value);
        } else {
            words[offset / 4u] = 0u; /* nothing is there */
        }
    }
    rebase();
    show(words);
}
