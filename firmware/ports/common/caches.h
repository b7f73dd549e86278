/* The L1 caches of a Cortex-M7 or M55: off after reset. */
#ifndef HARNESS_CACHES_H
#define HARNESS_CACHES_H

#include <stdint.h>

#include "set_way.h"

#define CACHES_CCR (*(volatile uint32_t *)0xE000ED14u)
#define CACHES_CCR_DC (1u << 16)
#define CACHES_CCR_IC (1u << 17)
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
        set_way_each(&CACHES_DCISW);
        CACHES_CCR |= CACHES_CCR_DC;
        caches_barrier();
    }
}

#endif
