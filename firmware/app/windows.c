/* The clean window: inferences back to back, no reads around layers. */

#include "hal.h"
#include "harness_build.h"
#include "passes.h"
#include "records.h"
#include "test_fault.h"

#define TIMING_INVOKE_ONLY 0
#define LIFECYCLE_SINGLE 1

/* Restores the inputs; returns where a timed span begins, as the scope says. Where restoring is part of it,
 * the spans join without a gap. */
static inline uint32_t span_begin(uint32_t boundary) {
    inputs_restore();
    return HARNESS_TIMING_SCOPE == TIMING_INVOKE_ONLY ? hal_cycles() : boundary;
}

/* One inference, timed. */
static uint32_t timed_invoke(uint32_t *boundary, int *code) {
    const uint32_t start = span_begin(*boundary);

    *code = pass_invoke(0);
    *boundary = hal_cycles();
    return *boundary - start;
}

/* The same around a loop of known length. A function of its own, so that the choice costs an inference
 * nothing. */
static uint32_t timed_busy_loop(uint32_t *boundary) {
    const uint32_t start = span_begin(*boundary);

    hal_busy_loop(WIRE_BUSY_ROUNDS);
    *boundary = hal_cycles();
    return *boundary - start;
}

static uint32_t auto_iterations(const pass_spec_t *spec, uint32_t warm_ticks) {
    const uint64_t target = (uint64_t)spec->target_ms * (HARNESS_CPU_CLOCK_HZ / 1000u);
    uint64_t iterations = warm_ticks != 0u ? target / warm_ticks : spec->max_iterations;

    iterations = iterations > spec->min_iterations ? iterations : spec->min_iterations;
    return (uint32_t)(iterations < spec->max_iterations ? iterations : spec->max_iterations);
}

static bool window_allowed(const pass_spec_t *spec) {
    if (!counters_trusted()) {
        record_error(WIRE_ERROR_COUNTER_SELF_TEST, 0u, "the window clock does not advance or does not stop");
        return false;
    }
    if (HARNESS_LIFECYCLE == LIFECYCLE_SINGLE &&
        (spec->iterations != 1u || spec->warmup != 0u || pass_invocations() != 0u)) {
        record_error(WIRE_ERROR_LIFECYCLE, pass_invocations(),
                     "lifecycle single: one inference, the first since boot, without warm-up");
        return false;
    }
    return true;
}

static void send_observed(const pass_spec_t *spec, const uint64_t *before, const uint64_t *after) {
    const uint32_t count = hal_observer_count();

    if (count == 0u) {
        return;
    }
    record_begin(WIRE_OBSERVED, 0u);
    record_u32(spec->id);
    record_u8((uint8_t)count);
    for (uint32_t i = 0; i < count; i++) {
        record_text(hal_observer_name(i));
        record_u64(after[i] - before[i]);
    }
    record_end();
}

/* Let pass what the last talk with the host stirred up. By the window clock, so that an emulated board waits
 * the same length each time; without that clock there is no pause, and the record says so. */
static uint64_t settle(uint32_t milliseconds) {
    const uint64_t due = (uint64_t)milliseconds * (HARNESS_CPU_CLOCK_HZ / 1000u);
    uint64_t passed = 0u;
    uint32_t last;

    if (hal_observer_only_icount()) {
        return 0u;
    }
    last = hal_cycles();
    while (passed < due) {
        const uint32_t now = hal_cycles();

        passed += now - last;
        last = now;
    }
    return passed;
}

bool window_run(pass_spec_t *spec) {
    static uint64_t before[HAL_OBSERVER_MAX], after[HAL_OBSERVER_MAX];
    pass_result_t result = {.warmup = spec->warmup, .segments = 1u};
    const bool busy = (spec->flags & PASS_FLAG_BUSY_LOOP) != 0u;
    uint32_t boundary;
    int code = 0;

    if (!window_allowed(spec)) {
        return false;
    }
    pass_prepare(spec);
    result.settle_ticks = settle(spec->settle_ms);
    hal_cache_defined_state();
    boundary = hal_cycles();
    for (uint32_t i = 0; i < spec->warmup; i++) {
        const uint32_t ticks = busy ? timed_busy_loop(&boundary) : timed_invoke(&boundary, &code);

        if (pass_failed(code)) {
            return false;
        }
        result.warm_ticks = ticks > result.warm_ticks ? ticks : result.warm_ticks;
    }
    if (hal_observer_only_icount()) {
        spec->iterations = spec->iterations != 0u ? spec->iterations : spec->min_iterations;
    }
    result.iterations = spec->iterations != 0u ? spec->iterations : auto_iterations(spec, result.warm_ticks);

    hal_observer_read(before);
    hal_gate(true);
    boundary = hal_cycles();
    for (uint32_t i = 0; i < result.iterations; i++) {
        const uint32_t ticks = busy ? timed_busy_loop(&boundary) : timed_invoke(&boundary, &code);

        if (code != 0) {
            break;
        }
        result.ticks += ticks;
        if (i < BOARD_SAMPLE_WORDS) {
            pass_samples[i] = ticks;
        }
        test_fault_in_pass(i);
    }
    hal_gate(false);
    hal_observer_read(after);
    if (pass_failed(code)) {
        return false;
    }

    if (hal_observer_only_icount()) {
        /* No clock was read: the window states instructions, and no single inference has a figure. */
        result.ticks = after[0] - before[0];
        result.sample_words = 0u;
    } else {
        result.sample_words = result.iterations < BOARD_SAMPLE_WORDS ? result.iterations : BOARD_SAMPLE_WORDS;
    }
    spec->column_count = 1u;
    spec->columns[0] = (counter_column_t){.source = COUNTER_CYCLES, .status = COUNTER_OK};
    pass_send_table(spec, &result, 1u);
    pass_send_samples(spec->id, 0u, result.sample_words);
    send_observed(spec, before, after);
    pass_send_end(spec, &result);
    return true;
}
