/* IT blocks. */

#include "itblocks.h"

#define ENTRIES 65536u
#define CONDITION_ALWAYS 0xEu

/* Addresses inside IT blocks, by their low bits; an entry is checked against the IT that it names. */
static struct {
    uint32_t address;
    uint8_t remaining;
    uint8_t distance; /* bytes back to the IT; 0: no entry */
} entries[ENTRIES];

static bool is_it(uint16_t halfword) {
    return (halfword & 0xFF00u) == 0xBF00u && (halfword & 0xFu) != 0u;
}

static unsigned length(uint16_t it) {
    return 4u - (unsigned)__builtin_ctz(it & 0xFu);
}

static bool always(uint16_t it) {
    return (it >> 4 & 0xFu) == CONDITION_ALWAYS;
}

static void remember(const it_walk_t *walk, uint32_t address) {
    const uint32_t index = address / 2u % ENTRIES;

    entries[index].address = address;
    entries[index].remaining = (uint8_t)walk->remaining;
    entries[index].distance = (uint8_t)(address - walk->it_address);
}

void it_begin(it_walk_t *walk, uint32_t address, const uint8_t *memory) {
    const uint32_t index = address / 2u % ENTRIES;
    const unsigned distance = entries[index].distance;
    uint16_t it;

    *walk = (it_walk_t){0};
    if (distance == 0u || entries[index].address != address || memory == 0) {
        return;
    }
    it = (uint16_t)(memory[-(int)distance] | memory[1 - (int)distance] << 8);
    if (is_it(it)) {
        walk->remaining = entries[index].remaining;
        walk->always = always(it);
        walk->it_address = address - distance;
    }
}

bool it_next(it_walk_t *walk, uint32_t address, uint16_t first_halfword) {
    if (walk->remaining > 0u) {
        remember(walk, address);
        walk->remaining--;
        return !walk->always;
    }
    if (is_it(first_halfword)) {
        walk->remaining = length(first_halfword);
        walk->always = always(first_halfword);
        walk->it_address = address;
    }
    return false;
}

void it_end(it_walk_t *walk, uint32_t behind) {
    if (walk->remaining > 0u) {
        remember(walk, behind);
    }
}
