/* The USART of STM32F4 chips, polled; the port gives it its clock and pins. */

#include "hal.h"

#if defined(BOARD_CORTEX_M) && defined(BOARD_USART_BASE)

#define UART_BAUD 115200u

#define SR_RXNE (1u << 5)
#define SR_TC (1u << 6)
#define SR_TXE (1u << 7)
#define CR1_RE (1u << 2)
#define CR1_TE (1u << 3)
#define CR1_UE (1u << 13)

typedef struct stm32_usart {
    volatile uint32_t sr, dr, brr, cr1, cr2, cr3;
} stm32_usart_t;

#define USART ((stm32_usart_t *)BOARD_USART_BASE)

static void usart_init(void) {
    USART->brr = board_usart_clock_hz() / UART_BAUD;
    USART->cr1 = CR1_UE | CR1_TE | CR1_RE;
}

static void usart_write(const void *data, uint32_t bytes) {
    const uint8_t *source = data;

    for (uint32_t i = 0; i < bytes; i++) {
        while ((USART->sr & SR_TXE) == 0u) {
        }
        USART->dr = source[i];
    }
}

static uint32_t usart_read(void *data, uint32_t max_bytes) {
    uint8_t *target = data;
    uint32_t count = 0u;

    while (count < max_bytes && (USART->sr & SR_RXNE) != 0u) {
        target[count++] = (uint8_t)USART->dr;
    }
    return count;
}

static void usart_drain(void) {
    while ((USART->sr & SR_TC) == 0u) {
    }
}

const hal_transport_t hal_uart = {usart_init, usart_write, usart_read, usart_drain};

#else
typedef int hal_uart_stm32_unused_t;
#endif
