/*
 * The power image: the same engine and kernels as the image that is profiled, and no transport. It runs the
 * windows it was asked for, the gate high exactly during each, and leaves a terminal record in RAM.
 */

#include <stddef.h>
#include <string.h>

#include "engine.h"
#include "engine_config.h"
#include "frames.h"
#include "hal.h"
#include "harness_build.h"
#include "inputs.h"
#include "mailbox.h"

/* The linker script keeps it: the build record and the probe find the image's identity in the ELF. */
__attribute__((used, section(".rodata.harness_build_id"))) const char harness_build_id[] = HARNESS_BUILD_ID;

volatile mailbox_request_t harness_power_request;
mailbox_terminal_t harness_power_terminal;

#define terminal harness_power_terminal

#define SHORT_TICKS 0x10000u
#define SHORT_STRIDE 256u

static mailbox_request_t request;
static uint32_t last_ticks;

/* A host that reads through a debug port sees memory, not the data cache. */
static void publish(mailbox_phase_t phase) {
    terminal.phase = (uint32_t)phase;
    if (phase == PHASE_DONE || phase == PHASE_FAILED) {
        terminal.crc = frame_crc32(0u, (const uint8_t *)&terminal, offsetof(mailbox_terminal_t, crc));
    }
    hal_cache_defined_state();
}

__attribute__((noreturn)) static void stop(mailbox_phase_t phase) {
    publish(phase);
    hal_state(true);
    for (;;) {
    }
}

__attribute__((noreturn)) static void fail(mailbox_error_t error, uint32_t detail) {
    hal_gate(false);
    terminal.error = (uint32_t)error;
    terminal.error_detail = detail;
    stop(PHASE_FAILED);
}

void app_fault(const hal_fault_t *fault, const uint32_t *stack, uint32_t stack_words) {
    (void)stack;
    (void)stack_words;
    fail(MAILBOX_FAULT, fault->pc);
}

/* Ticks since the last call; called more often than the counter wraps. */
static uint32_t lap(void) {
    const uint32_t now = hal_cycles();
    const uint32_t ticks = now - last_ticks;

    last_ticks = now;
    return ticks;
}

static void account(void) {
    terminal.elapsed += lap();
}

static void pause_ms(uint32_t ms) {
    uint64_t left = (uint64_t)ms * (HARNESS_CPU_CLOCK_HZ / 1000u);

    while (left != 0u) {
        const uint32_t ticks = lap();

        terminal.elapsed += ticks;
        left = left > ticks ? left - ticks : 0u;
    }
}

static bool clock_runs(void) {
    uint32_t before;

    if (hal_cycles_init() == HAL_CYCLES_ABSENT) {
        return false;
    }
    hal_cycles_enable(true);
    before = hal_cycles();
    for (uint32_t i = 0; i < 64u; i++) {
        if (hal_cycles() != before) {
            return true;
        }
    }
    return false;
}

static uint32_t request_crc(void) {
    const uint32_t fields = offsetof(mailbox_request_t, crc);
    const uint32_t crc = frame_crc32(0u, (const uint8_t *)&request, fields);

    return frame_crc32(crc, (const uint8_t *)request.windows,
                       request.window_count * sizeof(request_window_t));
}

static void await_request(void) {
    const volatile uint8_t *source = (const volatile uint8_t *)&harness_power_request;
    uint8_t *copy = (uint8_t *)&request;

    do {
        hal_cache_defined_state();
    } while (harness_power_request.nonce == 0u);
    for (uint32_t i = 0; i < sizeof(request); i++) {
        copy[i] = source[i];
    }
    terminal.nonce = request.nonce;
    if (request.window_count == 0u || request.window_count > MAILBOX_WINDOWS ||
        request_crc() != request.crc) {
        fail(MAILBOX_BAD_REQUEST, request.window_count);
    }
    for (uint32_t i = 0; i < request.window_count; i++) {
        const request_window_t *window = &request.windows[i];

        if (window->inferences == 0u || window->first_layer > ENGINE_OP_COUNT ||
            window->layers > ENGINE_OP_COUNT - window->first_layer) {
            fail(MAILBOX_BAD_REQUEST, i);
        }
        terminal.requested += window->inferences;
    }
    terminal.window_count = request.window_count;
}

