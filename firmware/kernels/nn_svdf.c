#include "nn_svdf.h"

#include <string.h>

static int32_t feature(const nn_svdf_t *p, const int8_t *x, const int8_t *weights) {
    int32_t sum = 0;

    for (int32_t i = 0; i < p->inputs; i++) {
        sum += weights[i] * (x[i] - p->input_zero);
    }
    return nn_scale(sum, p->feature_multiplier, p->feature_shift);
}

/* The zero point is added after the clamp, and the sum kept modulo its width: so does tflite-micro. */
#define SVDF(bits)                                                                                           \
    static uint32_t over_time_##bits(const nn_svdf_t *p, const int##bits##_t *state, int32_t filter) {       \
        const int##bits##_t *times = (const int##bits##_t *)p->times + filter * p->memory;                   \
        uint32_t sum = 0u;                                                                                   \
                                                                                                             \
        for (int32_t i = 0; i < p->memory; i++) {                                                            \
            sum += (uint32_t)(times[i] * (state[i] - p->state_zero));                                        \
        }                                                                                                    \
        return sum;                                                                                          \
    }                                                                                                        \
                                                                                                             \
    void nn_svdf_##bits(const nn_svdf_t *p, const void *state_before, const void *x, void *state, void *y) { \
        const int32_t states = p->batches * p->filters * p->memory;                                          \
        const int8_t *input = x;                                                                             \
        int##bits##_t *now = state;                                                                          \
        int8_t *to = y;                                                                                      \
                                                                                                             \
        (void)state_before;                                                                                  \
        memmove(now, now + 1, (size_t)(states - 1) * sizeof(*now));                                          \
        for (int32_t batch = 0; batch < p->batches; batch++, input += p->inputs) {                           \
            for (int32_t filter = 0; filter < p->filters; filter++) {                                        \
                now[((batch * p->filters) + filter + 1) * p->memory - 1] =                                   \
                    (int##bits##_t)(nn_clamp(feature(p, input, p->features + filter * p->inputs),            \
                                             INT##bits##_MIN, INT##bits##_MAX) +                             \
                                    p->state_zero);                                                          \
            }                                                                                                \
            for (int32_t unit = 0; unit < p->filters / p->rank; unit++) {                                    \
                uint32_t sum = (uint32_t)p->bias[unit];                                                      \
                int32_t value;                                                                               \
                                                                                                             \
                for (int32_t filter = unit * p->rank; filter < (unit + 1) * p->rank; filter++) {             \
                    sum += over_time_##bits(p, now + (batch * p->filters + filter) * p->memory, filter);     \
                }                                                                                            \
                value = (int32_t)((uint32_t)nn_scale((int32_t)sum, p->multiplier, p->shift) +                \
                                  (uint32_t)p->output_zero);                                                 \
                *to++ = (int8_t)nn_clamp(value, INT8_MIN, INT8_MAX);                                         \
            }                                                                                                \
        }                                                                                                    \
    }

SVDF(8)
SVDF(16)
