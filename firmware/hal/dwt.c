/* Cycle counter: CYCCNT of the Data Watchpoint and Trace unit. */

#include "hal.h"

#if defined(BOARD_CORTEX_M) && defined(BOARD_DWT_BASE)

#define DEMCR (*(volatile uint32_t *)0xE000EDFCu)
#define DEMCR_TRCENA (1u << 24)
#define DWT_CTRL (*(volatile uint32_t *)(BOARD_DWT_BASE + 0x000u))
#define DWT_CYCCNT (*(volatile uint32_t *)(BOARD_DWT_BASE + 0x004u))
#define DWT_CTRL_CYCCNTENA (1u << 0)
#define DWT_CTRL_NOPRFCNT (1u << 24)
#define DWT_CTRL_SMALL (0x1Fu << 17)
#define DWT_SMALL ((volatile const uint32_t *)(BOARD_DWT_BASE + 0x008u))

HAL_COUNTER_ACCESS void hal_cycles_enable(bool on) {
    if (on) {
        DWT_CTRL |= DWT_CTRL_CYCCNTENA;
    } else {
        DWT_CTRL &= ~DWT_CTRL_CYCCNTENA;
    }
}

/* Where there is no DWT the enable bit reads back as zero; nothing faults. */
HAL_COUNTER_ACCESS static bool cycles_enabled(void) {
    return (DWT_CTRL & DWT_CTRL_CYCCNTENA) != 0u;
}

HAL_COUNTER_ACCESS uint32_t hal_cycles(void) {
    return DWT_CYCCNT;
}

hal_cycle_state_t hal_cycles_init(void) {
    if (hal_observer_only_icount()) {
        return HAL_CYCLES_ABSENT;
    }
    DEMCR |= DEMCR_TRCENA;
    __asm volatile("dsb" ::: "memory");
    hal_cycles_enable(true);
    return cycles_enabled() ? HAL_CYCLES_PRESENT : HAL_CYCLES_ABSENT;
}

HAL_COUNTER_ACCESS bool hal_small_enable(bool on) {
    if ((DWT_CTRL & DWT_CTRL_NOPRFCNT) != 0u) {
        return false;
    }
    if (on) {
        DWT_CTRL |= DWT_CTRL_SMALL;
    } else {
        DWT_CTRL &= ~DWT_CTRL_SMALL;
    }
    return !on || (DWT_CTRL & DWT_CTRL_SMALL) == DWT_CTRL_SMALL;
}

HAL_COUNTER_ACCESS void hal_small_read(uint8_t *values) {
    for (uint32_t i = 0; i < HAL_SMALL_COUNTERS; i++) {
        values[i] = (uint8_t)DWT_SMALL[i];
    }
}

const char *hal_cycles_name(void) {
    return "DWT_CYCCNT";
}

#else
typedef int hal_dwt_unused_t;
#endif
