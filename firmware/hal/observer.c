/* The emulator's own observations: a page of 64-bit counters, absent on silicon. */

#include "hal.h"

#if defined(BOARD_CORTEX_M)

#if defined(BOARD_OBSERVER_BASE)

#define OBSERVER_MAGIC 0x31534248u
#define OBSERVER_VERSION 1u

typedef struct observer_page {
    volatile uint32_t magic;
    volatile uint32_t version;
    volatile uint32_t count;
    volatile uint32_t reserved;
    volatile uint32_t values[2u * HAL_OBSERVER_MAX];
} observer_page_t;

#define OBSERVER ((observer_page_t *)BOARD_OBSERVER_BASE)

static const char *const names[] = {
    "emulator.instructions", "emulator.cycles",     "emulator.loads",
    "emulator.stores",       "emulator.branches",   "emulator.mve_instructions",
    "emulator.l1d_accesses", "emulator.l1d_misses", "emulator.energy_fj",
};
#define NAME_COUNT (sizeof(names) / sizeof(names[0]))

HAL_COUNTER_ACCESS static uint32_t page_count(void) {
    if (OBSERVER->magic != OBSERVER_MAGIC || OBSERVER->version != OBSERVER_VERSION) {
        return 0u;
    }
    const uint32_t count = OBSERVER->count;

    return count < NAME_COUNT ? count : NAME_COUNT;
}

/* Memory without the page's magic: nobody keeps counters there, and what is written to it just stays. */
bool hal_observer_only_icount(void) {
    static enum { UNKNOWN, KEPT, ONLY_ICOUNT } state;

    if (state == UNKNOWN) {
        state = page_count() != 0u ? KEPT : ONLY_ICOUNT;
        if (state == ONLY_ICOUNT) {
            hal_icount_start();
        }
    }
    return state == ONLY_ICOUNT;
}

/* Instructions are the first of the values. */
uint32_t hal_observer_count(void) {
    return hal_observer_only_icount() ? 1u : page_count();
}

const char *hal_observer_name(uint32_t index) {
    return index < NAME_COUNT ? names[index] : "";
}

/*
 * The page moves with each load, so the upper half is read on both sides of the lower one, and the lower one
 * tells on which side of it a carry fell. No branch and no repetition: reading must always cost the same.
 */
HAL_COUNTER_ACCESS static uint64_t read_value(uint32_t index) {
    const uint32_t high_before = OBSERVER->values[2u * index + 1u];
    const uint32_t low = OBSERVER->values[2u * index];
    const uint32_t high_after = OBSERVER->values[2u * index + 1u];
    const uint32_t before = 0u - (low >> 31);

    return (uint64_t)(high_after ^ ((high_before ^ high_after) & before)) << 32 | low;
}

void hal_observer_read(uint64_t *values) {
    if (hal_observer_only_icount()) {
        values[0] = hal_icount();
        return;
    }
    for (uint32_t i = 0; i < NAME_COUNT; i++) {
        values[i] = read_value(i);
    }
}

#else

bool hal_observer_only_icount(void) {
    return false;
}

uint32_t hal_observer_count(void) {
    return 0u;
}

const char *hal_observer_name(uint32_t index) {
    (void)index;
    return "";
}

void hal_observer_read(uint64_t *values) {
    (void)values;
}

#endif
#else
typedef int hal_observer_unused_t;
#endif
