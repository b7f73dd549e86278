/* Firmware that has an ETDump: puts it into a buffer, then sends a line of text and the dump over RTT. */
#include <stdint.h>

#include "dump.h" /* static const uint8_t dump[]: the bytes */

#define UP_BYTES 512u

typedef struct channel {
    const char *name;
    uint8_t *buffer;
    uint32_t size;
    volatile uint32_t write_offset;
    volatile uint32_t read_offset;
    uint32_t flags;
} channel;

typedef struct control_block {
    volatile char id[16];
    int32_t up_count;
    int32_t down_count;
    channel up;
    channel down;
} control_block;

control_block _SEGGER_RTT;
uint8_t etdump_buffer[sizeof(dump)];
volatile uint32_t etdump_bytes;
volatile uint32_t never_set;
static uint8_t up_buffer[UP_BYTES], down_buffer[16];
extern uint32_t stack_top, bss_start, bss_end;

static void put(uint8_t byte) {
    channel *up = &_SEGGER_RTT.up;
    uint32_t next = (up->write_offset + 1) % up->size;

    while (next == up->read_offset) {
    }
    up->buffer[up->write_offset] = byte;
    __asm volatile("dmb" ::: "memory");
    up->write_offset = next;
}

static void start_rtt(void) {
    static const char backwards[16] = "\0\0\0\0\0\0TTR REGGE";

    _SEGGER_RTT.up_count = 1;
    _SEGGER_RTT.down_count = 1;
    _SEGGER_RTT.up = (channel){"up", up_buffer, UP_BYTES, 0, 0, 2};
    _SEGGER_RTT.down = (channel){"down", down_buffer, sizeof(down_buffer), 0, 0, 2};
    __asm volatile("dmb" ::: "memory");
    for (int i = 1; i < 16; i++) {
        _SEGGER_RTT.id[i] = backwards[15 - i];
    }
    _SEGGER_RTT.id[0] = 'S';
}

void reset_handler(void) {
    for (uint32_t *word = &bss_start; word < &bss_end; word++) {
        *word = 0;
    }
    for (uint32_t i = 0; i < sizeof(dump); i++) {
        etdump_buffer[i] = dump[i];
    }
    etdump_bytes = sizeof(dump);
    start_rtt();
    for (const char *text = "inference done\n"; *text; text++) {
        put((uint8_t)*text);
    }
    for (uint32_t i = 0; i < sizeof(dump); i++) {
        put(dump[i]);
    }
    for (;;) {
    }
}

void fault_handler(void) {
    for (;;) {
    }
}

__attribute__((section(".vectors"), used)) const void *vectors[16] = {
    &stack_top, reset_handler, fault_handler, fault_handler, fault_handler, fault_handler, fault_handler,
};
