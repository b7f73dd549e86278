/* Caches into a defined state before a window or pass. */

#include "hal.h"

#if defined(BOARD_CORTEX_M)

#if defined(BOARD_HAS_CACHES)

#include "set_way.h"

#define CCR (*(volatile uint32_t *)0xE000ED14u)
#define CCR_DC (1u << 16)
#define CCR_IC (1u << 17)
#define ICIALLU (*(volatile uint32_t *)0xE000EF50u)
#define DCCISW (*(volatile uint32_t *)0xE000EF74u)

static void cache_maintenance(void) {
    if ((CCR & CCR_DC) != 0u) {
        set_way_each(&DCCISW);
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
