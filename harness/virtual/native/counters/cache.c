/* The cache model. */

#include "cache.h"

#include <stdlib.h>
#include <string.h>

#include "counters.h"

#define GRANULE_SHIFT 20
#define GRANULES (1u << (32 - GRANULE_SHIFT))
#define MIXED 0xFFu
#define RANGES_MAX 16u
#define DIRTY (1u << 31)
#define LINE_NONE (DIRTY - 1u)

static uint8_t granules[GRANULES]; /* region of each MiB, or MIXED */
static struct {
    address_range_t range;
    region_t region;
} ranges[RANGES_MAX];
static unsigned range_count;

static uint32_t *tags; /* sets * ways line numbers, the most recently used first; DIRTY in the top bit */
static uint32_t sets, ways, line_shift = 5;
static uint32_t *last_tag; /* where the line of the last access is, which is first of its set */

static bool power_of_two(uint32_t value) {
    return value != 0u && (value & (value - 1u)) == 0u;
}

bool cache_prepare(uint32_t size, uint32_t line, uint32_t way_count) {
    if (!power_of_two(line) || line < 4u || way_count == 0u || size % (line * way_count) != 0u ||
        !power_of_two(size / (line * way_count))) {
        return false;
    }
    line_shift = (uint32_t)__builtin_ctz(line);
    ways = way_count;
    sets = size / (line * way_count);
    tags = malloc((size_t)sets * ways * sizeof(*tags));
    if (tags == NULL) {
        return false;
    }
    cache_empty();
    return true;
}

void cache_map(address_range_t range, region_t region) {
    if (range_count == RANGES_MAX) {
        return;
    }
    ranges[range_count].range = range;
    ranges[range_count++].region = region;
    for (uint32_t granule = range.first >> GRANULE_SHIFT; granule <= range.last >> GRANULE_SHIFT; granule++) {
        const uint32_t first = granule << GRANULE_SHIFT, last = first | ((1u << GRANULE_SHIFT) - 1u);

        granules[granule] = range.first <= first && last <= range.last ? (uint8_t)region : MIXED;
    }
}

static region_t region_of(uint32_t address) {
    const unsigned region = granules[address >> GRANULE_SHIFT];

    if (region != MIXED) {
        return (region_t)region;
    }
    for (unsigned i = range_count; i > 0; i--) {
        if (address >= ranges[i - 1].range.first && address <= ranges[i - 1].range.last) {
            return ranges[i - 1].region;
        }
    }
    return REGION_BUS;
}

void cache_empty(void) {
    static uint32_t none = LINE_NONE;

    for (uint32_t i = 0; i < sets * ways; i++) {
        tags[i] = LINE_NONE;
    }
    last_tag = &none;
}

uint32_t cache_line(uint32_t address) {
    return address >> line_shift;
}

/* Brings a line to the front of its set; returns 1 when it had to be fetched. */
static unsigned touch(uint32_t line) {
    uint32_t *set = tags + (size_t)(line & (sets - 1u)) * ways;
    uint32_t found;
    unsigned way = 0, miss = 0;

    last_tag = set;
    while (way < ways && (set[way] & ~DIRTY) != line) {
        way++;
    }
    if (way == ways) {
        miss = 1;
        way = ways - 1u;
        counters_slots[SLOT_WRITE_BACKS] += set[way] >> 31;
        found = line;
    } else {
        found = set[way];
    }
    for (; way > 0u; way--) {
        set[way] = set[way - 1u];
    }
    set[0] = found;
    return miss;
}

static bool cached(uint32_t address) {
    const region_t region = region_of(address);

    if (region == REGION_CACHED && tags != NULL) {
        return true;
    }
    counters_slots[region == REGION_TCM ? SLOT_TCM : SLOT_BUS]++;
    return false;
}

unsigned cache_read(uint32_t address) {
    const uint32_t line = address >> line_shift;
    unsigned miss;

    if (!cached(address)) {
        return 0;
    }
    counters_slots[SLOT_CACHED_READS]++;
    if ((*last_tag & ~DIRTY) == line) {
        return 0;
    }
    miss = touch(line);
    counters_slots[SLOT_READ_MISSES] += miss;
    return miss;
}

unsigned cache_write(uint32_t address) {
    const uint32_t line = address >> line_shift;
    unsigned miss = 0;

    if (!cached(address)) {
        return 0;
    }
    counters_slots[SLOT_CACHED_WRITES]++;
    if ((*last_tag & ~DIRTY) != line) {
        miss = touch(line);
        counters_slots[SLOT_WRITE_MISSES] += miss;
    }
    *last_tag |= DIRTY;
    return miss;
}
