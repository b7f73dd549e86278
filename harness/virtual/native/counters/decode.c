/* 16-bit instructions and the integer part of the 32-bit ones. */

#include "decode.h"

#define PC 15u
#define LR 14u

const char *kind_name(kind_t kind) {
    static const char *const names[KIND_COUNT] = {
#define X(identifier, name, flags) name,
        KINDS(X)
#undef X
    };
    return kind < KIND_COUNT ? names[kind] : "";
}

uint32_t kind_flags(kind_t kind) {
    static const uint32_t all[KIND_COUNT] = {
#define X(identifier, name, flags) flags,
        KINDS(X)
#undef X
    };
    return kind < KIND_COUNT ? all[kind] : 0u;
}

static decoded_t access(kind_t kind, unsigned size_shift) {
    return (decoded_t){.kind = kind, .align_mask = (uint8_t)((1u << size_shift) - 1u)};
}

static decoded_t multiple(kind_t kind, unsigned registers) {
    return (decoded_t){.kind = kind, .words = (uint8_t)__builtin_popcount(registers)};
}

/* Data processing, special data and branch exchange: 0x4000..0x47FF. */
static decoded_t decode16_register(uint16_t h) {
    const unsigned rd = bit(h, 7) << 3 | bits(h, 2, 0);
    const unsigned rm = bits(h, 6, 3);

    if (h < 0x4400u) {
        return of_kind(bits(h, 9, 6) == 13u ? KIND_MULTIPLY : KIND_ALU);
    }
    switch (bits(h, 9, 8)) {
    case 0: /* ADD */
        return of_kind(rd == PC ? KIND_BRANCH_INDIRECT : KIND_ALU);
    case 1: /* CMP */
        return of_kind(KIND_ALU);
    case 2: /* MOV */
        return of_kind(rd != PC ? KIND_ALU : rm == LR ? KIND_RETURN : KIND_BRANCH_INDIRECT);
    default: /* BX, BLX */
        return of_kind(bit(h, 7) ? KIND_CALL_INDIRECT : rm == LR ? KIND_RETURN : KIND_BRANCH_INDIRECT);
    }
}

/* Miscellaneous: 0xB000..0xBFFF. */
static decoded_t decode16_misc(uint16_t h) {
    if ((h & 0xF500u) == 0xB100u) {
        return of_kind(KIND_BRANCH_COMPARE);
    }
    switch (bits(h, 11, 8)) {
    case 0x0: /* ADD, SUB of SP */
    case 0x2: /* SXTH, SXTB, UXTH, UXTB */
        return of_kind(KIND_ALU);
    case 0x4:
    case 0x5:
        return multiple(KIND_STORE_MULTIPLE, h & 0x1FFu);
    case 0x6: /* CPS */
        return of_kind((h & 0xFFE8u) == 0xB660u ? KIND_SYSTEM : KIND_UNKNOWN);
    case 0xA: /* REV, REV16, HLT, REVSH */
        return of_kind(bits(h, 7, 6) == 2u ? KIND_EXCEPTION : KIND_ALU);
    case 0xC:
        return multiple(KIND_LOAD_MULTIPLE, h & 0xFFu);
    case 0xD:
        return multiple(KIND_LOAD_RETURN, h & 0x1FFu);
    case 0xE: /* BKPT */
        return of_kind(KIND_EXCEPTION);
    case 0xF:
        return of_kind((h & 0xFu) != 0u ? KIND_IF_THEN : KIND_HINT);
    default:
        return of_kind(KIND_UNKNOWN);
    }
}

static decoded_t decode16(uint16_t h) {
    /* STR, STRH, STRB, LDRSB, LDR, LDRH, LDRB, LDRSH with a register offset */
    static const uint8_t offset_shift[8] = {2, 1, 0, 0, 2, 1, 0, 1};
    const kind_t single = bit(h, 11) ? KIND_LOAD : KIND_STORE;

    switch (h >> 12) {
    case 0x0:
    case 0x1:
    case 0x2:
    case 0x3:
    case 0xA:
        return of_kind(KIND_ALU);
    case 0x4:
        return h < 0x4800u ? decode16_register(h) : access(KIND_LOAD, 2);
    case 0x5:
        return access(bits(h, 11, 9) < 3u ? KIND_STORE : KIND_LOAD, offset_shift[bits(h, 11, 9)]);
    case 0x6:
    case 0x9:
        return access(single, 2);
    case 0x7:
        return access(single, 0);
    case 0x8:
        return access(single, 1);
    case 0xB:
        return decode16_misc(h);
    case 0xC:
        return multiple(bit(h, 11) ? KIND_LOAD_MULTIPLE : KIND_STORE_MULTIPLE, h & 0xFFu);
    case 0xD:
        return of_kind(bits(h, 11, 9) == 7u ? KIND_EXCEPTION : KIND_BRANCH_CONDITIONAL);
    default:
        return of_kind(KIND_BRANCH);
    }
}

/* Load and store multiple, double, exclusive; table branch: 0xE800..0xE9FF. */
static decoded_t decode32_multiple(uint16_t h, uint16_t g) {
    if (h == 0xE89Fu) { /* CLRM */
        return of_kind(KIND_ALU);
    }
    if (bits(h, 8, 7) == 0u || bits(h, 8, 7) == 3u) {
        return of_kind(KIND_UNKNOWN);
    }
    if (!bit(h, 4)) {
        return multiple(KIND_STORE_MULTIPLE, g);
    }
    return multiple(bit(g, 15) ? KIND_LOAD_RETURN : KIND_LOAD_MULTIPLE, g);
}

