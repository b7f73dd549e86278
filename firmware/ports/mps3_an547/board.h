/*
 * Arm MPS3 with the AN547 image: Cortex-M55. The emulator has neither DWT nor PMU; it keeps the same
 * registers in pages of RAM.
 */
#ifndef HARNESS_BOARD_H
#define HARNESS_BOARD_H

#define BOARD_CORTEX_M 1
#define BOARD_DWT_BASE 0x3007C000u
#define BOARD_PMU_BASE 0x3007D000u
#define BOARD_OBSERVER_BASE 0x3007E000u
#ifndef BOARD_SAMPLE_WORDS
#define BOARD_SAMPLE_WORDS 16384u
#endif
#define BOARD_RTT_UP_BYTES 16384u
#define BOARD_RTT_DOWN_BYTES 4096u

#endif
