/* One row of inputs times a matrix of weights: what a convolution does for a pixel and a dense layer for a
 * row. */
#ifndef NN_ROWS_H
#define NN_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "nn_math.h"

/* `outputs` rows of `depth` weights. The input's zero point is folded into `bias`. */
typedef struct nn_rows {
    const int8_t *weights;
    const int32_t *bias;
    const int32_t *multiplier;
    const int32_t *shift;
    int32_t channel_mask; /* -1: a factor for each output; 0: one for all */
    int32_t depth;
    int32_t outputs;
    int32_t output_zero;
    int32_t low, high;
} nn_rows_t;

typedef struct nn_sums {
    uint32_t a, b, c, d;
} nn_sums_t;

static inline uint32_t nn_product(int8_t x, int8_t w) {
    return (uint32_t)((int32_t)x * w);
}

static inline uint32_t nn_dot(const int8_t *x, const int8_t *w, int32_t count) {
    uint32_t sum = 0u;

    for (int32_t i = 0; i < count; i++) {
        sum += nn_product(x[i], w[i]);
    }
    return sum;
}

/* One input for four weights. */
static inline void nn_step(nn_sums_t *sums, int8_t x, int8_t a, int8_t b, int8_t c, int8_t d) {
    sums->a += nn_product(x, a);
    sums->b += nn_product(x, b);
    sums->c += nn_product(x, c);
    sums->d += nn_product(x, d);
}

/* Four rows at once, so that each input is loaded once for four weights. */
static inline nn_sums_t nn_dot4(const int8_t *x, const int8_t *w, int32_t count) {
    const int8_t *a = w, *b = a + count, *c = b + count, *d = c + count;
    const int8_t *const end = x + count;
    const int8_t *const whole = x + (count & ~3);
    nn_sums_t sums = {0u, 0u, 0u, 0u};

    for (; x != whole; x += 4, a += 4, b += 4, c += 4, d += 4) {
        nn_step(&sums, x[0], a[0], b[0], c[0], d[0]);
        nn_step(&sums, x[1], a[1], b[1], c[1], d[1]);
        nn_step(&sums, x[2], a[2], b[2], c[2], d[2]);
        nn_step(&sums, x[3], a[3], b[3], c[3], d[3]);
    }
    while (x != end) {
        nn_step(&sums, *x++, *a++, *b++, *c++, *d++);
    }
    return sums;
}

static inline int8_t nn_finish(const nn_rows_t *p, uint32_t sum, int32_t channel, bool once) {
    const int32_t value = (int32_t)(sum + (uint32_t)p->bias[channel]);
    const int32_t at = channel & p->channel_mask;
    const int32_t scaled = once ? nn_scale_once(value, p->multiplier[at], p->shift[at])
                                : nn_scale(value, p->multiplier[at], p->shift[at]);

    return (int8_t)nn_clamp((int32_t)((uint32_t)scaled + (uint32_t)p->output_zero), p->low, p->high);
}

/* `offset` is added to every sum; `once` chooses single rounding. Both are constants where this is called. */
static inline void nn_row(const nn_rows_t *p, const int8_t *x, uint32_t offset, bool once, int8_t *y) {
    const int8_t *w = p->weights;
    int32_t channel = 0;

    for (; channel + 4 <= p->outputs; channel += 4, w += 4 * p->depth) {
        const nn_sums_t sums = nn_dot4(x, w, p->depth);

        y[channel] = nn_finish(p, sums.a + offset, channel, once);
        y[channel + 1] = nn_finish(p, sums.b + offset, channel + 1, once);
        y[channel + 2] = nn_finish(p, sums.c + offset, channel + 2, once);
        y[channel + 3] = nn_finish(p, sums.d + offset, channel + 3, once);
    }
    for (; channel < p->outputs; channel++, w += p->depth) {
        y[channel] = nn_finish(p, nn_dot(x, w, p->depth) + offset, channel, once);
    }
}

#endif
