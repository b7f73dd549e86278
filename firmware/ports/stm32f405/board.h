/* STM32F405: Cortex-M4F with 1 MiB of flash at 0x08000000 and 128 KiB of SRAM. Registers after ST's RM0090.
 */
#ifndef HARNESS_BOARD_H
#define HARNESS_BOARD_H

#include <stdint.h>

#include "board_map.h"

#define BOARD_CORTEX_M 1
/* Rate of the bus that BOARD_USART_BASE hangs on. */
uint32_t board_usart_clock_hz(void);

#endif
