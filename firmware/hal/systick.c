/* A second clock beside the cycle counter: SysTick, which counts the core's clock down in 24 bits. */

#include "hal.h"

#if defined(BOARD_CORTEX_M)

#define SYST_CSR (*(volatile uint32_t *)0xE000E010u)
#define SYST_RVR (*(volatile uint32_t *)0xE000E014u)
#define SYST_CVR (*(volatile uint32_t *)0xE000E018u)
#define SYST_COUNT_CORE_CLOCK 5u
#define SYST_MASK 0x00FFFFFFu

void hal_second_clock_start(void) {
    SYST_RVR = SYST_MASK;
    SYST_CVR = 0u;
    SYST_CSR = SYST_COUNT_CORE_CLOCK;
}

uint32_t hal_second_clock_stop(void) {
    const uint32_t left = SYST_CVR;

    SYST_CSR = 0u;
    return SYST_MASK - (left & SYST_MASK);
}

#else
typedef int hal_systick_unused_t;
#endif
