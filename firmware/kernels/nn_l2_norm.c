#include "nn_l2_norm.h"

#include "nn_math.h"

#define OUTPUT_BITS 7

typedef struct factor {
    int32_t multiplier, shift;
} factor_t;

static int32_t high(int32_t a, int32_t b) {
    const int64_t product = (int64_t)a * b;

    return (int32_t)((product + (product >= 0 ? 1 << 30 : 1 - (1 << 30))) / ((int64_t)1 << 31));
}

static int32_t shift_up(int32_t value, int32_t bits) {
    const int64_t wide = (int64_t)value * ((int64_t)1 << bits);

    return (int32_t)(wide < INT32_MIN ? INT32_MIN : wide > INT32_MAX ? INT32_MAX : wide);
}

/* 1 / sqrt(value) by Newton's method, numbers with three integer bits, as TensorFlow Lite does it. */
static factor_t inverse_root(int32_t value) {
    factor_t result = {INT32_MAX, 0};
    int32_t pairs = 0, x = 1 << 28, half;

    if (value <= 1) {
        return result;
    }
    result.shift = 11;
    while (value >= 1 << 29) {
        value /= 4;
        result.shift++;
    }
    while ((uint32_t)value << (2 * pairs + 2) < 1u << 29) {
        pairs++;
    }
    value = (int32_t)((uint32_t)value << (2 * pairs));
    result.shift -= pairs;
    half = nn_divide_by_power(value >> 1, 1);
    for (int32_t i = 0; i < 5; i++) {
        const int32_t cube = shift_up(high(high(x, x), x), 6);

        x = shift_up(high((1 << 28) + (1 << 27), x) - high(half, cube), 3);
    }
    result.multiplier = high(x, 1518500250);
    if (result.shift < 0) {
        result.multiplier = (int32_t)((uint32_t)result.multiplier << -result.shift);
        result.shift = 0;
    }
    result.shift = -result.shift;
    return result;
}

void nn_l2_norm_8(const nn_l2_norm_t *p, const void *x, void *y) {
    const int8_t *from = x;
    int8_t *to = y;

    for (int32_t row = 0; row < p->rows; row++, from += p->depth, to += p->depth) {
        int32_t sum = 0;
        factor_t factor;

        for (int32_t i = 0; i < p->depth; i++) {
            sum += (from[i] - p->zero) * (from[i] - p->zero);
        }
        factor = inverse_root(sum);
        for (int32_t i = 0; i < p->depth; i++) {
            to[i] =
                (int8_t)nn_clamp(nn_scale(from[i] - p->zero, factor.multiplier, factor.shift + OUTPUT_BITS),
                                 INT8_MIN, INT8_MAX);
        }
    }
}
