/*
 * Instructions where an emulator keeps no counters: with a fixed instruction count its time is a count of
 * instructions, and SysTick shows that time.
 */

#include "hal.h"

#if defined(BOARD_CORTEX_M) && defined(BOARD_ICOUNT_INSNS)

#define SYST_CSR (*(volatile uint32_t *)0xE000E010u)
#define SYST_RVR (*(volatile uint32_t *)0xE000E014u)
#define SYST_CVR (*(volatile uint32_t *)0xE000E018u)
#define ICSR (*(volatile uint32_t *)0xE000ED04u)
#define SYST_ENABLE 7u /* counting, with its exception, from the core's clock */
#define ICSR_PENDSTSET (1u << 26)
#define SPAN 0x01000000u

static volatile uint32_t wraps;

void hal_systick_handler(void) {
    wraps++;
}

void hal_icount_start(void) {
    SYST_RVR = SPAN - 1u;
    SYST_CVR = 0u;
    SYST_CSR = SYST_ENABLE;
}

uint64_t hal_icount(void) {
    uint32_t before, left, pending;

    do {
        before = wraps;
        left = SYST_CVR;
        pending = ICSR & ICSR_PENDSTSET;
    } while (before != wraps);
    /* It has wrapped, and the exception is yet to come. */
    if (pending != 0u && left > SPAN / 2u) {
        before++;
    }
    return ((uint64_t)before * SPAN + (SPAN - 1u - left)) * BOARD_ICOUNT_INSNS / BOARD_ICOUNT_TICKS;
}

#else
typedef int hal_icount_unused_t;
#endif
