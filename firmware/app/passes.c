#include "passes.h"

#include "arena_guard.h"
#include "events.h"
#include "frames.h"
#include "hal.h"
#include "records.h"
#include "test_fault.h"

uint32_t pass_samples[BOARD_SAMPLE_WORDS];

static uint32_t invocations;
static uint32_t *first_row;
static uint32_t *row;
static uint32_t row_words;

uint32_t pass_sample_capacity(void) {
    return BOARD_SAMPLE_WORDS;
}

uint32_t pass_invocations(void) {
    return invocations;
}

int pass_invoke(const engine_observer_t *observer) {
    invocations++;
    return engine_invoke(observer);
}

bool pass_failed(int code) {
    if (code == 0) {
        return false;
    }
    record_error(WIRE_ERROR_ENGINE_INVOKE, (uint32_t)code, "the engine refused to run an inference");
    return true;
}

void pass_prepare(const pass_spec_t *spec) {
    /* The host must not be reading what is still in the buffer while something is measured. */
    hal_transport_drain();
    if ((spec->flags & PASS_FLAG_RESET) != 0u) {
        engine_reset();
    }
}

void pass_send_table(const pass_spec_t *spec, const pass_result_t *result, uint32_t rows) {
    record_begin(WIRE_TABLE, 0u);
    record_u32(spec->id);
    record_u8(spec->kind);
    record_u32(result->iterations);
    record_u32(result->warmup);
    record_u32(rows);
    record_u8((uint8_t)spec->column_count);
    for (uint32_t i = 0; i < spec->column_count; i++) {
        const counter_column_t *column = &spec->columns[i];

        record_u8(column->source);
        record_u8(column->status);
        record_u8((uint8_t)(4u * counter_column_words(column)));
        record_u16(column->id);
        if (column->source == COUNTER_CYCLES) {
            record_text(hal_cycles_name());
        } else if (column->source == COUNTER_OBSERVER) {
            record_text(hal_observer_name(column->id));
        } else {
            record_text("event");
        }
    }
    record_end();
}

void pass_send_samples(uint32_t id, uint32_t first_word, uint32_t words) {
    const uint32_t room = (FRAME_MAX_PAYLOAD - 8u) / 4u;

    for (uint32_t sent = 0u; sent < words;) {
        const uint32_t chunk = words - sent < room ? words - sent : room;

        record_begin(WIRE_SAMPLES, 0u);
        record_u32(id);
        record_u32(first_word + sent);
        /* Sample memory is little-endian, as the wire is. */
        record_bytes(&pass_samples[sent], 4u * chunk);
        record_end();
        sent += chunk;
    }
}

static uint32_t outputs_crc(void) {
    const engine_info_t *engine = engine_info();
    uint32_t crc = 0u;

    for (uint32_t i = 0; i < engine->output_count; i++) {
        crc = frame_crc32(crc, engine->outputs[i].data, engine->outputs[i].bytes);
    }
    return crc;
}

bool arena_damaged(void) {
    const uint32_t damage = arena_guard_damage();

    if (damage == 0u) {
        return false;
    }
    record_error(WIRE_ERROR_ENGINE_ARENA, damage,
                 damage == 1u ? "the engine wrote before its arena" : "the engine wrote behind its arena");
    return true;
}

void pass_send_end(const pass_spec_t *spec, const pass_result_t *result) {
    if (arena_damaged()) {
        return;
    }
    record_begin(WIRE_PASS_END, 0u);
    record_u32(spec->id);
    record_u8(spec->kind);
    record_u32(result->iterations);
    record_u32(result->warmup);
    record_u32(result->segments);
    record_u32(result->sample_words);
    record_u64(result->ticks);
    record_u32(result->warm_ticks);
    record_u64(result->settle_ticks);
    record_u32(outputs_crc());
    record_end();
}

static void before_layer(void *context, uint32_t op) {
    (void)context;
    events_begin(op);
    row = &first_row[events_due() * row_words];
    counters_begin();
}

static void after_layer(void *context, uint32_t op) {
    (void)context;
    counters_end(row);
    (void)events_end(op);
}

/* Bracket nothing, the way an engine calls it; twice, so that the second time is warm. */
static void calibrate(const engine_observer_t *observer) {
    void (*volatile before)(void *, uint32_t) = observer->before;
    void (*volatile after)(void *, uint32_t) = observer->after;

    first_row = row = pass_samples;
    for (uint32_t i = 0; i < 2u; i++) {
        events_open();
        before(observer->ctx, 0u);
        after(observer->ctx, 0u);
    }
    counters_keep_bias();
}

static bool observed_invoke(const engine_observer_t *observer, uint32_t *rows) {
    first_row = row = rows;
    events_open();
    inputs_restore();
    return !pass_failed(pass_invoke(observer)) && !events_failed();
}

static bool run_segment(const engine_observer_t *observer, uint32_t warmup, uint32_t iterations) {
    const uint32_t layers = engine_info()->op_count;

    hal_transport_drain();
    hal_cache_defined_state();
    /* Warm-ups take the measured path, so that its code and its stores are warm too. */
    for (uint32_t i = 0; i < warmup; i++) {
        if (!observed_invoke(observer, pass_samples)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < iterations; i++) {
        if (!observed_invoke(observer, &pass_samples[i * layers * row_words])) {
            return false;
        }
        test_fault_in_pass(i);
    }
    return true;
}

bool counters_run(pass_spec_t *spec) {
    const engine_observer_t observer = {before_layer, after_layer, 0};
    const uint32_t layers = engine_info()->op_count;
    pass_result_t result = {.iterations = spec->iterations, .warmup = spec->warmup};
    uint32_t capacity;
    uint32_t done = 0u;

    if (!counters_trusted()) {
        record_error(WIRE_ERROR_COUNTER_SELF_TEST, 0u, "a counter does not advance or does not stop");
        return false;
    }
    row_words = counters_configure(spec->columns, spec->column_count);
    capacity = BOARD_SAMPLE_WORDS / (layers * row_words);
    if (capacity == 0u) {
        record_error(WIRE_ERROR_SAMPLE_MEMORY, layers * row_words,
                     "one inference does not fit in sample memory");
        return false;
    }
    pass_prepare(spec);
    calibrate(&observer);
    while (done < spec->iterations) {
        const uint32_t left = spec->iterations - done;
        const uint32_t iterations = left < capacity ? left : capacity;
        const uint32_t words = iterations * layers * row_words;

        if (!run_segment(&observer, spec->warmup, iterations)) {
            return false;
        }
        if (result.segments++ == 0u) {
            pass_send_table(spec, &result, layers);
        }
        pass_send_samples(spec->id, result.sample_words, words);
        result.sample_words += words;
        done += iterations;
    }
    pass_send_end(spec, &result);
    return true;
}
