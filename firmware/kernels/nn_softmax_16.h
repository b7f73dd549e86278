/* SOFTMAX, int16, over the last axis; the output has scale 1/32768 and zero point 0. The output may be the
 * memory of the input. */
#ifndef NN_SOFTMAX_16_H
#define NN_SOFTMAX_16_H

#include <stdint.h>

#include "nn_math.h"

#define NN_SOFTMAX_16_ENTRIES 513

/* `exponential` is exp(x) over [-10, 0], `reciprocal` 1 / (1 + x) over [0, 1]; results are Q0.15. The factor
 * brings differences of inputs to 65535/10 a unit. */
typedef struct nn_softmax_16 {
    int32_t rows, depth;
    int32_t multiplier, shift;
    const int16_t *exponential, *reciprocal;
} nn_softmax_16_t;

void nn_softmax_16(const nn_softmax_16_t *p, const void *x, void *y);

#endif
