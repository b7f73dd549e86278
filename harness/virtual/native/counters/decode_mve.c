/* Arithmetic of the MVE in 0xEExx and 0xFExx, where the second halfword's bits 11..9 are ones. */

#include "decode.h"

static kind_t by_precision(int half, kind_t half_kind, kind_t single_kind) {
    return half ? half_kind : single_kind;
}

/* Two vectors, bit 23 clear. `full` tells that the size field is 0b11, which here selects other operations.
 */
static kind_t vectors_even(uint16_t h, uint16_t g, int full) {
    if (!bit(h, 0)) {
        /* VQDMLADH and its like; VCMUL */
        return full ? by_precision(!bit(h, 12), KIND_MVE_HALF_MAC, KIND_MVE_SINGLE_MAC) : KIND_MVE_MAC;
    }
    if (!full || !bit(g, 0)) {
        return KIND_MVE_MAC; /* VMULL, VMULH, VRMULH */
    }
    if (bits(h, 3, 0) != 15u) {
        return KIND_MVE_INTEGER; /* VMOVN, VSHLL, VMAXA and their like */
    }
    /* VMAXNMA, VMINNMA; VCVTB, VCVTT between half and single */
    return bit(g, 7) && bit(h, 12) ? KIND_MVE_HALF : KIND_MVE_SINGLE;
}

static kind_t compare(uint16_t h, int full) {
    if (!full) {
        return KIND_MVE_COMPARE;
    }
    return by_precision(bit(h, 12), KIND_MVE_COMPARE_HALF, KIND_MVE_COMPARE_SINGLE);
}

static kind_t vectors_odd(uint16_t h, uint16_t g, int full) {
    if (!bit(h, 0)) {
        return bit(g, 0) ? KIND_MVE_MAC : KIND_MVE_INTEGER; /* VQDMULL; VADC, VSBC, VCADD, VHCADD */
    }
    if (full && bit(h, 12) && !bit(g, 12) && bit(g, 0)) { /* VPSEL */
        return KIND_MVE_INTEGER;
    }
    return compare(h, full);
}

/* A vector and a core register, bit 23 clear. */
static kind_t scalar_even(uint16_t h, uint16_t g, int full) {
    if (bit(h, 0) && bit(g, 12) && bit(g, 5) && (full || bit(h, 12))) { /* VSHL and its like; VBRSR */
        return KIND_MVE_INTEGER;
    }
    return full ? by_precision(bit(h, 12), KIND_MVE_HALF_MAC, KIND_MVE_SINGLE_MAC) : KIND_MVE_MAC;
}

static kind_t scalar_odd(uint16_t h, uint16_t g, int full) {
    if (bit(h, 0)) {
        if ((h & 0xFFBFu) == 0xFE31u && (g & 0x1FFFu) == 0x0F4Du) { /* VPST, VPNOT */
            return KIND_MVE_PREDICATE;
        }
        if (full || bit(h, 12)) {
            return compare(h, full);
        }
        return KIND_MVE_INTEGER; /* VADD, VSUB, VIDUP and its like */
    }
    if (!full) {
        return KIND_MVE_INTEGER; /* VHADD, VHSUB, VQADD, VQSUB */
    }
    return bit(g, 5) ? KIND_MVE_MAC /* VQDMULL */ : by_precision(bit(h, 12), KIND_MVE_HALF, KIND_MVE_SINGLE);
}

/* Across a vector into core registers, bit 23 set. */
static kind_t across(uint16_t h, uint16_t g) {
    if (!bit(g, 8)) {
        return KIND_MVE_MAC_REDUCE;
    }
    if (bits(h, 6, 4) == 6u && bits(h, 3, 2) == 3u && !bit(h, 0) && !bit(g, 0)) { /* VMAXNMV and its like */
        return by_precision(bit(h, 12), KIND_MVE_HALF_REDUCE, KIND_MVE_SINGLE_REDUCE);
    }
    if (bit(g, 0)) {
        return KIND_MVE_REDUCE; /* VABAV */
    }
    if (bits(h, 6, 4) == 6u && !bit(h, 0)) {
        return KIND_MVE_REDUCE; /* VMAXV, VMINV, VMAXAV, VMINAV */
    }
    if (!bit(g, 12) && !bit(g, 7) && bit(h, 0) &&
        ((bits(h, 6, 4) == 7u && bits(h, 1, 0) == 1u) || bits(h, 3, 0) == 9u)) {
        return KIND_MVE_REDUCE; /* VADDV, VADDLV */
    }
    return KIND_MVE_MAC_REDUCE;
}

kind_t decode_mve_arithmetic(uint16_t h, uint16_t g) {
    const int odd = bit(g, 8), full = bits(h, 5, 4) == 3u;

    if (bit(h, 7)) {
        if (bit(g, 6)) {
            return KIND_MVE_INTEGER; /* shifts that widen or narrow, VSHLC */
        }
        return across(h, g);
    }
    if (bit(g, 6)) {
        return odd ? scalar_odd(h, g, full) : scalar_even(h, g, full);
    }
    return odd ? vectors_odd(h, g, full) : vectors_even(h, g, full);
}
