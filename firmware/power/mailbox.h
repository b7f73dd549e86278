/*
 * Two records in RAM, the only link between the power image and the host: the host writes a request before
 * the windows and reads the terminal record after them, through the probe. Nothing is sent or awaited
 * between. Layouts are those of harness/capture/terminal.py. All words are little-endian.
 */
#ifndef HARNESS_MAILBOX_H
#define HARNESS_MAILBOX_H

#include <stdint.h>

#define MAILBOX_MAGIC 0x52575048u /* "HPWR" */
#define MAILBOX_VERSION 1u
#define MAILBOX_WINDOWS 256u

#define REQUEST_FLAG_LOCKSTEP 0x1u

typedef enum mailbox_phase {
    PHASE_BOOTED = 1,   /* waits for a request */
    PHASE_ACCEPTED = 2, /* lets the settling time pass */
    PHASE_READY = 3,    /* waits for go */
    PHASE_WINDOW = 4,
    PHASE_DONE = 5,
    PHASE_FAILED = 6
} mailbox_phase_t;

typedef enum mailbox_error {
    MAILBOX_OK = 0,
    MAILBOX_BAD_REQUEST = 1,
    MAILBOX_ENGINE_INIT = 2,
    MAILBOX_ENGINE_INVOKE = 3,
    MAILBOX_NO_CLOCK = 4,
    MAILBOX_NO_LAYER_RANGES = 5,
    MAILBOX_NO_GO = 6,
    MAILBOX_FAULT = 7
} mailbox_error_t;

typedef struct request_window {
    uint32_t inferences;
    uint32_t first_layer;
    uint32_t layers; /* 0: whole inferences */
} request_window_t;

/* The host writes everything but the nonce first, then the nonce. */
typedef struct mailbox_request {
    uint32_t nonce;
    uint32_t flags;
    uint32_t warmup;
    uint32_t settle_ms;
    uint32_t gap_ms;
    uint32_t go_timeout_ms;
    uint32_t window_count;
    uint32_t crc; /* CRC-32 of the fields before it, then of the windows in use */
    request_window_t windows[MAILBOX_WINDOWS];
} mailbox_request_t;

typedef struct terminal_window {
    uint32_t completed;
    uint32_t gate_edges; /* 1: asserted, 2: lowered too */
    uint64_t elapsed;    /* clock ticks in inferences */
    uint64_t gate;       /* clock ticks between the gate's edges */
} terminal_window_t;

typedef struct mailbox_terminal {
    uint32_t magic;
    uint32_t version;
    uint32_t bytes;
    uint32_t phase;
    uint32_t nonce;
    uint32_t error;
    uint32_t error_detail;
    uint32_t clock_hz;
    uint32_t wires;
    uint32_t inputs_address;
    uint32_t inputs_bytes;
    uint32_t requested;
    uint32_t completed;
    uint32_t window_count;
    uint64_t elapsed; /* clock ticks from the first warm-up to the end */
    char build_id[32];
    terminal_window_t windows[MAILBOX_WINDOWS];
    uint32_t crc; /* CRC-32 of all before it; valid once the phase is DONE or FAILED */
    uint32_t reserved;
} mailbox_terminal_t;

#endif
