/* Waiting for a bit of hardware that may be absent. */
#ifndef HARNESS_WAIT_H
#define HARNESS_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/* Far longer than any oscillator or power switch takes, and still over in a moment where nothing answers. */
#define WAIT_POLLS 200000u

/* Whether the masked bits of a register took a value before time was up. */
static inline bool wait_until(const volatile uint32_t *address, uint32_t mask, uint32_t value) {
    for (uint32_t poll = 0; poll < WAIT_POLLS; poll++) {
        if ((*address & mask) == value) {
            return true;
        }
    }
    return false;
}

#endif
