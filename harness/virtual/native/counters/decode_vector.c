/* Coprocessor space: floating point, the M-profile vector extension (MVE, "Helium"), custom coprocessors. */

#include "decode.h"

enum { CP_HALF = 9, CP_SINGLE = 10, CP_DOUBLE = 11, CP_COMPLEX = 8 };

static decoded_t multiple(kind_t kind, unsigned words) {
    return (decoded_t){.kind = kind, .words = (uint8_t)words};
}

static kind_t by_precision(int half, kind_t half_kind, kind_t single_kind) {
    return half ? half_kind : single_kind;
}

/* Loads and stores of the MVE, and of FP system registers: coprocessor numbers 14 and 15. */
static decoded_t mve_memory(uint16_t h, uint16_t g) {
    const int load = bit(h, 4);
    const unsigned pre_or_offset = bit(h, 8), write_back = bit(h, 5);

    if (bit(g, 12)) {
        if (bit(h, 12)) {
            if (pre_or_offset) {
                return of_kind(load ? KIND_MVE_GATHER : KIND_MVE_SCATTER);
            }
            return of_kind(load ? KIND_MVE_LOAD_INTERLEAVED : KIND_MVE_STORE_INTERLEAVED);
        }
        return of_kind(load ? KIND_MVE_LOAD : KIND_MVE_STORE);
    }
    if (bits(g, 8, 7) == 3u && !bit(h, 12) && (pre_or_offset || write_back)) {
        return of_kind(load ? KIND_FP_LOAD : KIND_FP_STORE); /* VLDR, VSTR of a system register */
    }
    if (pre_or_offset || write_back) {
        return of_kind(load ? KIND_MVE_LOAD : KIND_MVE_STORE);
    }
    if (!bit(h, 7)) {
        /* VMOV between two lanes and two core registers */
        return of_kind((h & 0xFFA0u) == 0xEC00u && (g & 0x1FE0u) == 0x0F00u ? KIND_MVE_MOVE : KIND_UNKNOWN);
    }
    return of_kind(load ? KIND_MVE_GATHER : KIND_MVE_SCATTER);
}

/* Loads and stores of the floating-point extension, moves of two core registers. */
static decoded_t fp_memory(uint16_t h, uint16_t g) {
    const int load = bit(h, 4);
    const unsigned words = g & 0xFFu;

    if ((h & 0xFFE0u) == 0xEC40u) {
        return of_kind(bit(g, 4) ? KIND_FP_MOVE : KIND_UNKNOWN);
    }
    if ((h & 0xFFBFu) == 0xEC9Fu) { /* VSCCLRM */
        return of_kind(KIND_FP_SYSTEM);
    }
    if (bit(h, 8) && !bit(h, 5)) {
        return of_kind(load ? KIND_FP_LOAD : KIND_FP_STORE);
    }
    return multiple(load ? KIND_FP_LOAD_MULTIPLE : KIND_FP_STORE_MULTIPLE, words);
}

/* Register transfers between the core and FP or vector registers. */
static kind_t fp_transfer(uint16_t h, uint16_t g, unsigned coprocessor) {
    if (coprocessor == CP_HALF) {
        return KIND_FP_MOVE;
    }
    if (coprocessor == CP_SINGLE) {
        return bits(h, 7, 5) == 7u ? KIND_FP_SYSTEM : KIND_FP_MOVE;
    }
    if (bit(h, 7) && !bit(h, 4)) { /* VDUP */
        return KIND_MVE_MOVE;
    }
    /* Lanes of a word belong to the floating-point extension, smaller ones to the MVE. */
    return bit(h, 6) || bit(g, 5) ? KIND_MVE_MOVE : KIND_FP_MOVE;
}

