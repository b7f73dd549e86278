/* As many bytes as the host asks for, as fast as a transport takes them. */
#include "hal.h"

#define BLOCK_BYTES 4096u

static uint8_t block[BLOCK_BYTES];

void app_fault(const hal_fault_t *fault, const uint32_t *stack, uint32_t stack_words) {
    (void)fault;
    (void)stack;
    (void)stack_words;
}

static uint32_t wanted(void) {
    uint8_t size[4];
    uint32_t have = 0u;

    while (have < sizeof(size)) {
        have += hal_transport_read(&size[have], sizeof(size) - have);
    }
    return (uint32_t)size[0] | (uint32_t)size[1] << 8 | (uint32_t)size[2] << 16 | (uint32_t)size[3] << 24;
}

int main(void) {
    for (uint32_t i = 0; i < BLOCK_BYTES; i++) {
        block[i] = (uint8_t)(i * 7u + i / 256u);
    }
    hal_transport_init(&FLOOD_TRANSPORT);
    for (;;) {
        uint32_t left = wanted();

        while (left != 0u) {
            const uint32_t part = left < BLOCK_BYTES ? left : BLOCK_BYTES;

            hal_transport_write(block, part);
            left -= part;
        }
    }
}
