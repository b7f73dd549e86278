/* Where data accesses go, and a set-associative write-back data cache with least-recently-used replacement.
 */
#ifndef COUNTERS_CACHE_H
#define COUNTERS_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct address_range {
    uint32_t first;
    uint32_t last; /* inclusive */
} address_range_t;

typedef enum region { REGION_BUS, REGION_CACHED, REGION_TCM } region_t;

/* Sizes in bytes, powers of two. False when they make no cache. */
bool cache_prepare(uint32_t size, uint32_t line, uint32_t ways);
/* Declares where addresses go; the default is the bus, and what is declared last holds. */
void cache_map(address_range_t range, region_t region);
/* Empties the cache; nothing is written back. */
void cache_empty(void);

/* One access; counts it in the slots and returns 1 when it missed. */
unsigned cache_read(uint32_t address);
unsigned cache_write(uint32_t address);
/* The number of the line an address lies in. */
uint32_t cache_line(uint32_t address);

#endif
