/* Arm's CMSDK UART, polled: one byte of receive buffer, one of transmit buffer. */

#include "hal.h"

#if defined(BOARD_CORTEX_M) && (defined(BOARD_UART_BASE) || defined(BOARD_CDC_BASE))

#define UART_BAUD 115200u

#define STATE_TX_FULL (1u << 0)
#define STATE_RX_FULL (1u << 1)
#define CTRL_TX_ON (1u << 0)
#define CTRL_RX_ON (1u << 1)

typedef struct cmsdk_uart {
    volatile uint32_t data, state, ctrl, interrupt, divider;
} cmsdk_uart_t;

static void start(cmsdk_uart_t *uart) {
    uart->divider = BOARD_UART_CLOCK_HZ / UART_BAUD;
    uart->ctrl = CTRL_TX_ON | CTRL_RX_ON;
}

static void send(cmsdk_uart_t *uart, const void *data, uint32_t bytes) {
    const uint8_t *source = data;

    for (uint32_t i = 0; i < bytes; i++) {
        while ((uart->state & STATE_TX_FULL) != 0u) {
        }
        uart->data = source[i];
    }
}

static uint32_t take(cmsdk_uart_t *uart, void *data, uint32_t max_bytes) {
    uint8_t *target = data;
    uint32_t count = 0u;

    while (count < max_bytes && (uart->state & STATE_RX_FULL) != 0u) {
        target[count++] = (uint8_t)uart->data;
    }
    return count;
}

static void flush(const cmsdk_uart_t *uart) {
    while ((uart->state & STATE_TX_FULL) != 0u) {
    }
}

/* One transport for each UART that the port names. */
#define UART_TRANSPORT(name, base)                                                                           \
    static void name##_init(void) {                                                                          \
        start((cmsdk_uart_t *)(base));                                                                       \
    }                                                                                                        \
    static void name##_write(const void *data, uint32_t bytes) {                                             \
        send((cmsdk_uart_t *)(base), data, bytes);                                                           \
    }                                                                                                        \
    static uint32_t name##_read(void *data, uint32_t max_bytes) {                                            \
        return take((cmsdk_uart_t *)(base), data, max_bytes);                                                \
    }                                                                                                        \
    static void name##_drain(void) {                                                                         \
        flush((const cmsdk_uart_t *)(base));                                                                 \
    }                                                                                                        \
    const hal_transport_t hal_##name = {name##_init, name##_write, name##_read, name##_drain}

#if defined(BOARD_UART_BASE)
UART_TRANSPORT(uart, BOARD_UART_BASE);
#endif
#if defined(BOARD_CDC_BASE)
/* The emulated board's USB device: what goes through this UART is what its CDC interface carries. */
UART_TRANSPORT(cdc, BOARD_CDC_BASE);
#endif

#else
typedef int hal_uart_unused_t;
#endif
