/* Ambiq Apollo510: Cortex-M55 with L1 caches, MRAM, tightly coupled and shared RAM. Registers after Ambiq's
 * register documentation. */
#ifndef HARNESS_BOARD_H
#define HARNESS_BOARD_H

#include "board_map.h"

#define BOARD_CORTEX_M 1
#define BOARD_HAS_CACHES 1

/* The gate is the pin whose number the descriptor states: a GPIO that pushes and pulls, enabled as an output.
 * The configuration of pads is locked but for writes behind the key. */
#define GPIO_BASE 0x40010000u
#define GPIO_WORD(first) (GPIO_BASE + (first) + 4u * (BOARD_GATE_PIN / 32u))
#define BOARD_GATE_MASK (1u << BOARD_GATE_PIN % 32u)
#define BOARD_GATE_SETUP                                                                                     \
    {GPIO_BASE + 0x400u, 0x73u}, {GPIO_BASE + 4u * BOARD_GATE_PIN, 0x103u}, {GPIO_BASE + 0x400u, 0u}, {      \
        GPIO_WORD(0x490u), BOARD_GATE_MASK                                                                   \
    }
#define BOARD_GATE_SET_ADDRESS GPIO_WORD(0x43Cu)
#define BOARD_GATE_CLEAR_ADDRESS GPIO_WORD(0x458u)

#endif
