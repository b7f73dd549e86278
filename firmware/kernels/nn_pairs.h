/* Further functions of two int8 tensors, and the choice between two tensors of any type. */
#ifndef NN_PAIRS_H
#define NN_PAIRS_H

#include <stdint.h>

#include "nn_broadcast.h"

/* x, where it is negative x * alpha. */
typedef struct nn_prelu {
    nn_broadcast_t shape;
    int32_t a_zero, b_zero, out_zero;
    int32_t multiplier, shift;
    int32_t product_multiplier, product_shift;
} nn_prelu_t;

void nn_prelu_8(const nn_prelu_t *p, const void *a, const void *b, void *y);
void nn_squared_difference_8(const nn_sum_t *p, const void *a, const void *b, void *y);

/* The output is 1 or 0. */
typedef struct nn_comparison {
    nn_broadcast_t shape;
    nn_operand_t a, b;
    int32_t headroom;
} nn_comparison_t;

void nn_equal_8(const nn_comparison_t *p, const void *a, const void *b, void *y);
void nn_not_equal_8(const nn_comparison_t *p, const void *a, const void *b, void *y);
void nn_greater_8(const nn_comparison_t *p, const void *a, const void *b, void *y);
void nn_greater_equal_8(const nn_comparison_t *p, const void *a, const void *b, void *y);

/* Elements of `bytes` from a where the condition holds, else from b; `whole` describes condition and a,
 * `other` condition and b. */
typedef struct nn_select {
    nn_broadcast_t whole, other;
    int32_t bytes;
} nn_select_t;

void nn_select(const nn_select_t *p, const void *condition, const void *a, const void *b, void *y);

#endif
