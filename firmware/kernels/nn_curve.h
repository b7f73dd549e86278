/* LOGISTIC and TANH of int16 by interpolation in a table of 1 / (1 + exp(-i/24)), Q0.16, for i in 0..255. */
#ifndef NN_CURVE_H
#define NN_CURVE_H

#include <stdint.h>

#define NN_CURVE_ENTRIES 256

/* Inputs times `multiplier`, divided by 2^`shift`, are in units of 1 / (3 * 4096). */
typedef struct nn_curve {
    int32_t count;
    int32_t multiplier, shift;
    const uint16_t *table;
} nn_curve_t;

static inline int32_t nn_curve_input(int32_t value, int32_t multiplier, int32_t shift) {
    return (value * multiplier + (shift > 0 ? 1 << (shift - 1) : 0)) >> shift;
}

/* The result is Q0.15. */
static inline int32_t nn_curve_logistic(const uint16_t *table, int32_t x) {
    const uint32_t size = x < 0 ? 0u - (uint32_t)x : (uint32_t)x;
    const uint32_t entry = size >> 9;
    uint32_t value = 0x7fffu << 10;

    if (entry < NN_CURVE_ENTRIES - 1) {
        value = ((uint32_t)table[entry] << 9) + (size & 0x1ffu) * (uint32_t)(table[entry + 1] - table[entry]);
    }
    value = x >= 0 ? value + (1u << 9) : (1u << 25) - value + (1u << 9) - 1u;
    return (int32_t)(value >> 10);
}

/* tanh(x) = 2 / (1 + exp(-2x)) - 1; the result is Q0.15. */
static inline int32_t nn_curve_tanh(const uint16_t *table, int32_t x) {
    const uint32_t size = x < 0 ? 0u - (uint32_t)x : (uint32_t)x;
    const uint32_t entry = size >> 8;
    int32_t value = 0xffff << 8;

    if (entry < NN_CURVE_ENTRIES - 1) {
        value = (table[entry] << 8) + (int32_t)(size & 0xffu) * (table[entry + 1] - table[entry]);
    }
    value = x >= 0 ? value - (1 << 23) + (1 << 7) : (1 << 23) - value + (1 << 7) - 1;
    return value >> 8;
}

void nn_logistic_16(const nn_curve_t *p, const void *x, void *y);
void nn_tanh_16(const nn_curve_t *p, const void *x, void *y);

#endif
