/* Reading flatbuffers: tables, vectors and scalars in place. The harness has checked the file before it was
 * linked; a field that is missing reads as its default. */
#ifndef FLAT_H
#define FLAT_H

#include <stdint.h>
#include <string.h>

typedef const uint8_t *flat_t; /* a table, or a vector; 0: not there */

static inline uint32_t flat_word(flat_t at) {
    uint32_t value;

    memcpy(&value, at, sizeof(value));
    return value;
}

/* What an offset leads to. */
static inline flat_t flat_follow(flat_t at) {
    return at + flat_word(at);
}

/* Where a table keeps a field; 0 when it does not. */
static inline flat_t flat_field(flat_t table, uint32_t id) {
    const flat_t offsets = table - (int32_t)flat_word(table);
    uint16_t bytes, offset;

    memcpy(&bytes, offsets, sizeof(bytes));
    if (4u + 2u * id + 2u > bytes) {
        return 0;
    }
    memcpy(&offset, offsets + 4u + 2u * id, sizeof(offset));
    return offset != 0u ? table + offset : 0;
}

static inline int32_t flat_int(flat_t table, uint32_t id, int32_t otherwise) {
    const flat_t at = table != 0 ? flat_field(table, id) : 0;

    return at != 0 ? (int32_t)flat_word(at) : otherwise;
}

static inline int32_t flat_byte(flat_t table, uint32_t id) {
    const flat_t at = table != 0 ? flat_field(table, id) : 0;

    return at != 0 ? (int8_t)*at : 0;
}

/* A table or vector that a field names. */
static inline flat_t flat_child(flat_t table, uint32_t id) {
    const flat_t at = table != 0 ? flat_field(table, id) : 0;

    return at != 0 ? flat_follow(at) : 0;
}

static inline uint32_t flat_length(flat_t vector) {
    return vector != 0 ? flat_word(vector) : 0u;
}

/* Words of a vector: integers, or the bits of floats. */
static inline uint32_t flat_item(flat_t vector, uint32_t index) {
    return flat_word(vector + 4u + 4u * index);
}

static inline float flat_float_item(flat_t vector, uint32_t index) {
    const uint32_t bits = flat_item(vector, index);
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* A table in a vector of tables. */
static inline flat_t flat_table(flat_t vector, uint32_t index) {
    return flat_follow(vector + 4u + 4u * index);
}

#endif
