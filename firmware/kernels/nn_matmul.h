/* BATCH_MATMUL, int8: products of matrices in nested loops of batches. */
#ifndef NN_MATMUL_H
#define NN_MATMUL_H

#include <stdint.h>

#include "nn_math.h"

#define NN_MATMUL_DIMS 6

/* y[row][column] = sum over k of a[row][k] * b[k][column]; steps are in elements, so either may be
 * transposed. */
typedef struct nn_matmul {
    int32_t outer;
    int32_t extent[NN_MATMUL_DIMS], a_step[NN_MATMUL_DIMS], b_step[NN_MATMUL_DIMS];
    int32_t rows, depth, columns;
    int32_t a_row, a_depth, b_depth, b_column;
    int32_t a_zero, b_zero, out_zero;
    int32_t multiplier, shift;
} nn_matmul_t;

void nn_matmul(const nn_matmul_t *p, const int8_t *a, const int8_t *b, int8_t *y);

#endif
