/*
 * Pages of guest RAM that look like counter registers. They are brought up to date before each load, and read
 * for what was written after each store, of the code that is there to access them.
 */
#ifndef COUNTERS_PAGES_H
#define COUNTERS_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#define PAGE_BYTES 4096u

typedef enum page { PAGE_DWT, PAGE_PMU, PAGE_OBSERVER, PAGE_ITM, PAGE_COUNT } page_t;

/* Places a page at a guest address; without this there is no such page. */
void pages_place(page_t page, uint32_t address);
/*
 * Reads where the pages lie in the emulator's memory: lines `<name>=0x<address>` for each page placed.
 * Returns NULL or what is wrong.
 */
const char *pages_locate(const char *file);
bool pages_placed(void);
/* Writes the present values into all pages. */
void pages_refresh(void);
/* Whether the address lies in a page. */
bool pages_contain(uint32_t address);
/* Acts upon what was stored at an address inside a page. */
void pages_stored(uint32_t address, uint32_t bytes);

/*
 * Faults on purpose, by cycles that pass after the gate first rose: the cycle counter stops, event counters
 * read zero. A cycle counter that is stuck never moves at all.
 */
typedef struct counter_faults {
    bool stuck, stops, zero;
    uint32_t stops_after, zero_after;
} counter_faults_t;

void pages_fail(const counter_faults_t *faults);
void pages_gate_rises(void);
bool pages_events_zero(void);

/* The performance monitoring unit, see pmu.c. `words` is its page. */
void pmu_prepare(unsigned counters, bool cache_modelled, bool tcm_modelled);
void pmu_refresh(volatile uint32_t *words);
void pmu_stored(volatile uint32_t *words, uint32_t offset);

#endif
