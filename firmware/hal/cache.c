/* Caches into a defined state before a window or pass. */

#include "hal.h"

#if defined(BOARD_CORTEX_M)

#if defined(BOARD_HAS_CACHES)

#define CCR (*(volatile uint32_t *)0xE000ED14u)
#define CCR_DC (1u << 16)
#define CCR_IC (1u << 17)
#define CLIDR (*(volatile uint32_t *)0xE000ED78u)
#define CCSIDR (*(volatile uint32_t *)0xE000ED80u)
#define CSSELR (*(volatile uint32_t *)0xE000ED84u)
#define ICIALLU (*(volatile uint32_t *)0xE000EF50u)
#define DCCISW (*(volatile uint32_t *)0xE000EF74u)

static void data_cache_clean_invalidate(void) {
    CSSELR = 0u;
    __asm volatile("dsb" ::: "memory");
    const uint32_t size = CCSIDR;
    const uint32_t line_shift = (size & 7u) + 4u;
    const uint32_t ways = (size >> 3 & 0x3FFu) + 1u;
    const uint32_t sets = (size >> 13 & 0x7FFFu) + 1u;
    /* The way number stands in the uppermost bits of the operand. */
    const uint32_t way_shift = ways > 1u ? (uint32_t)__builtin_clz(ways - 1u) : 0u;

    for (uint32_t set = 0; set < sets; set++) {
        for (uint32_t way = 0; way < ways; way++) {
            DCCISW = set << line_shift | way << way_shift;
        }
    }
    __asm volatile("dsb\n\tisb" ::: "memory");
}

static void cache_maintenance(void) {
    if ((CCR & CCR_DC) != 0u) {
        data_cache_clean_invalidate();
    }
    if ((CCR & CCR_IC) != 0u) {
        ICIALLU = 0u;
        __asm volatile("dsb\n\tisb" ::: "memory");
    }
}

#else

static void cache_maintenance(void) {}

#endif

void hal_cache_defined_state(void) {
    cache_maintenance();
    /* An unallocated hint: no operation on silicon, "empty the modelled caches" in the emulator. */
    __asm volatile(".inst.n 0xbf50" ::: "memory");
}

#else
typedef int hal_cache_unused_t;
#endif
