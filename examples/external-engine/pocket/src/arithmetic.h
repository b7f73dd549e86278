/* Fixed-point arithmetic of int8 inference: a real factor is multiplier * 2^(shift - 31). */
#ifndef ARITHMETIC_H
#define ARITHMETIC_H

#include <stdint.h>

static inline int32_t clamp(int32_t value, int32_t low, int32_t high) {
    return value < low ? low : value > high ? high : value;
}

/* The upper half of 2*a*b, rounded to nearest. */
static inline int32_t high_product(int32_t a, int32_t b) {
    return (int32_t)(((int64_t)a * b + (1 << 30)) >> 31);
}

/* value / 2^places, rounded to nearest, ties away from zero. */
static inline int32_t divide_by_power(int32_t value, int32_t places) {
    const int64_t half = places > 0 ? (int64_t)1 << (places - 1) : 0;

    return (int32_t)(value >= 0 ? (value + half) >> places : -((-(int64_t)value + half) >> places));
}

/* value * factor, rounded after the product and again after the shift. */
static inline int32_t scaled(int32_t value, int32_t multiplier, int32_t shift) {
    const int32_t up = shift > 0 ? shift : 0;

    return divide_by_power(high_product((int32_t)((uint32_t)value << up), multiplier), up - shift);
}

/* Multiplier and shift of a factor. */
void fixed_point(double factor, int32_t *multiplier, int32_t *shift);

/* Shares of a row: exp(factor * x) over their sum, where x are differences from the largest; 256ths less 128.
 */
void softmax_row(const int8_t *x, int32_t depth, int32_t multiplier, int32_t shift, int32_t least, int8_t *y);

#endif
