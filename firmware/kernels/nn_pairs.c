#include "nn_pairs.h"

#include <string.h>

static inline int32_t prelu(const nn_prelu_t *p, int32_t a, int32_t b) {
    const int32_t x = a - p->a_zero;
    const int32_t scaled = x >= 0 ? nn_scale(x, p->multiplier, p->shift)
                                  : nn_scale(x * (b - p->b_zero), p->product_multiplier, p->product_shift);

    return nn_clamp((int32_t)((uint32_t)scaled + (uint32_t)p->out_zero), INT8_MIN, INT8_MAX);
}

static inline int32_t squared_difference(const nn_sum_t *p, int32_t a, int32_t b) {
    const uint32_t difference =
        (uint32_t)nn_common(&p->a, p->headroom, a) - (uint32_t)nn_common(&p->b, p->headroom, b);
    const uint32_t value =
        (uint32_t)nn_scale((int32_t)(difference * difference), p->out.multiplier, p->out.shift);

    return nn_clamp((int32_t)(value + (uint32_t)p->out.zero), p->low, p->high);
}

static inline int32_t equal(const nn_comparison_t *p, int32_t a, int32_t b) {
    return nn_common(&p->a, p->headroom, a) == nn_common(&p->b, p->headroom, b);
}

static inline int32_t not_equal(const nn_comparison_t *p, int32_t a, int32_t b) {
    return !equal(p, a, b);
}

static inline int32_t greater(const nn_comparison_t *p, int32_t a, int32_t b) {
    return nn_common(&p->a, p->headroom, a) > nn_common(&p->b, p->headroom, b);
}

static inline int32_t greater_equal(const nn_comparison_t *p, int32_t a, int32_t b) {
    return nn_common(&p->a, p->headroom, a) >= nn_common(&p->b, p->headroom, b);
}

#define EACH(name, parameters, function)                                                                     \
    void name(const parameters *p, const void *a, const void *b, void *y) {                                  \
        const nn_broadcast_t *s = &p->shape;                                                                 \
        nn_position_t row = {{0}, 0, 0};                                                                     \
        int8_t *to = y;                                                                                      \
                                                                                                             \
        do {                                                                                                 \
            const int8_t *first = (const int8_t *)a + row.a, *second = (const int8_t *)b + row.b;            \
                                                                                                             \
            for (int32_t i = 0; i < s->count; i++) {                                                         \
                *to++ = (int8_t)function(p, first[i * s->a_stride], second[i * s->b_stride]);                \
            }                                                                                                \
        } while (nn_next_row(s, &row));                                                                      \
    }

EACH(nn_prelu_8, nn_prelu_t, prelu)
EACH(nn_squared_difference_8, nn_sum_t, squared_difference)
EACH(nn_equal_8, nn_comparison_t, equal)
EACH(nn_not_equal_8, nn_comparison_t, not_equal)
EACH(nn_greater_8, nn_comparison_t, greater)
EACH(nn_greater_equal_8, nn_comparison_t, greater_equal)

/* The elements whose condition is `wanted`. */
static void choose(const nn_broadcast_t *s, int32_t bytes, const uint8_t *condition, const uint8_t *from,
                   uint8_t *to, bool wanted) {
    nn_position_t row = {{0}, 0, 0};

    do {
        for (int32_t i = 0; i < s->count; i++, to += bytes) {
            if ((condition[row.a + i * s->a_stride] != 0) == wanted) {
                memcpy(to, from + (row.b + i * s->b_stride) * bytes, (size_t)bytes);
            }
        }
    } while (nn_next_row(s, &row));
}

void nn_select(const nn_select_t *p, const void *condition, const void *a, const void *b, void *y) {
    choose(&p->whole, p->bytes, condition, a, y, true);
    choose(&p->other, p->bytes, condition, b, y, false);
}
