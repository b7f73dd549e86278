#include "conversation.h"

#include <string.h>

#include "engine_config.h"
#include "frames.h"
#include "hal.h"
#include "harness_build.h"
#include "passes.h"
#include "records.h"
#include "test_fault.h"

#define START_FIXED_BYTES 31u
#define COLUMN_BYTES 3u

extern const char harness_build_id[];

static frame_decoder_t decoder;
static pass_spec_t spec;
static bool session_open;
static uint32_t session_nonce;
static uint32_t next_command;
static int engine_code;

typedef struct reader {
    const uint8_t *bytes;
    uint32_t left;
    bool short_read;
} reader_t;

static uint32_t read_integer(reader_t *reader, uint32_t bytes) {
    uint32_t value = 0u;

    if (reader->left < bytes) {
        reader->short_read = true;
        return 0u;
    }
    for (uint32_t i = 0; i < bytes; i++) {
        value |= (uint32_t)reader->bytes[i] << (8u * i);
    }
    reader->bytes += bytes;
    reader->left -= bytes;
    return value;
}

static void send_fact(const char *name, uint32_t value) {
    record_text(name);
    record_u32(value);
}

static void send_self_test(void) {
    const counter_self_test_t *test = counters_self_test();

    record_u8(13u);
    send_fact("cycles_present", test->cycles_present);
    send_fact("cycles_advance", test->cycles_advance);
    send_fact("cycles_frozen", test->cycles_frozen);
    send_fact("event_slots", test->event_slots);
    send_fact("event_advance", test->event_advance);
    send_fact("event_frozen", test->event_frozen);
    send_fact("observer_count", test->observer_count);
    send_fact("observer_advance", test->observer_advance);
    send_fact("empty_bracket_cycles", test->empty_bracket_cycles);
    send_fact("rate_window_ticks", test->rate_window_ticks);
    send_fact("rate_second_ticks", test->rate_second_ticks);
    send_fact("small_present", test->small_present);
    send_fact("small_advance", test->small_advance);
}

static void send_buffers(const engine_buffer_t *buffers, uint32_t count) {
    record_u8((uint8_t)count);
    for (uint32_t i = 0; i < count; i++) {
        record_u32(buffers[i].bytes);
    }
}

static void send_hello(void) {
    const engine_info_t *engine = engine_info();

    record_begin(WIRE_HELLO, 0u);
    record_u16(WIRE_PROTOCOL_VERSION);
    record_u16(ENGINE_ABI_VERSION);
    record_u32((uint32_t)engine_code);
    record_u32(HARNESS_CPU_CLOCK_HZ);
    record_u32(HARNESS_CPU_CLOCK_HZ); /* the window clock counts core cycles */
    record_u8(HARNESS_TIMING_SCOPE);
    record_u8(HARNESS_LIFECYCLE);
    record_u32(engine->arena_bytes);
    record_u32(engine->op_count);
    record_u32(pass_sample_capacity());
    record_u32(FRAME_MAX_PAYLOAD);
    record_u8(COUNTERS_MAX_COLUMNS);
    record_bytes(engine->model_sha256, 32u);
    record_text(harness_build_id);
    record_text(HARNESS_BOARD_TYPE);
    record_text(engine->name);
    record_text(engine->version);
    record_text(hal_cycles_name());
    send_buffers(engine->inputs, engine->input_count);
    send_buffers(engine->outputs, engine->output_count);
    send_self_test();
    record_end();
}

static void send_layers(void) {
    const engine_info_t *engine = engine_info();

    for (uint32_t i = 0; i < engine->op_count; i++) {
        const engine_op_t *layer = &engine->ops[i];

        record_begin(WIRE_LAYER, 0u);
        record_u32(i);
        record_u32(layer->source_index);
        record_text(layer->name);
        send_buffers(layer->outputs, layer->output_count);
        record_end();
    }
}

static void on_hello(const frame_view_t *frame) {
    /* The host repeats its hello until it is answered: the same nonce again is the same question. */
    if (session_open && frame->nonce == session_nonce) {
        return;
    }
    test_fault_at_hello();
    session_open = true;
    session_nonce = frame->nonce;
    next_command = 1u;
    records_open(session_nonce);
    send_hello();
    if (engine_code != 0) {
        record_error(WIRE_ERROR_ENGINE_INIT, (uint32_t)engine_code, "the engine could not be initialised");
        return;
    }
    if (!arena_damaged()) {
        send_layers();
    }
}

static bool on_set_input(const frame_view_t *frame) {
    reader_t reader = {frame->payload, frame->payload_bytes, false};
    const uint32_t index = read_integer(&reader, 4u);
    const uint32_t offset = read_integer(&reader, 4u);

    if (reader.short_read || !inputs_set(index, offset, reader.bytes, reader.left)) {
        return false;
    }
    if ((frame->flags & WIRE_FLAG_LAST) != 0u) {
        const uint32_t bytes = engine_info()->inputs[index].bytes;

        if (offset + reader.left != bytes) {
            record_error(WIRE_ERROR_INPUT_INCOMPLETE, index, "the last chunk does not end the input");
            return true;
        }
        record_begin(WIRE_INPUT_SET, 0u);
        record_u32(index);
        record_u32(bytes);
        record_u32(frame_crc32(0u, inputs_master(index), bytes));
        record_end();
    }
    return true;
}

