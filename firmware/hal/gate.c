/* The gate: high exactly during a measured window, for a power monitor to see. */

#include "hal.h"

#if defined(BOARD_CORTEX_M)

#if defined(BOARD_GATE_SET_ADDRESS)

/* A GPIO whose set and clear registers the port's board.h names; the port makes the pin an output at startup.
 */
static inline void drive(bool high) {
    if (high) {
        *(volatile uint32_t *)BOARD_GATE_SET_ADDRESS = BOARD_GATE_MASK;
    } else {
        *(volatile uint32_t *)BOARD_GATE_CLEAR_ADDRESS = BOARD_GATE_MASK;
    }
    __asm volatile("dsb" ::: "memory");
}

#else

static inline void drive(bool high) {
    (void)high;
}

#endif

void hal_gate(bool high) {
    /* Unallocated hints: no operation on silicon, edges in the emulator's gate log. */
    if (high) {
        drive(true);
        __asm volatile(".inst.n 0xbf60" ::: "memory");
    } else {
        __asm volatile(".inst.n 0xbf70" ::: "memory");
        drive(false);
    }
}

#else
typedef int hal_gate_unused_t;
#endif
