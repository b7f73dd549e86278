/* The hal of a POSIX process. Clock and counters are made up, but the same in every run. */

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hal.h"

#define IDLE_MS 50
#ifndef CYCLES_PER_READ
#define CYCLES_PER_READ 1000u
#endif
#define FAKE_SLOTS 4u
#define FAKE_OBSERVATIONS 2u
/* As Armv8.1-M: an event number the core does not count is refused. */
#define FAKE_LAST_EVENT 0x0300u

/* Targets with less: HOST_WITHOUT_COUNTERS has nothing, HOST_WITHOUT_EVENTS only a cycle counter. */
#if defined(HOST_WITHOUT_COUNTERS)
#define HOST_HAS_CYCLES HAL_CYCLES_ABSENT
#define HOST_OBSERVATIONS 0u
#else
#define HOST_HAS_CYCLES HAL_CYCLES_PRESENT
#define HOST_OBSERVATIONS FAKE_OBSERVATIONS
#endif
#if defined(HOST_WITHOUT_COUNTERS) || defined(HOST_WITHOUT_EVENTS)
#define HOST_SLOTS 0u
#else
#define HOST_SLOTS FAKE_SLOTS
#endif

static uint32_t cycles;
static bool cycles_on;
static uint16_t events[FAKE_SLOTS];
static uint64_t observed;

/* An engine under test adds what it did; the observer sees it. */
uint32_t hal_host_work;

static void pipe_init(void) {}

static void pipe_write(const void *data, uint32_t bytes) {
    const uint8_t *source = data;

    while (bytes != 0u) {
        const ssize_t sent = write(STDOUT_FILENO, source, bytes);

        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) {
            exit(0);
        }
        source += sent;
        bytes -= (uint32_t)sent;
    }
}

static uint32_t pipe_read(void *data, uint32_t max_bytes) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    ssize_t count;

    if (poll(&input, 1, IDLE_MS) <= 0) {
        return 0u;
    }
    count = read(STDIN_FILENO, data, max_bytes);
    if (count <= 0) {
        exit(0);
    }
    return (uint32_t)count;
}

static void pipe_drain(void) {}

const hal_transport_t hal_pipe = {pipe_init, pipe_write, pipe_read, pipe_drain};

hal_cycle_state_t hal_cycles_init(void) {
    cycles_on = true;
    return HOST_HAS_CYCLES;
}

void hal_cycles_enable(bool on) {
    cycles_on = on;
}

uint32_t hal_cycles(void) {
    if (cycles_on) {
        cycles += CYCLES_PER_READ;
    }
    return cycles;
}

bool hal_small_enable(bool on) {
    (void)on;
#if defined(HOST_SMALL_STEP)
    return true;
#else
    return false;
#endif
}

/* Counter n moves n steps a read: the first stands still. */
void hal_small_read(uint8_t *values) {
#if defined(HOST_SMALL_STEP)
    static uint32_t reads;

    reads++;
    for (uint32_t i = 0; i < HAL_SMALL_COUNTERS; i++) {
        values[i] = (uint8_t)(reads * i * HOST_SMALL_STEP);
    }
#else
    (void)values;
#endif
}

void hal_busy_loop(uint32_t rounds) {
    cycles += 2u * rounds;
}

void hal_second_clock_start(void) {}

uint32_t hal_second_clock_stop(void) {
    return 0u;
}

const char *hal_cycles_name(void) {
    return "FAKE_CYCLES";
}

uint32_t hal_event_slots(void) {
    return HOST_SLOTS;
}

bool hal_event_select(uint32_t slot, uint16_t event) {
    events[slot] = event;
    return event <= FAKE_LAST_EVENT;
}

void hal_events_start(uint32_t slots) {
    (void)slots;
}

void hal_events_read(uint32_t slots, uint32_t *values) {
    for (uint32_t slot = 0; slot < FAKE_SLOTS; slot++) {
        if ((slots & (1u << slot)) != 0u) {
            values[slot] = 10u * events[slot];
        }
    }
}

uint32_t hal_events_stop(uint32_t slots, uint32_t *values) {
    hal_events_read(slots, values);
    return 0u;
}

bool hal_observer_only_icount(void) {
    return false;
}

uint32_t hal_observer_count(void) {
    return HOST_OBSERVATIONS;
}

const char *hal_observer_name(uint32_t index) {
    return index == 0u ? "emulator.instructions" : "emulator.energy_fj";
}

void hal_observer_read(uint64_t *values) {
    observed += 2u + hal_host_work;
    hal_host_work = 0u;
    values[0] = observed;
    values[1] = observed << 32;
}

void hal_cache_defined_state(void) {}

void hal_wires_init(void) {}

uint32_t hal_wires(void) {
    return 0u;
}

void hal_gate(bool high) {
    (void)high;
}

void hal_state(bool high) {
    (void)high;
}

bool hal_go(void) {
    return false;
}

void hal_test_fault(void) {
    static const uint32_t stack[] = {0x11111111u, 0x22222222u};
    static const hal_fault_t fault = {.pc = 0x0000BAD0u,
                                      .lr = 0x00000C01u,
                                      .sp = 0x20001000u,
                                      .exception = 3u,
                                      .cfsr = 0x8200u,
                                      .hfsr = 0x40000000u,
                                      .bfar = 0xF0000000u};

    app_fault(&fault, stack, 2u);
    for (;;) {
        (void)pause();
    }
}
