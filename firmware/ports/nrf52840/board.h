/* Nordic nRF52840: Cortex-M4F with 1 MiB of flash and 256 KiB of RAM. Registers after Nordic's product
 * specification. */
#ifndef HARNESS_BOARD_H
#define HARNESS_BOARD_H

#include "board_map.h"

#define BOARD_CORTEX_M 1

/* The gate is P1.01, D0 of the development kit's header. */
#define GPIO_P1 0x50000300u
#define BOARD_GATE_MASK (1u << 1)
#define BOARD_GATE_SETUP                                                                                     \
    { GPIO_P1 + 0x518u, BOARD_GATE_MASK } /* DIRSET */
#define BOARD_GATE_SET_ADDRESS (GPIO_P1 + 0x508u)
#define BOARD_GATE_CLEAR_ADDRESS (GPIO_P1 + 0x50Cu)

#endif
