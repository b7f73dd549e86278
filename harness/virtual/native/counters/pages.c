/* Placing the pages; the DWT's cycle counter and the observer's counters. */

#include "pages.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "counters.h"
#include "itm.h"

#define DWT_CTRL 0x000u
#define DWT_CYCCNT 0x004u
#define DWT_CTRL_ENABLE 1u
#define DWT_CTRL_NO_PROFILE_COUNTERS (1u << 24)

#define OBSERVER_MAGIC 0x31534248u
#define OBSERVER_VERSION 1u
#define OBSERVER_VALUES 0x10u

static const char *const names[PAGE_COUNT] = {"dwt", "pmu", "observer", "itm"};
static struct {
    bool placed;
    uint32_t address;
    volatile uint32_t *words;
} pages[PAGE_COUNT];

static struct {
    bool running;
    uint32_t held; /* value while stopped */
    uint32_t base; /* cycles at value zero while running */
} cycle_counter;

static counter_faults_t faults;
static uint64_t stop_at = UINT64_MAX, zero_at = UINT64_MAX;

void pages_place(page_t page, uint32_t address) {
    pages[page].placed = true;
    pages[page].address = address;
}

static void read_line(const char *line) {
    const char *equals = strchr(line, '=');
    uint64_t address;

    if (equals == NULL || sscanf(equals + 1, "%" SCNx64, &address) != 1) {
        return;
    }
    for (page_t page = 0; page < PAGE_COUNT; page++) {
        const size_t length = strlen(names[page]);

        if ((size_t)(equals - line) == length && strncmp(line, names[page], length) == 0) {
            pages[page].words = (volatile uint32_t *)(uintptr_t)address;
        }
    }
}

const char *pages_locate(const char *file) {
    FILE *stream = fopen(file, "r");
    char line[128];

    if (stream == NULL) {
        return "the file of page addresses cannot be read";
    }
    while (fgets(line, sizeof(line), stream) != NULL) {
        read_line(line);
    }
    fclose(stream);
    for (page_t page = 0; page < PAGE_COUNT; page++) {
        if (pages[page].placed && pages[page].words == NULL) {
            return "the file of page addresses lacks a page";
        }
        if (!pages[page].placed) {
            pages[page].words = NULL;
        }
    }
    return NULL;
}

bool pages_placed(void) {
    return pages[PAGE_DWT].placed || pages[PAGE_PMU].placed || pages[PAGE_OBSERVER].placed;
}

void pages_fail(const counter_faults_t *wanted) {
    faults = *wanted;
    stop_at = faults.stuck ? 0u : UINT64_MAX;
}

void pages_gate_rises(void) {
    const uint64_t now = counters_value(Q_CYCLES);

    if (faults.stops) {
        stop_at = now + faults.stops_after;
    }
    if (faults.zero) {
        zero_at = now + faults.zero_after;
    }
    faults = (counter_faults_t){0};
}

bool pages_events_zero(void) {
    return counters_value(Q_CYCLES) >= zero_at;
}

static uint32_t cycles_passed(void) {
    const uint64_t passed = counters_value(Q_CYCLES);

    return (uint32_t)(passed < stop_at ? passed : stop_at);
}

static uint32_t cycle_value(void) {
    return cycle_counter.running ? cycles_passed() - cycle_counter.base : cycle_counter.held;
}

static void dwt_refresh(volatile uint32_t *words) {
    words[DWT_CTRL / 4u] = DWT_CTRL_NO_PROFILE_COUNTERS | (cycle_counter.running ? DWT_CTRL_ENABLE : 0u);
    words[DWT_CYCCNT / 4u] = cycle_value();
}

static void dwt_stored(volatile uint32_t *words, uint32_t offset) {
    const uint32_t now = cycles_passed();

    if (offset == DWT_CTRL) {
        const bool run = (words[DWT_CTRL / 4u] & DWT_CTRL_ENABLE) != 0u;

        cycle_counter.held = cycle_value();
        cycle_counter.base = now - cycle_counter.held;
        cycle_counter.running = run;
    } else if (offset == DWT_CYCCNT) {
        cycle_counter.held = words[DWT_CYCCNT / 4u];
        cycle_counter.base = now - cycle_counter.held;
    }
    memset((void *)(uintptr_t)(words + 2), 0, PAGE_BYTES - 8u); /* no other register is there */
    dwt_refresh(words);
}

static void observer_refresh(volatile uint32_t *words) {
    static const quantity_t order[] = {Q_INSTRUCTIONS, Q_CYCLES,         Q_LOADS,        Q_STORES, Q_BRANCHES,
                                       Q_MVE,          Q_CACHE_ACCESSES, Q_CACHE_MISSES, Q_ENERGY};
    const unsigned count = sizeof(order) / sizeof(order[0]);

    words[0] = OBSERVER_MAGIC;
    words[1] = OBSERVER_VERSION;
    words[2] = count;
    words[3] = 0;
    for (unsigned i = 0; i < count; i++) {
        const uint64_t value = counters_value(order[i]);

        words[OBSERVER_VALUES / 4u + 2u * i] = (uint32_t)value;
        words[OBSERVER_VALUES / 4u + 2u * i + 1u] = (uint32_t)(value >> 32);
    }
}

void pages_refresh(void) {
    if (pages[PAGE_DWT].words != NULL) {
        dwt_refresh(pages[PAGE_DWT].words);
    }
    if (pages[PAGE_PMU].words != NULL) {
        pmu_refresh(pages[PAGE_PMU].words);
    }
    if (pages[PAGE_OBSERVER].words != NULL) {
        observer_refresh(pages[PAGE_OBSERVER].words);
    }
    if (pages[PAGE_ITM].words != NULL) {
        itm_refresh(pages[PAGE_ITM].words);
    }
}

static page_t page_of(uint32_t address) {
    page_t page = 0;

    while (page < PAGE_COUNT && (pages[page].words == NULL || address - pages[page].address >= PAGE_BYTES)) {
        page++;
    }
    return page;
}

bool pages_contain(uint32_t address) {
    return page_of(address) != PAGE_COUNT;
}

void pages_stored(uint32_t address, uint32_t bytes) {
    const page_t page = page_of(address);
    const uint32_t offset = (address - pages[page].address) & ~3u;

    if (page == PAGE_DWT) {
        dwt_stored(pages[page].words, offset);
    } else if (page == PAGE_PMU) {
        pmu_stored(pages[page].words, offset);
    } else if (page == PAGE_ITM) {
        itm_stored(pages[page].words, offset, bytes);
    } else {
        observer_refresh(pages[page].words); /* read-only */
    }
}