static kind_t fp_arithmetic(uint16_t h, uint16_t g) {
    if (bit(h, 12)) { /* VSEL, VMAXNM, VMINNM, VRINTx, VCVTx, VMOVX, VINS */
        return (h & 0xFFBFu) == 0xFEB0u && bit(g, 6) ? KIND_FP_MOVE : KIND_FP_ALU;
    }
    switch (bit(h, 7) << 2 | bits(h, 5, 4)) {
    case 2:
        return KIND_FP_MULTIPLY;
    case 3:
        return KIND_FP_ALU;
    case 4:
        return KIND_FP_DIVIDE;
    case 7:
        break;
    default:
        return KIND_FP_MAC;
    }
    if (!bit(g, 6)) { /* VMOV of an immediate */
        return KIND_FP_MOVE;
    }
    switch (bits(h, 3, 0) << 1 | bit(g, 7)) {
    case 0x0:
        return KIND_FP_MOVE;
    case 0x3:
        return KIND_FP_SQRT;
    default:
        return KIND_FP_ALU;
    }
}

/* Three registers of the same shape, one register, shifts and immediates: 0xEFxx and 0xFFxx. */
static kind_t mve_same_shape(uint16_t h, uint16_t g) {
    const unsigned operation = bits(g, 11, 8);

    if (!bit(h, 7)) {
        const int half = bit(h, 4);

        switch (operation) {
        case 0x9:
        case 0xB:
            return KIND_MVE_MAC;
        case 0xC:
            return by_precision(half, KIND_MVE_HALF_MAC, KIND_MVE_SINGLE_MAC);
        case 0xD:
            return bit(g, 4) ? by_precision(half, KIND_MVE_HALF_MAC, KIND_MVE_SINGLE_MAC)
                             : by_precision(half, KIND_MVE_HALF, KIND_MVE_SINGLE);
        case 0xF:
            return by_precision(half, KIND_MVE_HALF, KIND_MVE_SINGLE);
        default:
            return KIND_MVE_INTEGER;
        }
    }
    if (bit(g, 4)) {
        if (bits(h, 5, 3) == 0u) {
            return KIND_MVE_MOVE;
        }
        return operation < 0xCu ? KIND_MVE_INTEGER : by_precision(!bit(g, 9), KIND_MVE_HALF, KIND_MVE_SINGLE);
    }
    if (bit(h, 1) || (bit(h, 0) && bit(g, 10))) {
        return by_precision(bits(h, 3, 2) == 1u, KIND_MVE_HALF, KIND_MVE_SINGLE);
    }
    return KIND_MVE_INTEGER;
}

decoded_t decode_coprocessor(uint16_t h, uint16_t g) {
    const unsigned coprocessor = bits(g, 11, 8);
    const int floating = coprocessor >= CP_HALF && coprocessor <= CP_DOUBLE;

    if (bits(h, 9, 8) == 3u) {
        return of_kind(mve_same_shape(h, g));
    }
    if (coprocessor < CP_COMPLEX) {
        return of_kind(KIND_COPROCESSOR);
    }
    if (bits(h, 9, 8) == 2u) {
        if (coprocessor >= 14u) {
            return of_kind(decode_mve_arithmetic(h, g));
        }
        if (!floating) {
            return of_kind(KIND_UNKNOWN);
        }
        return of_kind(bit(g, 4) ? fp_transfer(h, g, coprocessor) : fp_arithmetic(h, g));
    }
    if (coprocessor >= 14u) {
        return mve_memory(h, g);
    }
    if (floating && !bit(h, 12)) {
        return fp_memory(h, g);
    }
    if (coprocessor == CP_COMPLEX && bit(h, 12)) { /* VCADD, VCMLA */
        const int half = !bit(h, 4), add = !bit(h, 5);

        return of_kind(add ? by_precision(half, KIND_MVE_HALF, KIND_MVE_SINGLE)
                           : by_precision(half, KIND_MVE_HALF_MAC, KIND_MVE_SINGLE_MAC));
    }
    return of_kind(KIND_UNKNOWN);
}
