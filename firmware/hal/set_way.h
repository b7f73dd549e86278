/* Maintenance of a whole L1 data cache, line by line, as Armv7-M and Armv8-M number them. */
#ifndef HARNESS_SET_WAY_H
#define HARNESS_SET_WAY_H

#include <stdint.h>

#define SET_WAY_CCSIDR (*(volatile uint32_t *)0xE000ED80u)
#define SET_WAY_CSSELR (*(volatile uint32_t *)0xE000ED84u)

/* Writes every line's set and way to a maintenance register of the System Control Block. */
static inline void set_way_each(volatile uint32_t *operation) {
    SET_WAY_CSSELR = 0u;
    __asm volatile("dsb\n\tisb" ::: "memory");
    const uint32_t size = SET_WAY_CCSIDR;
    const uint32_t line_shift = (size & 7u) + 4u;
    const uint32_t ways = (size >> 3 & 0x3FFu) + 1u;
    const uint32_t sets = (size >> 13 & 0x7FFFu) + 1u;
    /* The way's number stands in the uppermost bits of the operand. */
    const uint32_t way_shift = ways > 1u ? (uint32_t)__builtin_clz(ways - 1u) : 0u;

    for (uint32_t set = 0; set < sets; set++) {
        for (uint32_t way = 0; way < ways; way++) {
            *operation = set << line_shift | way << way_shift;
        }
    }
    __asm volatile("dsb\n\tisb" ::: "memory");
}

#endif
