/*
 * The Instrumentation Trace Macrocell: what firmware stores to a stimulus register leaves as trace packets,
 * as a probe that captures SWO would see them. The packets go to a ring in a file, which the virtual J-Link
 * maps; where nobody takes them in time they are lost, and the next one follows an overflow packet.
 */
#ifndef COUNTERS_ITM_H
#define COUNTERS_ITM_H

#include <stdbool.h>
#include <stdint.h>

#define ITM_RING_BYTES (16u << 20)

/* The file's layout. Both counts only grow; a byte's place is its number modulo the ring's size. */
typedef struct itm_ring {
    uint64_t written, taken;
    uint8_t reserved[4080];
    uint8_t data[ITM_RING_BYTES];
} itm_ring_t;

bool itm_open(const char *path);
void itm_refresh(volatile uint32_t *words);
void itm_stored(volatile uint32_t *words, uint32_t offset, uint32_t bytes);

#endif
