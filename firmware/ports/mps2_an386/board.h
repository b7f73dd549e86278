/* Arm MPS2+ with the AN386 image: Cortex-M4F. The emulator has no DWT; it keeps the same registers in a page
 * of RAM. */
#ifndef HARNESS_BOARD_H
#define HARNESS_BOARD_H

#define BOARD_CORTEX_M 1
#define BOARD_DWT_BASE 0x203FC000u
#define BOARD_OBSERVER_BASE 0x203FE000u
#ifndef BOARD_SAMPLE_WORDS
#define BOARD_SAMPLE_WORDS 65536u
#endif
#define BOARD_RTT_UP_BYTES 16384u
#define BOARD_RTT_DOWN_BYTES 4096u

#endif
