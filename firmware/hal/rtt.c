/* Real Time Transfer: two ring buffers in RAM that the debug probe reads and writes while the core runs. */

#include "hal.h"

#include <string.h>

#if defined(BOARD_CORTEX_M)

#define RTT_MODE_BLOCK 2u

typedef struct rtt_buffer {
    const char *name;
    uint8_t *data;
    uint32_t size;
    volatile uint32_t write;
    volatile uint32_t read;
    uint32_t flags;
} rtt_buffer_t;

typedef struct rtt_control_block {
    char id[16];
    int32_t up_count;
    int32_t down_count;
    rtt_buffer_t up[1];
    rtt_buffer_t down[1];
} rtt_control_block_t;

/* The symbol by which a probe finds the block in the ELF. */
rtt_control_block_t _SEGGER_RTT;

static uint8_t up_data[BOARD_RTT_UP_BYTES];
static uint8_t down_data[BOARD_RTT_DOWN_BYTES];

static void barrier(void) {
    __asm volatile("dmb" ::: "memory");
}

static void rtt_init(void) {
    /* Backwards, so that the id exists nowhere but in a finished control block. */
    static const char reversed_id[] = "\0\0\0\0\0\0TTR REGGES";
    volatile char *id = _SEGGER_RTT.id;

    for (uint32_t i = 0; i < sizeof(_SEGGER_RTT.id); i++) {
        id[i] = 0;
    }
    barrier();
    _SEGGER_RTT.up_count = 1;
    _SEGGER_RTT.down_count = 1;
    _SEGGER_RTT.up[0] = (rtt_buffer_t){"frames", up_data, sizeof(up_data), 0u, 0u, RTT_MODE_BLOCK};
    _SEGGER_RTT.down[0] = (rtt_buffer_t){"commands", down_data, sizeof(down_data), 0u, 0u, RTT_MODE_BLOCK};
    barrier();
    for (uint32_t i = 0; i < sizeof(_SEGGER_RTT.id); i++) {
        id[i] = reversed_id[15u - i];
    }
    barrier();
}

static void rtt_write(const void *data, uint32_t bytes) {
    rtt_buffer_t *buffer = &_SEGGER_RTT.up[0];
    const uint8_t *source = data;
    uint32_t write = buffer->write;

    while (bytes != 0u) {
        const uint32_t read = buffer->read;
        uint32_t room = read > write ? read - write - 1u : sizeof(up_data) - 1u - write + read;
        const uint32_t to_end = sizeof(up_data) - write;

        /* A read position outside the buffer is the probe's mistake: write nothing over it. */
        if (read >= sizeof(up_data)) {
            continue;
        }
        room = room < to_end ? room : to_end;
        room = room < bytes ? room : bytes;
        if (room == 0u) {
            continue;
        }
        memcpy(&up_data[write], source, room);
        barrier();
        write = write + room == sizeof(up_data) ? 0u : write + room;
        buffer->write = write;
        source += room;
        bytes -= room;
    }
}

static uint32_t rtt_read(void *data, uint32_t max_bytes) {
    rtt_buffer_t *buffer = &_SEGGER_RTT.down[0];
    const uint32_t write = buffer->write;
    const uint32_t read = buffer->read;
    uint32_t bytes = write >= read ? write - read : sizeof(down_data) - read;

    if (write >= sizeof(down_data)) {
        return 0u;
    }
    bytes = bytes < max_bytes ? bytes : max_bytes;
    if (bytes != 0u) {
        barrier();
        memcpy(data, &down_data[read], bytes);
        barrier();
        buffer->read = read + bytes == sizeof(down_data) ? 0u : read + bytes;
    }
    return bytes;
}

static void rtt_drain(void) {
    while (_SEGGER_RTT.up[0].read != _SEGGER_RTT.up[0].write) {
    }
}

const hal_transport_t hal_rtt = {rtt_init, rtt_write, rtt_read, rtt_drain};

#else
typedef int hal_rtt_unused_t;
#endif
