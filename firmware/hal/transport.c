/* The transport in use; main chooses it. */

#include "hal.h"

static const hal_transport_t *chosen;

void hal_transport_init(const hal_transport_t *transport) {
    chosen = transport;
    chosen->init();
}

void hal_transport_write(const void *data, uint32_t bytes) {
    if (chosen != 0) { /* a fault may come before the choice */
        chosen->write(data, bytes);
    }
}

uint32_t hal_transport_read(void *data, uint32_t max_bytes) {
    return chosen->read(data, max_bytes);
}

void hal_transport_drain(void) {
    chosen->drain();
}
