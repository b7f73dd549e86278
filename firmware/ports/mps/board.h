/*
 * Arm's MPS2 and MPS3 boards with one of Arm's FPGA images. They differ only in core and memory map, which
 * the descriptors state. The emulator has neither DWT nor PMU; it keeps the same registers in pages of RAM.
 */
#ifndef HARNESS_BOARD_H
#define HARNESS_BOARD_H

#include "board_map.h"

#define BOARD_CORTEX_M 1

#endif
