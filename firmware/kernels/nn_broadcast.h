/* Functions of two tensors, element by element; either may be repeated along some dimensions. */
#ifndef NN_BROADCAST_H
#define NN_BROADCAST_H

#include <stdbool.h>
#include <stdint.h>

#include "nn_add.h"
#include "nn_math.h"

#define NN_BROADCAST_DIMS 7

/* `outer` nested loops, outermost first, around a row of `count` elements; steps are in elements, 0 where an
 * operand is repeated. */
typedef struct nn_broadcast {
    int32_t outer;
    int32_t extent[NN_BROADCAST_DIMS];
    int32_t a_step[NN_BROADCAST_DIMS], b_step[NN_BROADCAST_DIMS];
    int32_t count, a_stride, b_stride;
} nn_broadcast_t;

typedef struct nn_position {
    int32_t at[NN_BROADCAST_DIMS];
    int32_t a, b;
} nn_position_t;

/* To the next row; false after the last one. */
static inline bool nn_next_row(const nn_broadcast_t *s, nn_position_t *p) {
    for (int32_t dim = s->outer - 1; dim >= 0; dim--) {
        p->a += s->a_step[dim];
        p->b += s->b_step[dim];
        if (++p->at[dim] < s->extent[dim]) {
            return true;
        }
        p->a -= s->a_step[dim] * s->extent[dim];
        p->b -= s->b_step[dim] * s->extent[dim];
        p->at[dim] = 0;
    }
    return false;
}

/* An operand moved up by `headroom` bits and brought to a common scale. */
static inline int32_t nn_common(const nn_operand_t *p, int32_t headroom, int32_t value) {
    return nn_scale((int32_t)((uint32_t)(value - p->zero) << headroom), p->multiplier, p->shift);
}

/* Sums and differences: operands are moved up by `headroom` bits, brought to a common scale, and back. */
typedef struct nn_sum {
    nn_broadcast_t shape;
    nn_operand_t a, b, out;
    int32_t headroom;
    int32_t low, high;
} nn_sum_t;

void nn_sum_8(const nn_sum_t *p, const void *a, const void *b, void *y);
void nn_sum_16(const nn_sum_t *p, const void *a, const void *b, void *y);
void nn_difference_8(const nn_sum_t *p, const void *a, const void *b, void *y);
void nn_difference_16(const nn_sum_t *p, const void *a, const void *b, void *y);

typedef struct nn_product {
    nn_broadcast_t shape;
    int32_t a_zero, b_zero, out_zero;
    int32_t multiplier, shift;
    int32_t low, high;
} nn_product_t;

void nn_product_8(const nn_product_t *p, const void *a, const void *b, void *y);
void nn_product_16(const nn_product_t *p, const void *a, const void *b, void *y);

typedef struct nn_extremum {
    nn_broadcast_t shape;
} nn_extremum_t;

void nn_minimum_8(const nn_extremum_t *p, const void *a, const void *b, void *y);
void nn_maximum_8(const nn_extremum_t *p, const void *a, const void *b, void *y);
void nn_minimum_16(const nn_extremum_t *p, const void *a, const void *b, void *y);
void nn_maximum_16(const nn_extremum_t *p, const void *a, const void *b, void *y);
void nn_minimum_32(const nn_extremum_t *p, const void *a, const void *b, void *y);
void nn_maximum_32(const nn_extremum_t *p, const void *a, const void *b, void *y);

#endif
