/* Registers and packets of the Instrumentation Trace Macrocell, Armv7-M and Armv8-M alike. */

#define _POSIX_C_SOURCE 200809L

#include "itm.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#define PORTS 32u
#define ITM_TER 0xE00u
#define ITM_TCR 0xE80u
#define TCR_ENABLE 1u
#define SYNC_EVERY 4096u
#define OVERFLOW_PACKET 0x70u

static itm_ring_t *ring;
static uint32_t since_sync;
static bool enabled, lost;

bool itm_open(const char *path) {
    const int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    void *mapped = MAP_FAILED;

    if (file >= 0 && ftruncate(file, (off_t)sizeof(itm_ring_t)) == 0) {
        mapped = mmap(NULL, sizeof(itm_ring_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    if (file >= 0) {
        close(file);
    }
    ring = mapped != MAP_FAILED ? mapped : NULL;
    return ring != NULL;
}

static void put(const uint8_t *packet, uint32_t bytes) {
    static const uint8_t overflow[] = {OVERFLOW_PACKET};
    const uint64_t taken = __atomic_load_n(&ring->taken, __ATOMIC_ACQUIRE);
    uint64_t written = ring->written;
    const uint32_t marker = lost ? sizeof(overflow) : 0u;

    if (ITM_RING_BYTES - (written - taken) < marker + bytes) {
        lost = true;
        return;
    }
    for (uint32_t i = 0; i < marker; i++) {
        ring->data[written++ % ITM_RING_BYTES] = overflow[i];
    }
    for (uint32_t i = 0; i < bytes; i++) {
        ring->data[written++ % ITM_RING_BYTES] = packet[i];
    }
    lost = false;
    since_sync += bytes;
    __atomic_store_n(&ring->written, written, __ATOMIC_RELEASE);
}

static void synchronise(void) {
    static const uint8_t packet[] = {0, 0, 0, 0, 0, 0x80};

    since_sync = 0u;
    put(packet, sizeof(packet));
}

void itm_refresh(volatile uint32_t *words) {
    if (enabled) {
        for (uint32_t port = 0; port < PORTS; port++) {
            words[port] = 1u; /* there is always room: what nobody takes is lost */
        }
    }
}

void itm_stored(volatile uint32_t *words, uint32_t offset, uint32_t bytes) {
    const uint32_t port = offset / 4u;
    uint8_t packet[5];

    if (ring == NULL) {
        return;
    }
    if (offset == ITM_TCR) {
        const bool on = (words[ITM_TCR / 4u] & TCR_ENABLE) != 0u;

        if (on && !enabled) {
            synchronise();
        }
        enabled = on;
        return;
    }
    if (!enabled || port >= PORTS || (words[ITM_TER / 4u] >> port & 1u) == 0u) {
        return;
    }
    packet[0] = (uint8_t)(port << 3 | (bytes == 4u ? 3u : bytes));
    for (uint32_t i = 0; i < bytes; i++) {
        packet[1u + i] = (uint8_t)(words[port] >> (8u * i));
    }
    put(packet, 1u + bytes);
    if (since_sync >= SYNC_EVERY) {
        synchronise();
    }
}