static bool read_spec(const frame_view_t *frame) {
    reader_t reader = {frame->payload, frame->payload_bytes, false};

    memset(&spec, 0, sizeof(spec));
    spec.id = read_integer(&reader, 4u);
    spec.kind = (uint8_t)read_integer(&reader, 1u);
    spec.flags = (uint8_t)read_integer(&reader, 1u);
    spec.iterations = read_integer(&reader, 4u);
    spec.warmup = read_integer(&reader, 4u);
    spec.target_ms = read_integer(&reader, 4u);
    spec.min_iterations = read_integer(&reader, 4u);
    spec.max_iterations = read_integer(&reader, 4u);
    spec.settle_ms = read_integer(&reader, 4u);
    spec.column_count = read_integer(&reader, 1u);
    if (reader.short_read || spec.column_count > COUNTERS_MAX_COLUMNS ||
        frame->payload_bytes != START_FIXED_BYTES + COLUMN_BYTES * spec.column_count) {
        return false;
    }
    for (uint32_t i = 0; i < spec.column_count; i++) {
        spec.columns[i].source = (uint8_t)read_integer(&reader, 1u);
        spec.columns[i].id = (uint16_t)read_integer(&reader, 2u);
    }
    return true;
}

static bool spec_usable(void) {
    switch (spec.kind) {
    case WIRE_PASS_WINDOW:
        /* How many inferences fill the target is known from warm ones. */
        return spec.iterations != 0u ||
               (spec.warmup != 0u && spec.min_iterations != 0u && spec.min_iterations <= spec.max_iterations);
    case WIRE_PASS_COUNTERS:
        return spec.iterations != 0u && spec.column_count != 0u;
    case WIRE_PASS_INFER:
        return spec.iterations != 0u;
    default:
        return false;
    }
}

static bool on_start(const frame_view_t *frame) {
    if (!read_spec(frame) || !spec_usable()) {
        return false;
    }
    switch (spec.kind) {
    case WIRE_PASS_WINDOW:
        (void)window_run(&spec);
        break;
    case WIRE_PASS_COUNTERS:
        (void)counters_run(&spec);
        break;
    default:
        (void)infer_run(&spec);
        break;
    }
    return true;
}

static bool on_inspect(const frame_view_t *frame) {
    reader_t reader = {frame->payload, frame->payload_bytes, false};

    memset(&spec, 0, sizeof(spec));
    spec.id = read_integer(&reader, 4u);
    spec.flags = (uint8_t)read_integer(&reader, 1u);
    spec.kind = WIRE_PASS_INSPECT;
    if (reader.short_read || reader.left != 0u) {
        return false;
    }
    (void)inspect_run(&spec);
    return true;
}

static bool in_order(const frame_view_t *frame) {
    if (frame->nonce != session_nonce) {
        record_error(WIRE_ERROR_STALE_NONCE, frame->nonce, "a command of another session");
        return false;
    }
    if (frame->sequence != next_command) {
        record_error(WIRE_ERROR_SEQUENCE, next_command, "a command is missing or came twice");
        return false;
    }
    next_command++;
    return true;
}

static void on_frame(const frame_view_t *frame) {
    bool understood = true;

    if (frame->type == WIRE_CMD_HELLO) {
        on_hello(frame);
        return;
    }
    if (!session_open || !in_order(frame)) {
        return;
    }
    if (engine_code != 0 && frame->type != WIRE_CMD_END) {
        record_error(WIRE_ERROR_ENGINE_INIT, (uint32_t)engine_code, "the engine could not be initialised");
        return;
    }
    switch (frame->type) {
    case WIRE_CMD_SET_INPUT:
        understood = on_set_input(frame);
        break;
    case WIRE_CMD_START:
        understood = on_start(frame);
        break;
    case WIRE_CMD_INSPECT:
        understood = on_inspect(frame);
        break;
    case WIRE_CMD_END:
        record_counts();
        break;
    default:
        record_error(WIRE_ERROR_UNKNOWN_COMMAND, frame->type, "this firmware does not know the command");
        return;
    }
    if (!understood) {
        record_error(WIRE_ERROR_BAD_PAYLOAD, frame->type, "the command's fields cannot be used");
    }
}

void conversation_run(int init_code) {
    static uint8_t bytes[256];
    frame_view_t frame;

    engine_code = init_code;
    frame_decoder_init(&decoder);
    for (;;) {
        const uint32_t count = hal_transport_read(bytes, sizeof(bytes));

        for (uint32_t i = 0; i < count; i++) {
            const frame_status_t status = frame_decoder_push(&decoder, bytes[i], &frame);

            if (status == FRAME_OK) {
                on_frame(&frame);
            } else if (status != FRAME_NONE && session_open) {
                record_error(WIRE_ERROR_BAD_FRAME, (uint32_t)status, "a damaged command frame");
            }
        }
    }
}
