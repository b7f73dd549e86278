/* STM32F405: Cortex-M4F with 1 MiB of flash at 0x08000000 and 128 KiB of SRAM. Registers after ST's RM0090.
 */
#ifndef HARNESS_BOARD_H
#define HARNESS_BOARD_H

#include <stdint.h>

#include "board_map.h"

#define BOARD_CORTEX_M 1
/* The gate is PA0. One register sets with its lower half and clears with its upper half; startup.c has
 * switched the port on. MODER keeps the debug port's pins and USART1's as they are. */
#define BOARD_GATE_MASK (1u << 0)
#define BOARD_GATE_CLEAR_MASK (1u << 16)
#define BOARD_GATE_SETUP                                                                                     \
    { 0x40020000u, 0xA8280001u }
#define BOARD_GATE_SET_ADDRESS 0x40020018u
#define BOARD_GATE_CLEAR_ADDRESS 0x40020018u

/* Rate of the bus that BOARD_USART_BASE hangs on. */
uint32_t board_usart_clock_hz(void);

#endif
