/* The L1 caches of a Cortex-M7 or M55: off after reset. */
#ifndef HARNESS_CACHES_H
#define HARNESS_CACHES_H

#include <stdint.h>

#define CACHES_CCR (*(volatile uint32_t *)0xE000ED14u)
#define CACHES_CCR_DC (1u << 16)
#define CACHES_CCR_IC (1u << 17)
#define CACHES_CCSIDR (*(volatile uint32_t *)0xE000ED80u)
#define CACHES_CSSELR (*(volatile uint32_t *)0xE000ED84u)
#define CACHES_ICIALLU (*(volatile uint32_t *)0xE000EF50u)
#define CACHES_DCISW (*(volatile uint32_t *)0xE000EF60u)

static inline void caches_barrier(void) {
    __asm volatile("dsb\n\tisb" ::: "memory");
}

/* What a cache holds after reset is undefined, so it is invalidated before it is switched on. One that a boot
 * loader left on stays on: its lines may be the only copy of what was written. */
static inline void caches_enable(void) {
    if ((CACHES_CCR & CACHES_CCR_IC) == 0u) {
        CACHES_ICIALLU = 0u;
        caches_barrier();
        CACHES_CCR |= CACHES_CCR_IC;
        caches_barrier();
    }
    if ((CACHES_CCR & CACHES_CCR_DC) == 0u) {
        CACHES_CSSELR = 0u;
        caches_barrier();
        const uint32_t size = CACHES_CCSIDR;
        const uint32_t line_shift = (size & 7u) + 4u;
        const uint32_t ways = (size >> 3 & 0x3FFu) + 1u;
        const uint32_t sets = (size >> 13 & 0x7FFFu) + 1u;
        const uint32_t way_shift = ways > 1u ? (uint32_t)__builtin_clz(ways - 1u) : 0u;

        for (uint32_t set = 0; set < sets; set++) {
            for (uint32_t way = 0; way < ways; way++) {
                CACHES_DCISW = set << line_shift | way << way_shift;
            }
        }
        caches_barrier();
        CACHES_CCR |= CACHES_CCR_DC;
        caches_barrier();
    }
}

#endif
