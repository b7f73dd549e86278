/*
 * Event counters of the Armv8.1-M Performance Monitoring Unit.
 *
 * Counters are 16 bits wide. Slot n is counter 2n, which counts the event, chained to counter 2n+1, which
 * counts the wraps of its neighbour: 32 bits together. The overflow flag of the odd counter tells that the
 * pair wrapped.
 */

#include "hal.h"

#if defined(BOARD_CORTEX_M)

#if defined(BOARD_PMU_BASE)

typedef struct pmu_registers {
    volatile uint32_t evcntr[31];
    volatile uint32_t ccntr;
    uint32_t reserved0[224];
    volatile uint32_t evtyper[31];
    volatile uint32_t ccfiltr;
    uint32_t reserved1[480];
    volatile uint32_t cntenset;
    uint32_t reserved2[7];
    volatile uint32_t cntenclr;
    uint32_t reserved3[7];
    volatile uint32_t intenset;
    uint32_t reserved4[7];
    volatile uint32_t intenclr;
    uint32_t reserved5[7];
    volatile uint32_t ovsclr;
    uint32_t reserved6[7];
    volatile uint32_t swinc;
    uint32_t reserved7[7];
    volatile uint32_t ovsset;
    uint32_t reserved8[79];
    volatile uint32_t type;
    volatile uint32_t ctrl;
} pmu_registers_t;

_Static_assert(__builtin_offsetof(pmu_registers_t, evtyper) == 0x400, "PMU_EVTYPER0");
_Static_assert(__builtin_offsetof(pmu_registers_t, cntenset) == 0xC00, "PMU_CNTENSET");
_Static_assert(__builtin_offsetof(pmu_registers_t, ovsclr) == 0xC80, "PMU_OVSCLR");
_Static_assert(__builtin_offsetof(pmu_registers_t, ovsset) == 0xCC0, "PMU_OVSSET");
_Static_assert(__builtin_offsetof(pmu_registers_t, ctrl) == 0xE04, "PMU_CTRL");

#define PMU ((pmu_registers_t *)BOARD_PMU_BASE)
#define PMU_CTRL_ENABLE (1u << 0)
#define PMU_CTRL_EVENT_RESET (1u << 1)
#define PMU_EVENT_CHAIN 0x001Eu
#define PMU_EVENT_MASK 0xFFFFu

static uint32_t counter_mask(uint32_t slots) {
    uint32_t mask = 0u;

    for (uint32_t slot = 0; slot < HAL_EVENT_SLOTS_MAX; slot++) {
        if ((slots & (1u << slot)) != 0u) {
            mask |= 3u << (2u * slot);
        }
    }
    return mask;
}

HAL_COUNTER_ACCESS uint32_t hal_event_slots(void) {
    const uint32_t counters = PMU->type & 0xFFu;
    const uint32_t pairs = counters / 2u;

    return pairs < HAL_EVENT_SLOTS_MAX ? pairs : HAL_EVENT_SLOTS_MAX;
}

HAL_COUNTER_ACCESS bool hal_event_select(uint32_t slot, uint16_t event) {
    PMU->ctrl |= PMU_CTRL_ENABLE;
    PMU->cntenclr = 3u << (2u * slot);
    PMU->evtyper[2u * slot] = event;
    PMU->evtyper[2u * slot + 1u] = PMU_EVENT_CHAIN;
    return (PMU->evtyper[2u * slot] & PMU_EVENT_MASK) == event &&
           (PMU->evtyper[2u * slot + 1u] & PMU_EVENT_MASK) == PMU_EVENT_CHAIN;
}

HAL_COUNTER_ACCESS static void start_counters(uint32_t mask) {
    PMU->cntenclr = mask;
    PMU->ctrl = PMU_CTRL_ENABLE | PMU_CTRL_EVENT_RESET;
    PMU->ovsclr = mask;
    PMU->cntenset = mask;
}

HAL_COUNTER_ACCESS static uint32_t stop_counters(uint32_t mask) {
    PMU->cntenclr = mask;
    return PMU->ovsset;
}

HAL_COUNTER_ACCESS static uint32_t read_pair(uint32_t slot) {
    const uint32_t low = PMU->evcntr[2u * slot] & 0xFFFFu;
    const uint32_t high = PMU->evcntr[2u * slot + 1u] & 0xFFFFu;

    return high << 16 | low;
}

void hal_events_start(uint32_t slots) {
    start_counters(counter_mask(slots));
}

void hal_events_read(uint32_t slots, uint32_t *values) {
    for (uint32_t slot = 0; slot < HAL_EVENT_SLOTS_MAX; slot++) {
        if ((slots & (1u << slot)) != 0u) {
            values[slot] = read_pair(slot);
        }
    }
}

uint32_t hal_events_stop(uint32_t slots, uint32_t *values) {
    const uint32_t overflow = stop_counters(counter_mask(slots));
    uint32_t wrapped = 0u;

    hal_events_read(slots, values);
    for (uint32_t slot = 0; slot < HAL_EVENT_SLOTS_MAX; slot++) {
        if ((slots & overflow >> (slot + 1u) & (1u << slot)) != 0u) {
            wrapped |= 1u << slot;
        }
    }
    return wrapped;
}

#else

uint32_t hal_event_slots(void) {
    return 0u;
}

bool hal_event_select(uint32_t slot, uint16_t event) {
    (void)slot;
    (void)event;
    return false;
}

void hal_events_start(uint32_t slots) {
    (void)slots;
}

void hal_events_read(uint32_t slots, uint32_t *values) {
    (void)slots;
    (void)values;
}

uint32_t hal_events_stop(uint32_t slots, uint32_t *values) {
    (void)slots;
    (void)values;
    return 0u;
}

#endif
#else
typedef int hal_pmu_unused_t;
#endif
