/* Integer arithmetic shared by the kernels.
 *
 * A real factor is a multiplier and a shift: factor = multiplier * 2^(shift - 31), where the multiplier is 0
 * or in [2^30, 2^31). Sums wrap as two's complement, as they do on every target, so no input is undefined.
 */
#ifndef NN_MATH_H
#define NN_MATH_H

#include <stdint.h>

static inline int32_t nn_clamp(int32_t value, int32_t low, int32_t high) {
    return value < low ? low : value > high ? high : value;
}

/* The upper half of 2*a*b, rounded to nearest, ties upwards. Not for a == b == INT32_MIN. */
static inline int32_t nn_mul_high(int32_t a, int32_t b) {
    return (int32_t)(((int64_t)a * b + (1 << 30)) >> 31);
}

/* value / 2^exponent, rounded to nearest, ties away from zero; exponent in 0..31. Not for INT32_MIN. */
static inline int32_t nn_divide_by_power(int32_t value, int32_t exponent) {
    if (exponent == 0) {
        return value;
    }
    /* One less for negative values turns ties upwards into ties away from zero; halving last cannot overflow.
     */
    return (((value + (value >> 31)) >> (exponent - 1)) + 1) >> 1;
}

/* value * factor, rounded after the multiplication and again after the shift, as TFLM does. */
static inline int32_t nn_scale(int32_t value, int32_t multiplier, int32_t shift) {
    if (shift > 0) {
        return nn_mul_high((int32_t)((uint32_t)value << shift), multiplier);
    }
    return nn_divide_by_power(nn_mul_high(value, multiplier), -shift);
}

/* value * factor, rounded once, ties upwards. */
static inline int32_t nn_scale_once(int32_t value, int32_t multiplier, int32_t shift) {
    const int32_t places = 31 - shift;

    return (int32_t)(((int64_t)value * multiplier + ((int64_t)1 << (places - 1))) >> places);
}

/* A sum of 64 bits times a factor whose multiplier has 15 bits, 2^(-shift), rounded once. */
static inline int32_t nn_scale_wide(int64_t value, int32_t multiplier, int32_t shift) {
    return (int32_t)((value * multiplier + ((int64_t)1 << (shift - 1))) >> shift);
}

#endif
