/* Fixed point: Qm.n has m integer and n fractional bits beside the sign. */
#include "nn_softmax.h"

#include <stddef.h>

#define ONE_Q0 INT32_MAX

/* exp(x) for x in [-1/4, 0), Q0.31: a Taylor polynomial of degree 4 around -1/8. */
static int32_t exp_of_small(int32_t x) {
    const int32_t exp_of_center = 1895147668; /* exp(-1/8) */
    const int32_t third = 715827883;          /* 1/3 */
    const int32_t t = x + (1 << 28);
    const int32_t t2 = nn_mul_high(t, t);
    const int32_t t3 = nn_mul_high(t2, t);
    const int32_t t4 = nn_mul_high(t2, t2);
    const int32_t tail = nn_mul_high(nn_divide_by_power(t4, 2) + t3, third);
    const int32_t series = t + nn_divide_by_power(tail + t2, 1);

    return exp_of_center + nn_mul_high(exp_of_center, series);
}

/* exp(x) for x <= 0 in Q5.26; the result is Q0.31. x = small - k/4, and exp(-k/4) is a product of powers. */
static int32_t exp_of(int32_t x) {
    static const int32_t power[] = {
        1672461947, /* exp(-1/4) */
        1302514674, /* exp(-1/2) */
        790015084,  /* exp(-1) */
        290630308,  /* exp(-2) */
        39332535,   /* exp(-4) */
        720401,     /* exp(-8) */
        242,        /* exp(-16) */
    };
    const int32_t quarter = 1 << 24;
    const int32_t small = (x & (quarter - 1)) - quarter;
    const int32_t rest = small - x;
    int32_t result = exp_of_small((int32_t)((uint32_t)small << 5));

    if (x == 0) {
        return ONE_Q0;
    }
    for (size_t i = 0; i < sizeof(power) / sizeof(power[0]); i++) {
        if ((rest & (quarter << i)) != 0) {
            result = nn_mul_high(result, power[i]);
        }
    }
    return result;
}

/* x * 2^exponent, saturated. */
static int32_t shift_up(int32_t x, int32_t exponent) {
    const int32_t most = (int32_t)((1u << (31 - exponent)) - 1u);

    if (x > most) {
        return INT32_MAX;
    }
    if (x < -most) {
        return INT32_MIN;
    }
    return (int32_t)((uint32_t)x << exponent);
}

/* 1 / (1 + x) for x in [0, 1), Q0.31: three steps of Newton's method on half the denominator. */
static int32_t reciprocal_of_one_plus(int32_t x) {
    const int32_t half_denominator = (int32_t)(((int64_t)x + ONE_Q0 + 1) / 2);
    const int32_t line_at_0 = 1515870810;   /* 48/17 in Q2.29 */
    const int32_t line_slope = -1010580540; /* -32/17 in Q2.29 */
    int32_t guess = line_at_0 + nn_mul_high(half_denominator, line_slope);

    for (int32_t step = 0; step < 3; step++) {
        const int32_t error = (1 << 29) - nn_mul_high(half_denominator, guess);

        guess += shift_up(nn_mul_high(guess, error), 2);
    }
    return shift_up(guess, 1);
}

/* exp of a difference from the row's largest value. */
static int32_t exp_of_difference(const nn_softmax_t *p, int32_t difference) {
    return exp_of(nn_scale(difference, p->multiplier, p->shift));
}

static void softmax_row(const nn_softmax_t *p, const int8_t *x, int8_t *y) {
    const int32_t sum_headroom = 12; /* sums are Q12.19 */
    int32_t largest = INT8_MIN;
    uint32_t sum = 0u;
    int32_t factor, places, exponent;

    for (int32_t i = 0; i < p->depth; i++) {
        largest = x[i] > largest ? x[i] : largest;
    }
    for (int32_t i = 0; i < p->depth; i++) {
        if (x[i] - largest >= p->least) {
            sum += (uint32_t)nn_divide_by_power(exp_of_difference(p, x[i] - largest), sum_headroom);
        }
    }
    /* The sum is 2^n times 1 + f; its reciprocal is that of 1 + f, shifted. */
    places = __builtin_clz(sum);
    exponent = sum_headroom - places + 31 - 8;
    factor = reciprocal_of_one_plus((int32_t)((sum << places) - (1u << 31)));
    for (int32_t i = 0; i < p->depth; i++) {
        const int32_t difference = x[i] - largest;
        int32_t value = INT8_MIN;

        if (difference >= p->least && exponent < 32) {
            const int32_t share = nn_mul_high(factor, exp_of_difference(p, difference));

            value = nn_clamp(nn_divide_by_power(share, exponent) + INT8_MIN, INT8_MIN, INT8_MAX);
        }
        y[i] = (int8_t)value;
    }
}

void nn_softmax(const nn_softmax_t *p, const int8_t *x, int8_t *y) {
    for (int32_t row = 0; row < p->rows; row++, x += p->depth, y += p->depth) {
        softmax_row(p, x, y);
    }
}
