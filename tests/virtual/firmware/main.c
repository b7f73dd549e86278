/* Firmware for tests of the bench: RTT both ways with checksums, and faults on demand. */
#include <stdint.h>

#ifndef GREETING
#define GREETING "HELLO\n"
#endif
#define UP_BYTES 16384u
#define DOWN_BYTES 256u

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
volatile uint32_t boot_count __attribute__((section(".noinit")));
volatile uint32_t fault_again;
static uint8_t up_buffer[UP_BYTES];
static uint8_t down_buffer[DOWN_BYTES];
extern uint32_t stack_top, bss_start, bss_end;

static void put(const uint8_t *data, uint32_t size) {
    channel *up = &_SEGGER_RTT.up;
    for (uint32_t i = 0; i < size; i++) {
        uint32_t next = (up->write_offset + 1) % up->size;
        while (next == up->read_offset) {
        }
        up->buffer[up->write_offset] = data[i];
        __asm volatile("dmb" ::: "memory");
        up->write_offset = next;
    }
}

static uint8_t get(void) {
    channel *down = &_SEGGER_RTT.down;
    while (down->read_offset == down->write_offset) {
    }
    uint8_t byte = down->buffer[down->read_offset];
    __asm volatile("dmb" ::: "memory");
    down->read_offset = (down->read_offset + 1) % down->size;
    return byte;
}

static void say(const char *text) {
    uint32_t size = 0;
    while (text[size] != '\0') {
        size++;
    }
    put((const uint8_t *)text, size);
}

static uint32_t crc_step(uint32_t crc, uint8_t byte) {
    crc ^= byte;
    for (int bit = 0; bit < 8; bit++) {
        crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
    }
    return crc;
}

static void say_word(uint32_t word) {
    char text[10];
    for (int i = 0; i < 8; i++) {
        text[i] = "0123456789abcdef"[word >> (28 - 4 * i) & 15];
    }
    text[8] = '\n';
    text[9] = '\0';
    say(text);
}

static uint32_t number(void) {
    uint32_t value = 0;
    for (uint8_t c = get(); c >= '0' && c <= '9'; c = get()) {
        value = value * 10 + c - '0';
    }
    return value;
}

static void start_rtt(void) {
    static const char backwards[16] = "\0\0\0\0\0\0TTR REGGE";
    _SEGGER_RTT.up_count = 1;
    _SEGGER_RTT.down_count = 1;
    _SEGGER_RTT.up = (channel){"up", up_buffer, UP_BYTES, 0, 0, 2};
    _SEGGER_RTT.down = (channel){"down", down_buffer, DOWN_BYTES, 0, 0, 2};
    __asm volatile("dmb" ::: "memory");
    for (int i = 1; i < 16; i++) {
        _SEGGER_RTT.id[i] = backwards[15 - i];
    }
    _SEGGER_RTT.id[0] = 'S';
}

__attribute__((noinline)) void marker(void) {
    boot_count++;
}

static void serve(uint8_t command) {
    uint32_t size = number(), crc = ~0u, seed = 12345;
    switch (command) {
    case 'S': /* send bytes, then their checksum */
        for (uint32_t i = 0; i < size; i++) {
            seed = seed * 1664525u + 1013904223u;
            uint8_t byte = (uint8_t)(seed >> 24);
            crc = crc_step(crc, byte);
            put(&byte, 1);
        }
        say_word(~crc);
        break;
    case 'R': /* receive bytes, answer with their checksum */
        for (uint32_t i = 0; i < size; i++) {
            crc = crc_step(crc, get());
        }
        say_word(~crc);
        break;
    case 'M':
        marker();
        say("MARKED\n");
        break;
    case 'C': /* corrupt the control block */
        _SEGGER_RTT.up.write_offset = UP_BYTES + 99;
        break;
    case 'L': /* a fault inside the fault handler */
        fault_again = 1;
        *(volatile uint32_t *)0xF0000000u = size;
        break;
    case 'F':
        *(volatile uint32_t *)0xF0000000u = size;
        break;
    default:
        say("?\n");
    }
}

void reset_handler(void) {
    for (uint32_t *word = &bss_start; word < &bss_end; word++) {
        *word = 0;
    }
    start_rtt();
    say(GREETING);
    for (;;) {
        serve(get());
    }
}

void fault_handler(void) {
    if (fault_again) {
        *(volatile uint32_t *)0xF0000000u = 0;
    }
    for (;;) {
    }
}

__attribute__((section(".vectors"), used)) const void *vectors[16] = {
    &stack_top,    reset_handler, fault_handler, fault_handler,
    fault_handler, fault_handler, fault_handler, fault_handler,
};