static int run_layers(uint32_t first, uint32_t count) {
#if defined(ENGINE_LAYER_RANGES)
    return engine_invoke_layers(first, count);
#else
    (void)first;
    (void)count;
    fail(MAILBOX_NO_LAYER_RANGES, 0u);
    return 1;
#endif
}

static int run_once(const request_window_t *window) {
    if (window->layers != 0u) {
        return run_layers(window->first_layer, window->layers);
    }
    inputs_restore();
    return engine_invoke(0);
}

static void checked(int code) {
    if (code != 0) {
        fail(MAILBOX_ENGINE_INVOKE, (uint32_t)code);
    }
}

/* How often the clock is looked at: each inference, or rarely where looking would weigh against it. */
static uint32_t clock_stride(uint32_t warm_ticks) {
    return warm_ticks != 0u && warm_ticks < SHORT_TICKS ? SHORT_STRIDE : 1u;
}

/* Operands of a layer range are what the layers before it leave. Returns the ticks of the last warm-up. */
static uint32_t prepare(const request_window_t *window) {
    uint32_t ticks = 0u;

    engine_reset();
    hal_cache_defined_state();
    if (window->layers != 0u) {
        inputs_restore();
        checked(run_layers(0u, window->first_layer));
    }
    for (uint32_t i = 0; i < request.warmup; i++) {
        account();
        checked(run_once(window));
        ticks = lap();
        terminal.elapsed += ticks;
    }
    return ticks;
}

static void await_go_level(bool high) {
    uint64_t left = (uint64_t)request.go_timeout_ms * (HARNESS_CPU_CLOCK_HZ / 1000u);

    while (hal_go() != high) {
        const uint32_t ticks = lap();

        terminal.elapsed += ticks;
        left = left > ticks ? left - ticks : 0u;
        if (left == 0u) {
            fail(MAILBOX_NO_GO, high ? 1u : 0u);
        }
    }
}

/* State high says ready; the host raises go, and drops it again when it sees the gate. A go that is still
 * high is that of the window before. */
static void await_go(void) {
    if ((request.flags & REQUEST_FLAG_LOCKSTEP) == 0u) {
        return;
    }
    await_go_level(false);
    /* Not published: nobody reads now, and caches that the warm-ups filled must stay so. */
    terminal.phase = PHASE_READY;
    hal_state(true);
    await_go_level(true);
    hal_state(false);
    terminal.phase = PHASE_WINDOW;
}

static void run_window(const request_window_t *window, terminal_window_t *result) {
    const uint32_t stride = clock_stride(prepare(window));
    uint32_t unread = 0u;
    int code = 0;

    await_go();
    account();
    hal_gate(true);
    result->gate_edges = 1u;
    last_ticks = hal_cycles();
    for (uint32_t i = 0; i < window->inferences; i++) {
        code = run_once(window);
        if (code != 0) {
            break;
        }
        result->completed++;
        if (++unread == stride) {
            unread = 0u;
            result->elapsed += lap();
        }
    }
    result->elapsed += lap();
    hal_gate(false);
    result->gate = result->elapsed;
    result->gate += lap();
    result->gate_edges = 2u;
    terminal.elapsed += result->gate;
    terminal.completed += result->completed;
    checked(code);
}

int main(void) {
    const int code = engine_init();

    hal_wires_init();
    terminal.magic = MAILBOX_MAGIC;
    terminal.version = MAILBOX_VERSION;
    terminal.bytes = sizeof(terminal);
    terminal.clock_hz = HARNESS_CPU_CLOCK_HZ;
    terminal.wires = hal_wires();
    terminal.inputs_address = (uint32_t)(uintptr_t)inputs_master(0u);
    terminal.inputs_bytes = ENGINE_INPUT_BYTES;
    memcpy(terminal.build_id, harness_build_id, sizeof(terminal.build_id));
    if (code != 0) {
        fail(MAILBOX_ENGINE_INIT, (uint32_t)code);
    }
    if (!clock_runs()) {
        fail(MAILBOX_NO_CLOCK, 0u);
    }
    publish(PHASE_BOOTED);
    await_request();
    publish(PHASE_ACCEPTED);
    last_ticks = hal_cycles();
    pause_ms(request.settle_ms);
    for (uint32_t i = 0; i < request.window_count; i++) {
        if (i != 0u) {
            pause_ms(request.gap_ms);
        }
        run_window(&request.windows[i], &terminal.windows[i]);
    }
    stop(PHASE_DONE);
}
