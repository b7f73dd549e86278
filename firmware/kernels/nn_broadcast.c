#include "nn_broadcast.h"

static inline int32_t sum(const nn_sum_t *p, int32_t a, int32_t b) {
    const uint32_t both =
        (uint32_t)nn_common(&p->a, p->headroom, a) + (uint32_t)nn_common(&p->b, p->headroom, b);
    const uint32_t value = (uint32_t)nn_scale((int32_t)both, p->out.multiplier, p->out.shift);

    return nn_clamp((int32_t)(value + (uint32_t)p->out.zero), p->low, p->high);
}

static inline int32_t difference(const nn_sum_t *p, int32_t a, int32_t b) {
    const uint32_t both =
        (uint32_t)nn_common(&p->a, p->headroom, a) - (uint32_t)nn_common(&p->b, p->headroom, b);
    const uint32_t value = (uint32_t)nn_scale((int32_t)both, p->out.multiplier, p->out.shift);

    return nn_clamp((int32_t)(value + (uint32_t)p->out.zero), p->low, p->high);
}

static inline int32_t product(const nn_product_t *p, int32_t a, int32_t b) {
    const int32_t raw = (int32_t)((uint32_t)(a - p->a_zero) * (uint32_t)(b - p->b_zero));
    const uint32_t value = (uint32_t)nn_scale(raw, p->multiplier, p->shift);

    return nn_clamp((int32_t)(value + (uint32_t)p->out_zero), p->low, p->high);
}

static inline int32_t minimum(const nn_extremum_t *p, int32_t a, int32_t b) {
    (void)p;
    return a < b ? a : b;
}

static inline int32_t maximum(const nn_extremum_t *p, int32_t a, int32_t b) {
    (void)p;
    return a < b ? b : a;
}

#define EACH(name, bits, parameters, function)                                                               \
    void name(const parameters *p, const void *a, const void *b, void *y) {                                  \
        const nn_broadcast_t *s = &p->shape;                                                                 \
        nn_position_t row = {{0}, 0, 0};                                                                     \
        int##bits##_t *to = y;                                                                               \
                                                                                                             \
        do {                                                                                                 \
            const int##bits##_t *first = (const int##bits##_t *)a + row.a;                                   \
            const int##bits##_t *second = (const int##bits##_t *)b + row.b;                                  \
                                                                                                             \
            for (int32_t i = 0; i < s->count; i++) {                                                         \
                *to++ = (int##bits##_t)function(p, first[i * s->a_stride], second[i * s->b_stride]);         \
            }                                                                                                \
        } while (nn_next_row(s, &row));                                                                      \
    }

EACH(nn_sum_8, 8, nn_sum_t, sum)
EACH(nn_sum_16, 16, nn_sum_t, sum)
EACH(nn_difference_8, 8, nn_sum_t, difference)
EACH(nn_difference_16, 16, nn_sum_t, difference)
EACH(nn_product_8, 8, nn_product_t, product)
EACH(nn_product_16, 16, nn_product_t, product)
EACH(nn_minimum_8, 8, nn_extremum_t, minimum)
EACH(nn_maximum_8, 8, nn_extremum_t, maximum)
EACH(nn_minimum_16, 16, nn_extremum_t, minimum)
EACH(nn_maximum_16, 16, nn_extremum_t, maximum)
EACH(nn_minimum_32, 32, nn_extremum_t, minimum)
EACH(nn_maximum_32, 32, nn_extremum_t, maximum)
