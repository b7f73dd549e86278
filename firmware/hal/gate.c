/*
 * The wires to a power monitor: gate and state leave the board, go comes to it.
 *
 * A port names registers in its board.h, and nothing else:
 *   BOARD_GATE_SETUP          {address, value}, ...: writes that make the pins an output (gate, state) or an
 *                             input (go), in order; done once, before the first level is set
 *   BOARD_GATE_SET_ADDRESS    register in which BOARD_GATE_MASK drives the gate high
 *   BOARD_GATE_CLEAR_ADDRESS  register in which BOARD_GATE_MASK, or BOARD_GATE_CLEAR_MASK where the port
 *                             names that too, drives the gate low
 *   BOARD_STATE_SET_ADDRESS, BOARD_STATE_CLEAR_ADDRESS, BOARD_STATE_MASK   the same for the state line
 *   BOARD_GO_ADDRESS, BOARD_GO_MASK   register and bits that read as ones while the go line is high
 * What is not named is not wired.
 */

#include "hal.h"

#if defined(BOARD_CORTEX_M)

#if defined(BOARD_GATE_MASK) && !defined(BOARD_GATE_CLEAR_MASK)
#define BOARD_GATE_CLEAR_MASK BOARD_GATE_MASK
#endif

#define REGISTER(address) (*(volatile uint32_t *)(address))

void hal_wires_init(void) {
#if defined(BOARD_GATE_SETUP)
    static const uint32_t setup[][2] = {BOARD_GATE_SETUP};

    for (uint32_t i = 0; i < sizeof(setup) / sizeof(setup[0]); i++) {
        REGISTER(setup[i][0]) = setup[i][1];
    }
    __asm volatile("dsb" ::: "memory");
#endif
    hal_gate(false);
    hal_state(false);
}

static inline void drive_gate(bool high) {
#if defined(BOARD_GATE_SET_ADDRESS)
    if (high) {
        REGISTER(BOARD_GATE_SET_ADDRESS) = BOARD_GATE_MASK;
    } else {
        REGISTER(BOARD_GATE_CLEAR_ADDRESS) = BOARD_GATE_CLEAR_MASK;
    }
    __asm volatile("dsb" ::: "memory");
#else
    (void)high;
#endif
}

static inline void drive_state(bool high) {
#if defined(BOARD_STATE_SET_ADDRESS)
    if (high) {
        REGISTER(BOARD_STATE_SET_ADDRESS) = BOARD_STATE_MASK;
    } else {
        REGISTER(BOARD_STATE_CLEAR_ADDRESS) = BOARD_STATE_MASK;
    }
    __asm volatile("dsb" ::: "memory");
#else
    (void)high;
#endif
}

/* Unallocated hints: no operation on silicon, edges in the emulator's gate log. */
void hal_gate(bool high) {
    if (high) {
        drive_gate(true);
        __asm volatile(".inst.n 0xbf60" ::: "memory");
    } else {
        __asm volatile(".inst.n 0xbf70" ::: "memory");
        drive_gate(false);
    }
}

void hal_state(bool high) {
    if (high) {
        drive_state(true);
        __asm volatile(".inst.n 0xbf80" ::: "memory");
    } else {
        __asm volatile(".inst.n 0xbf90" ::: "memory");
        drive_state(false);
    }
}

uint32_t hal_wires(void) {
    uint32_t wired = 0u;

#if defined(BOARD_GATE_SET_ADDRESS) || defined(BOARD_OBSERVER_BASE)
    wired |= HAL_WIRE_GATE;
#endif
#if defined(BOARD_STATE_SET_ADDRESS) || defined(BOARD_OBSERVER_BASE)
    wired |= HAL_WIRE_STATE;
#endif
#if defined(BOARD_GO_ADDRESS)
    wired |= HAL_WIRE_GO;
#endif
    return wired;
}

bool hal_go(void) {
#if defined(BOARD_GO_ADDRESS)
    return (REGISTER(BOARD_GO_ADDRESS) & BOARD_GO_MASK) == BOARD_GO_MASK;
#else
    return false;
#endif
}

#else
typedef int hal_gate_unused_t;
#endif
