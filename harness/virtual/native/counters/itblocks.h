/* Which instructions are conditional because they stand in an IT block. */
#ifndef COUNTERS_ITBLOCKS_H
#define COUNTERS_ITBLOCKS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A walk over the instructions of a translated block, in order. Where a block starts inside an IT block, what
 * was found when the IT itself was translated is remembered.
 */
typedef struct it_walk {
    unsigned remaining; /* instructions of the IT block still to come */
    bool always;        /* its condition is "always" */
    uint32_t it_address;
} it_walk_t;

/* `memory` is where the instruction at `address` lies in the emulator, or NULL. */
void it_begin(it_walk_t *walk, uint32_t address, const uint8_t *memory);
/* Takes the next instruction; returns whether it is conditional. */
bool it_next(it_walk_t *walk, uint32_t address, uint16_t first_halfword);
/* `behind` is the address behind the last instruction. */
void it_end(it_walk_t *walk, uint32_t behind);

#endif
