/* What an instruction of the T32 instruction set is. Knows nothing of the emulator. */
#ifndef COUNTERS_DECODE_H
#define COUNTERS_DECODE_H

#include <stdint.h>

#include "kinds.h"

typedef struct decoded {
    kind_t kind;
    uint8_t words;      /* 32-bit words that an instruction of flag KF_MULTIPLE transfers; else 0 */
    uint8_t align_mask; /* address bits that make a single scalar access an unaligned one; else 0 */
} decoded_t;

/* `first` is the instruction's first halfword, `second` its second one (ignored for 16-bit instructions). */
decoded_t decode(uint16_t first, uint16_t second);

/* Coprocessor space of 32-bit instructions, the floating-point and M-profile vector extensions among it. */
decoded_t decode_coprocessor(uint16_t first, uint16_t second);
kind_t decode_mve_arithmetic(uint16_t first, uint16_t second);

const char *kind_name(kind_t kind);
uint32_t kind_flags(kind_t kind);

static inline decoded_t of_kind(kind_t kind) {
    return (decoded_t){.kind = kind};
}

/* Bits high..low of a halfword. */
static inline unsigned bits(uint16_t word, unsigned high, unsigned low) {
    return (unsigned)word >> low & ((1u << (high - low + 1u)) - 1u);
}

static inline unsigned bit(uint16_t word, unsigned position) {
    return (unsigned)word >> position & 1u;
}

#endif
