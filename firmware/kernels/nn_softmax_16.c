#include "nn_softmax_16.h"

/* Between entries of a table that spans all values of int16. */
static int32_t interpolate(const int16_t *table, int32_t x) {
    const int32_t entry = 256 + (x >> 7);

    return table[entry] + (((table[entry + 1] - table[entry]) * (x & 0x7f) + 64) >> 7);
}

static int32_t reciprocal(const nn_softmax_16_t *p, uint32_t sum, int32_t places) {
    const int32_t shifted = (int32_t)((((int64_t)sum << (places - 1)) + (1 << 13)) >> 14);

    return interpolate(p->reciprocal, nn_clamp(shifted - (1 << 15) - (1 << 16), INT16_MIN, INT16_MAX));
}

static void softmax_row(const nn_softmax_16_t *p, const int16_t *x, int16_t *y) {
    int32_t largest = INT16_MIN, factor, places, shift;
    uint32_t sum = 0u;

    for (int32_t i = 0; i < p->depth; i++) {
        largest = x[i] > largest ? x[i] : largest;
    }
    for (int32_t i = 0; i < p->depth; i++) {
        const int32_t difference = nn_scale(x[i] - largest, p->multiplier, p->shift);
        const int32_t place = nn_clamp(difference, -65535, 0) + 32767;

        y[i] = (int16_t)interpolate(p->exponential, place);
        sum += (uint32_t)y[i];
    }
    places = sum == 0u ? 31 : __builtin_clz(sum);
    factor = reciprocal(p, sum, places);
    shift = 31 - places;
    for (int32_t i = 0; i < p->depth; i++) {
        const int64_t half = shift > 0 ? (int64_t)1 << (shift - 1) : 0;

        y[i] = (int16_t)nn_clamp((int32_t)(((int64_t)y[i] * factor + half) >> shift), 0, INT16_MAX);
    }
}

void nn_softmax_16(const nn_softmax_16_t *p, const void *x, void *y) {
    for (int32_t row = 0; row < p->rows; row++) {
        softmax_row(p, (const int16_t *)x + row * p->depth, (int16_t *)y + row * p->depth);
    }
}
