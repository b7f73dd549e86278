/* Writing the gate log. A record is written whole and at once, so that a reader sees windows as they end. */

#define _POSIX_C_SOURCE 200809L

#include "gatelog.h"

#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "counters.h"

#define BLOCKS_A_SAMPLE 256u

enum { RECORD_GATE = 1, RECORD_STATE = 2, RECORD_SAMPLE = 3 };

typedef struct record {
    uint64_t cycles, instructions, energy_fj;
    uint32_t kind, arg;
} record_t;

_Static_assert(sizeof(record_t) == 32, "readers expect 32 bytes");

unsigned gatelog_countdown;

static int file = -1;
static bool high_now;

bool gatelog_open(const char *path) {
    file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    return file >= 0;
}

static void append(uint32_t kind, uint32_t arg) {
    const record_t record = {counters_value(Q_CYCLES), counters_value(Q_INSTRUCTIONS),
                             counters_value(Q_ENERGY), kind, arg};

    if (write(file, &record, sizeof(record)) != (ssize_t)sizeof(record)) {
        /* A log with a hole would be worse than one that ends. */
        close(file);
        file = -1;
        gatelog_countdown = 0;
    }
}

void gatelog_edge(bool high) {
    if (file < 0 || high == high_now) {
        return;
    }
    high_now = high;
    gatelog_countdown = high ? BLOCKS_A_SAMPLE : 0u;
    append(RECORD_GATE, high ? 1u : 0u);
}

void gatelog_state(bool high) {
    static bool state_now;

    if (file >= 0 && high != state_now) {
        state_now = high;
        append(RECORD_STATE, high ? 1u : 0u);
    }
}

void gatelog_sample(void) {
    gatelog_countdown = BLOCKS_A_SAMPLE;
    append(RECORD_SAMPLE, 0u);
}
