/* Records to the host: frames with the session's nonce, numbered and counted. */
#ifndef HARNESS_RECORDS_H
#define HARNESS_RECORDS_H

#include <stdint.h>

#include "frames.h"
#include "wire.h"

/* A session begins with the host's nonce; sequence and counts start at zero. */
void records_open(uint32_t nonce);
/* Say that the firmware has just booted, under the nonce 0. */
void records_boot(void);

/* One record at a time: begin, put fields, end. All integers little-endian. */
void record_begin(wire_record_t type, uint8_t flags);
void record_u8(uint8_t value);
void record_u16(uint16_t value);
void record_u32(uint32_t value);
void record_u64(uint64_t value);
void record_text(const char *text); /* u8 length, bytes; cut at 255 */
void record_bytes(const void *data, uint32_t bytes);
void record_end(void);

/* A stretch of memory in as many records as it takes; `prefix` words, then offset u32, total u32, bytes. */
void record_chunks(wire_record_t type, const uint32_t *prefix, uint32_t prefix_words, const void *data,
                   uint32_t bytes);

void record_log(const char *text);
void record_error(wire_error_t code, uint32_t detail, const char *text);

/* The END record: how many records of each kind this session sent. */
void record_counts(void);

#endif
