/*
 * Frame codec: COBS framing and CRC-32.
 *
 * A frame is type u8, flags u8, sequence u32, session nonce u32, payload, CRC-32 of all before it;
 * little-endian; COBS encoded; ended by a zero byte. No dependency on the rest of the firmware, so that it is
 * compiled and fuzzed on a host.
 */
#ifndef HARNESS_FRAMES_H
#define HARNESS_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#define FRAME_HEADER_BYTES 10u
#define FRAME_CRC_BYTES 4u
#define FRAME_MAX_PAYLOAD 2048u
#define FRAME_MAX_BYTES (FRAME_HEADER_BYTES + FRAME_MAX_PAYLOAD + FRAME_CRC_BYTES)
#define FRAME_COBS_BLOCK 254u
#define FRAME_COBS_FULL 255u

/* CRC-32/ISO-HDLC (reflected 0xEDB88320). Chains: start with 0, pass the result on. */
uint32_t frame_crc32(uint32_t crc, const uint8_t *data, uint32_t bytes);

typedef void (*frame_write_fn)(void *context, const uint8_t *data, uint32_t bytes);

/* Set write and context, then call frame_begin, any number of frame_put, frame_end. */
typedef struct frame_encoder {
    frame_write_fn write;
    void *context;
    uint32_t crc;
    uint32_t payload;
    uint32_t used;
    uint8_t block[FRAME_COBS_BLOCK + 1u];
} frame_encoder_t;

void frame_begin(frame_encoder_t *encoder, uint8_t type, uint8_t flags, uint32_t sequence, uint32_t nonce);
/* What exceeds FRAME_MAX_PAYLOAD in total is dropped: callers chunk. */
void frame_put(frame_encoder_t *encoder, const void *data, uint32_t bytes);
void frame_end(frame_encoder_t *encoder);

typedef enum frame_status {
    FRAME_NONE,      /* no frame ended with this byte */
    FRAME_OK,        /* a frame ended and is whole */
    FRAME_BAD_COBS,  /* a frame ended inside a block */
    FRAME_BAD_CRC,   /* the checksum differs */
    FRAME_TOO_SHORT, /* less than a header and a checksum */
    FRAME_TOO_LONG,  /* more than FRAME_MAX_BYTES */
} frame_status_t;

/* Points into the decoder's buffer; valid until the next push. */
typedef struct frame_view {
    uint8_t type;
    uint8_t flags;
    uint32_t sequence;
    uint32_t nonce;
    const uint8_t *payload;
    uint32_t payload_bytes;
} frame_view_t;

typedef struct frame_decoder {
    uint32_t used;
    uint32_t left;
    uint8_t code;
    bool skip;
    uint8_t buffer[FRAME_MAX_BYTES];
} frame_decoder_t;

void frame_decoder_init(frame_decoder_t *decoder);
frame_status_t frame_decoder_push(frame_decoder_t *decoder, uint8_t byte, frame_view_t *view);

#endif
