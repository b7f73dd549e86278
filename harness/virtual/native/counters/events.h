/* Events of the Armv8.1-M PMU by their architectural numbers, and what models them. */
#ifndef COUNTERS_EVENTS_H
#define COUNTERS_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "counters.h"

#define EVENT_CPU_CYCLES 0x0011u

typedef enum event_source { EVENT_QUANTITY, EVENT_SOFTWARE, EVENT_CHAIN } event_source_t;

typedef enum event_need { NEEDS_NOTHING, NEEDS_CACHE, NEEDS_TCM } event_need_t;

typedef struct event {
    uint16_t number;
    event_source_t source;
    quantity_t quantity;
    event_need_t need;
} event_t;

void events_prepare(bool cache_modelled, bool tcm_modelled);
/* The model of an event; NULL when there is none. */
const event_t *event_find(uint16_t number);

#endif