static decoded_t decode32_double(uint16_t h, uint16_t g) {
    if (h == 0xE97Fu && g == 0xE97Fu) { /* SG */
        return of_kind(KIND_SYSTEM);
    }
    if (bit(h, 8) || bit(h, 5)) {
        return of_kind(bit(h, 4) ? KIND_LOAD_DOUBLE : KIND_STORE_DOUBLE);
    }
    if (!bit(h, 7) && !bit(h, 4) && bits(g, 15, 12) == 15u) { /* TT */
        return of_kind(KIND_SYSTEM);
    }
    if (bit(h, 7) && bit(h, 4) && bits(g, 7, 5) == 0u) {
        return of_kind(KIND_TABLE_BRANCH);
    }
    return of_kind(bit(h, 4) ? KIND_LOAD_EXCLUSIVE : KIND_STORE_EXCLUSIVE);
}

/* Low-overhead loops and branch futures. */
static decoded_t decode32_loop(uint16_t h, uint16_t g) {
    if (bits(h, 10, 6) == 0u && bits(g, 15, 11) == 0x1Du) { /* VCTP */
        return of_kind(KIND_MVE_PREDICATE);
    }
    if (!bit(g, 0)) {
        return of_kind(KIND_UNKNOWN);
    }
    if (bits(h, 10, 7) != 0u) {
        return of_kind(KIND_BRANCH_FUTURE);
    }
    if (!bit(g, 13)) {
        return of_kind((h & 0xFFCFu) == 0xF00Fu && h != 0xF03Fu ? KIND_LOOP_END : KIND_LOOP_WHILE);
    }
    return of_kind(!bit(h, 6) && bits(h, 3, 0) == PC ? KIND_LOOP_CLEAR : KIND_LOOP_START);
}

/* Branches and miscellaneous control: 0xF000..0xF7FF with the top bit of the second halfword set. */
static decoded_t decode32_branch(uint16_t h, uint16_t g) {
    switch (bit(g, 14) << 1 | bit(g, 12)) {
    case 1:
        return of_kind(KIND_BRANCH);
    case 2:
        return decode32_loop(h, g);
    case 3:
        return of_kind(KIND_CALL);
    default:
        break;
    }
    if (bits(h, 9, 7) != 7u) {
        return of_kind(KIND_BRANCH_CONDITIONAL);
    }
    if (bit(h, 10)) {
        return of_kind(KIND_EXCEPTION);
    }
    if (h == 0xF3AFu && bits(g, 10, 8) == 0u) {
        return of_kind(KIND_HINT);
    }
    if (h == 0xF3BFu && bits(g, 7, 4) >= 4u) {
        return of_kind(KIND_BARRIER);
    }
    return of_kind(KIND_SYSTEM); /* MSR, MRS, CPS, CLREX */
}

/* Loads and stores of one register: 0xF800..0xF9FF. */
static decoded_t decode32_single(uint16_t h, uint16_t g) {
    const unsigned shift = bits(h, 6, 5);

    if (shift == 3u) {
        return of_kind(KIND_UNKNOWN);
    }
    if (!bit(h, 4)) {
        return access(KIND_STORE, shift);
    }
    if (bits(g, 15, 12) != PC) {
        return access(KIND_LOAD, shift);
    }
    if (shift != 2u) { /* preloads and what is reserved for them */
        return of_kind(KIND_HINT);
    }
    if (h == 0xF85Du && (g & 0x0FFFu) == 0x0B04u) { /* POP {pc} */
        return (decoded_t){.kind = KIND_LOAD_RETURN, .words = 1};
    }
    return of_kind(KIND_LOAD_JUMP);
}

/* Data processing with registers: 0xFA00..0xFAFF. */
static decoded_t decode32_register(uint16_t h, uint16_t g) {
    if (!bit(h, 7)) {
        return of_kind(KIND_ALU); /* shifts and extensions */
    }
    if (!bit(g, 7)) {
        return of_kind(KIND_DSP); /* parallel additions and subtractions */
    }
    /* QADD and its like, then REV, SEL, CLZ */
    return of_kind(bits(h, 5, 4) == 0u || bits(h, 5, 4) == 2u ? KIND_DSP : KIND_ALU);
}

/* Multiplications and divisions: 0xFB00..0xFBFF. */
static decoded_t decode32_multiply(uint16_t h, uint16_t g) {
    const unsigned operation = bits(h, 6, 4);

    if (bit(h, 7)) {
        if (operation == 1u || operation == 3u) {
            return of_kind(KIND_DIVIDE);
        }
        return of_kind(operation == 0u || operation == 2u ? KIND_MULTIPLY : KIND_MAC);
    }
    if (operation == 7u) {
        return of_kind(KIND_DSP); /* USAD8, USADA8 */
    }
    if (bits(g, 15, 12) != 15u || operation == 6u || (operation == 0u && bits(g, 7, 4) != 0u)) {
        return of_kind(KIND_MAC);
    }
    return of_kind(KIND_MULTIPLY);
}

decoded_t decode(uint16_t h, uint16_t g) {
    if (h < 0xE800u) {
        return decode16(h);
    }
    if (bits(h, 11, 10) == 3u) {
        return decode_coprocessor(h, g);
    }
    if (h < 0xEA00u) {
        return bit(h, 6) ? decode32_double(h, g) : decode32_multiple(h, g);
    }
    if (h < 0xF000u) {
        return of_kind(KIND_ALU);
    }
    if (h < 0xF800u) {
        return bit(g, 15) ? decode32_branch(h, g) : of_kind(KIND_ALU);
    }
    if (h < 0xFA00u) {
        return decode32_single(h, g);
    }
    return h < 0xFB00u ? decode32_register(h, g) : decode32_multiply(h, g);
}
