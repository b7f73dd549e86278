/* Sums, means, largest values and their places over some axes. */
#ifndef NN_REDUCE_H
#define NN_REDUCE_H

#include <stdint.h>

#include "nn_math.h"

#define NN_REDUCE_DIMS 8

/* Nested loops, outermost first; steps are in elements. */
typedef struct nn_loops {
    int32_t dims;
    int32_t extent[NN_REDUCE_DIMS], step[NN_REDUCE_DIMS];
} nn_loops_t;

/* For each place of `kept`, all places of `reduced`. `offset` is added to each sum before it is scaled. */
typedef struct nn_reduce {
    nn_loops_t kept, reduced;
    int32_t offset;
    int32_t multiplier, shift;
    int32_t out_zero;
} nn_reduce_t;

void nn_reduce_sum_8(const nn_reduce_t *p, const void *x, void *y);
void nn_reduce_sum_16(const nn_reduce_t *p, const void *x, void *y);
void nn_reduce_max_8(const nn_reduce_t *p, const void *x, void *y);
void nn_reduce_max_16(const nn_reduce_t *p, const void *x, void *y);
void nn_reduce_min_8(const nn_reduce_t *p, const void *x, void *y);
void nn_reduce_min_16(const nn_reduce_t *p, const void *x, void *y);
/* The place of the first of the largest, as int32. */
void nn_arg_max_8(const nn_reduce_t *p, const void *x, void *y);

#endif
