/* Numbers of the wire protocol. docs/wire-protocol.md says what each means; harness/capture/messages.py
 * mirrors them. */
#ifndef HARNESS_WIRE_H
#define HARNESS_WIRE_H

#define WIRE_PROTOCOL_VERSION 2u

/* Frame flag: the last of several chunks. */
#define WIRE_FLAG_LAST 0x01u

/* Rounds of the busy loop that a window can time in place of each inference. */
#define WIRE_BUSY_ROUNDS 1000u

typedef enum wire_record {
    WIRE_HELLO = 0x01,
    WIRE_LAYER = 0x02,
    WIRE_LOG = 0x03,
    WIRE_INPUT_SET = 0x04,
    WIRE_TABLE = 0x05,
    WIRE_SAMPLES = 0x06,
    WIRE_OBSERVED = 0x07,
    WIRE_OUTPUT = 0x08,
    WIRE_LAYER_OUTPUT = 0x09,
    WIRE_PASS_END = 0x0a,
    WIRE_ERROR = 0x0b,
    WIRE_FAULT = 0x0c,
    WIRE_END = 0x0d,
    WIRE_BOOT = 0x0e,
    WIRE_RECORD_COUNT = 0x0f,
} wire_record_t;

typedef enum wire_command {
    WIRE_CMD_HELLO = 0x81,
    WIRE_CMD_SET_INPUT = 0x82,
    WIRE_CMD_START = 0x83,
    WIRE_CMD_INSPECT = 0x84,
    WIRE_CMD_END = 0x85,
} wire_command_t;

typedef enum wire_pass_kind {
    WIRE_PASS_WINDOW = 0,
    WIRE_PASS_COUNTERS = 1,
    WIRE_PASS_INFER = 2,
    WIRE_PASS_INSPECT = 3,
} wire_pass_kind_t;

typedef enum wire_error {
    WIRE_ERROR_BAD_FRAME = 1,
    WIRE_ERROR_SEQUENCE = 2,
    WIRE_ERROR_UNKNOWN_COMMAND = 3,
    WIRE_ERROR_BAD_PAYLOAD = 4,
    WIRE_ERROR_STALE_NONCE = 5,
    WIRE_ERROR_ENGINE_INIT = 6,
    WIRE_ERROR_ENGINE_INVOKE = 7,
    WIRE_ERROR_COUNTER_SELF_TEST = 8,
    WIRE_ERROR_SAMPLE_MEMORY = 9,
    WIRE_ERROR_INPUT_INCOMPLETE = 10,
    WIRE_ERROR_LIFECYCLE = 11,
    WIRE_ERROR_ENGINE_EVENTS = 12,
    WIRE_ERROR_ENGINE_ARENA = 13,
} wire_error_t;

#endif
