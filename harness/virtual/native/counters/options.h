/*
 * Options of the plugin, each `key=value`:
 *
 *   dwt, pmu, observer, itm=ADDRESS   pages in guest RAM          pages=FILE     their addresses in the
 * emulator access=FIRST-LAST            code that accesses them     pmu_counters=N cache=SIZE:LINE:WAYS
 * bytes, bytes, ways          cacheable=FIRST-LAST (repeatable) tcm=FIRST-LAST               (repeatable)
 * bus=BYTES      moved by one bus access cost.KIND, cost.branch_taken, cost.condition_failed, cost.word,
 * cost.miss=CYCLES      cost.default=CYCLES fj.KIND, ..., fj.cycle=FEMTOJOULES fj.default=FEMTOJOULES
 * summary=FILE                 all slots and quantities, written when the emulator ends events=FILE gate
 * edges and energy, see gatelog.h swo=FILE                     trace packets of the ITM, see itm.h
 *
 *   stuck=1, stops_after, zero_after=CYCLES   faults on purpose, see pages.h
 *
 * A default must come before what it is the default of.
 */
#ifndef COUNTERS_OPTIONS_H
#define COUNTERS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cache.h"
#include "counters.h"
#include "pages.h"

typedef struct options {
    const char *pages_file;
    const char *summary_file;
    const char *events_file;
    const char *swo_file;
    address_range_t access;
    unsigned pmu_counters;
    uint32_t cache_size, cache_line, cache_ways;
    uint32_t bus_bytes;
    bool tcm;
    costs_t cycles, energy;
    counter_faults_t faults;
} options_t;

/* Reads the options; ranges and pages are declared to the cache and the pages at once. NULL or the wrong
 * option. */
const char *options_read(options_t *options, int argc, char **argv);

#endif
