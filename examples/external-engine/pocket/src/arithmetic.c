#include "arithmetic.h"

#include <string.h>

void fixed_point(double factor, int32_t *multiplier, int32_t *shift) {
    uint64_t bits, fraction;

    memcpy(&bits, &factor, sizeof(bits));
    /* A factor is fraction * 2^-53 * 2^shift with a fraction of 53 bits. */
    *shift = (int32_t)(bits >> 52 & 0x7ffu) - 1022;
    fraction = (bits & (((uint64_t)1 << 52) - 1u)) | (uint64_t)1 << 52;
    fraction = (fraction + ((uint64_t)1 << 21)) >> 22;
    if (fraction == (uint64_t)1 << 31) {
        fraction >>= 1;
        *shift += 1;
    }
    *multiplier = (int32_t)fraction;
    if (*shift < -31) {
        *multiplier = *shift = 0;
    }
}

/* exp(x) for x in [-1/4, 0), Q0.31: a polynomial of degree 4 around -1/8. */
static int32_t exp_near_zero(int32_t x) {
    const int32_t middle = 1895147668, third = 715827883;
    const int32_t t = x + (1 << 28);
    const int32_t t2 = high_product(t, t);
    const int32_t t3 = high_product(t2, t);
    const int32_t t4 = high_product(t2, t2);
    const int32_t tail = divide_by_power(high_product(divide_by_power(t4, 2) + t3, third) + t2, 1);

    return middle + high_product(middle, t + tail);
}

/* exp(x) for x <= 0 in Q5.26; the result is Q0.31. */
static int32_t exp_of(int32_t x) {
    /* exp(-2^k / 4) */
    static const int32_t powers[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
    const int32_t quarter = 1 << 24;
    const int32_t near = (x & (quarter - 1)) - quarter;
    const int32_t rest = near - x;
    int32_t result = exp_near_zero((int32_t)((uint32_t)near << 5));

    for (uint32_t k = 0; k < sizeof(powers) / sizeof(powers[0]); k++) {
        if ((rest & (quarter << k)) != 0) {
            result = high_product(result, powers[k]);
        }
    }
    return x == 0 ? INT32_MAX : result;
}

static int32_t saturated_shift(int32_t x, int32_t places) {
    const int32_t most = (int32_t)((1u << (31 - places)) - 1u);

    return x > most ? INT32_MAX : x < -most ? INT32_MIN : (int32_t)((uint32_t)x << places);
}

/* 1 / (1 + x) for x in [0, 1), Q0.31: Newton's method on half the denominator, from 48/17 - 32/17 * d. */
static int32_t reciprocal_of_one_plus(int32_t x) {
    const int32_t half = (int32_t)(((int64_t)x + INT32_MAX + 1) / 2);
    int32_t guess = 1515870810 + high_product(half, -1010580540);

    for (int32_t step = 0; step < 3; step++) {
        guess += saturated_shift(high_product(guess, (1 << 29) - high_product(half, guess)), 2);
    }
    return saturated_shift(guess, 1);
}

void softmax_row(const int8_t *x, int32_t depth, int32_t multiplier, int32_t shift, int32_t least,
                 int8_t *y) {
    const int32_t headroom = 12;
    int32_t largest = INT8_MIN, places, factor;
    uint32_t sum = 0u;

    for (int32_t i = 0; i < depth; i++) {
        largest = x[i] > largest ? x[i] : largest;
    }
    for (int32_t i = 0; i < depth; i++) {
        if (x[i] - largest >= least) {
            sum += (uint32_t)divide_by_power(exp_of(scaled(x[i] - largest, multiplier, shift)), headroom);
        }
    }
    places = __builtin_clz(sum);
    factor = reciprocal_of_one_plus((int32_t)((sum << places) - (1u << 31)));
    for (int32_t i = 0; i < depth; i++) {
        const int32_t difference = x[i] - largest;
        int32_t share = 0;

        if (difference >= least) {
            share = high_product(factor, exp_of(scaled(difference, multiplier, shift)));
            share = divide_by_power(share, headroom - places + 31 - 8);
        }
        y[i] = (int8_t)clamp(share + INT8_MIN, INT8_MIN, INT8_MAX);
    }
}
