/*
 * Stimulus port 0 of the Instrumentation Trace Macrocell, which leaves through the SWO pin. It carries bytes
 * to the host only: commands come through RTT. The probe sets up the pin and its speed.
 */

#include "hal.h"

#include <string.h>

#if defined(BOARD_CORTEX_M) && defined(BOARD_ITM_BASE)

#define ITM_REGISTER(offset) (*(volatile uint32_t *)(BOARD_ITM_BASE + (offset)))
#define ITM_STIMULUS ITM_REGISTER(0x000u)
#define ITM_STIMULUS_BYTE (*(volatile uint8_t *)BOARD_ITM_BASE)
#define ITM_TER ITM_REGISTER(0xE00u)
#define ITM_TCR ITM_REGISTER(0xE80u)
#define ITM_LAR ITM_REGISTER(0xFB0u)
#define ITM_UNLOCK 0xC5ACCE55u
#define TCR_ENABLE (1u << 0)
#define TCR_SYNC (1u << 2)
#define TCR_TRACE_ID (1u << 16)
#define TCR_BUSY (1u << 23)
#define DEMCR (*(volatile uint32_t *)0xE000EDFCu)
#define DEMCR_TRCENA (1u << 24)

HAL_COUNTER_ACCESS static void itm_enable(void) {
    ITM_LAR = ITM_UNLOCK;
    ITM_TER |= 1u;
    ITM_TCR = TCR_TRACE_ID | TCR_SYNC | TCR_ENABLE;
}

HAL_COUNTER_ACCESS static void itm_word(uint32_t word) {
    while (ITM_STIMULUS == 0u) {
    }
    ITM_STIMULUS = word;
}

HAL_COUNTER_ACCESS static void itm_byte(uint8_t byte) {
    while (ITM_STIMULUS == 0u) {
    }
    ITM_STIMULUS_BYTE = byte;
}

HAL_COUNTER_ACCESS static void itm_drain(void) {
    while ((ITM_TCR & TCR_BUSY) != 0u) {
    }
}

static void itm_init(void) {
    hal_rtt.init();
    DEMCR |= DEMCR_TRCENA;
    __asm volatile("dsb" ::: "memory");
    itm_enable();
}

static void itm_write(const void *data, uint32_t bytes) {
    const uint8_t *source = data;

    for (; bytes >= 4u; bytes -= 4u, source += 4u) {
        uint32_t word;

        memcpy(&word, source, sizeof(word));
        itm_word(word);
    }
    for (; bytes != 0u; bytes--) {
        itm_byte(*source++);
    }
}

static uint32_t itm_read(void *data, uint32_t max_bytes) {
    return hal_rtt.read(data, max_bytes);
}

const hal_transport_t hal_itm = {itm_init, itm_write, itm_read, itm_drain};

#else
typedef int hal_itm_unused_t;
#endif
