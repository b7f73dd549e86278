#include "records.h"

#include <string.h>

#include "hal.h"

#ifndef BOARD_RESET_CAUSE
#define BOARD_RESET_CAUSE 0u
#endif

static frame_encoder_t encoder;
static uint32_t session_nonce;
static uint32_t next_sequence;
static uint32_t counts[WIRE_RECORD_COUNT];

static void write_bytes(void *context, const uint8_t *data, uint32_t bytes) {
    (void)context;
    hal_transport_write(data, bytes);
}

void records_open(uint32_t nonce) {
    static const uint8_t delimiter = 0u;

    session_nonce = nonce;
    next_sequence = 0u;
    memset(counts, 0, sizeof(counts));
    hal_transport_write(&delimiter, 1u);
}

void records_boot(void) {
    records_open(0u);
    record_begin(WIRE_BOOT, 0u);
    record_u32(BOARD_RESET_CAUSE);
    record_end();
}

void record_begin(wire_record_t type, uint8_t flags) {
    counts[type]++;
    encoder.write = write_bytes;
    frame_begin(&encoder, (uint8_t)type, flags, next_sequence++, session_nonce);
}

void record_u8(uint8_t value) {
    frame_put(&encoder, &value, 1u);
}

void record_u16(uint16_t value) {
    const uint8_t bytes[2] = {(uint8_t)value, (uint8_t)(value >> 8)};

    frame_put(&encoder, bytes, sizeof(bytes));
}

void record_u32(uint32_t value) {
    const uint8_t bytes[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
                              (uint8_t)(value >> 24)};

    frame_put(&encoder, bytes, sizeof(bytes));
}

void record_u64(uint64_t value) {
    record_u32((uint32_t)value);
    record_u32((uint32_t)(value >> 32));
}

void record_text(const char *text) {
    const size_t length = strlen(text);
    const uint8_t kept = length < 255u ? (uint8_t)length : 255u;

    record_u8(kept);
    frame_put(&encoder, text, kept);
}

void record_bytes(const void *data, uint32_t bytes) {
    frame_put(&encoder, data, bytes);
}

void record_end(void) {
    frame_end(&encoder);
}

void record_chunks(wire_record_t type, const uint32_t *prefix, uint32_t prefix_words, const void *data,
                   uint32_t bytes) {
    const uint32_t room = FRAME_MAX_PAYLOAD - 4u * (prefix_words + 2u);
    const uint8_t *source = data;
    uint32_t offset = 0u;

    do {
        const uint32_t left = bytes - offset;
        const uint32_t chunk = left < room ? left : room;

        record_begin(type, chunk == left ? WIRE_FLAG_LAST : 0u);
        for (uint32_t i = 0; i < prefix_words; i++) {
            record_u32(prefix[i]);
        }
        record_u32(offset);
        record_u32(bytes);
        record_bytes(&source[offset], chunk);
        record_end();
        offset += chunk;
    } while (offset < bytes);
}

void record_log(const char *text) {
    record_begin(WIRE_LOG, 0u);
    record_text(text);
    record_end();
}

void record_error(wire_error_t code, uint32_t detail, const char *text) {
    record_begin(WIRE_ERROR, 0u);
    record_u16((uint16_t)code);
    record_u32(detail);
    record_text(text);
    record_end();
}

void record_counts(void) {
    uint8_t kinds = 0u;

    for (uint32_t type = 0; type < WIRE_RECORD_COUNT; type++) {
        kinds += counts[type] != 0u ? 1u : 0u;
    }
    /* The counts stand still before the record that carries them is begun, so END does not count itself. */
    uint32_t sent[WIRE_RECORD_COUNT];
    memcpy(sent, counts, sizeof(sent));
    record_begin(WIRE_END, 0u);
    record_u8(kinds);
    for (uint32_t type = 0; type < WIRE_RECORD_COUNT; type++) {
        if (sent[type] != 0u) {
            record_u8((uint8_t)type);
            record_u32(sent[type]);
        }
    }
    record_end();
}

void app_fault(const hal_fault_t *fault, const uint32_t *stack, uint32_t stack_words) {
    static const uint8_t delimiter = 0u;

    /* The fault may have come in the middle of a frame: end it, so that this one is read. */
    hal_transport_write(&delimiter, 1u);
    record_begin(WIRE_FAULT, 0u);
    for (uint32_t i = 0; i < 13u; i++) {
        record_u32(fault->r[i]);
    }
    record_u32(fault->sp);
    record_u32(fault->lr);
    record_u32(fault->pc);
    record_u32(fault->xpsr);
    record_u32(fault->exc_return);
    record_u32(fault->exception);
    record_u32(fault->cfsr);
    record_u32(fault->hfsr);
    record_u32(fault->mmfar);
    record_u32(fault->bfar);
    record_u32(stack_words);
    for (uint32_t i = 0; i < stack_words; i++) {
        record_u32(stack[i]);
    }
    record_end();
}
