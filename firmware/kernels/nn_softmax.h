/* SOFTMAX, int8, over the last axis; the output has scale 1/256 and zero point -128. The output may be the
 * memory of the input. */
#ifndef NN_SOFTMAX_H
#define NN_SOFTMAX_H

#include <stdint.h>

#include "nn_math.h"

typedef struct nn_softmax {
    int32_t rows, depth;
    int32_t multiplier, shift; /* of beta * input scale, in Q5.26 */
    int32_t least;             /* differences below this give 0 */
} nn_softmax_t;

void nn_softmax(const nn_softmax_t *p, const int8_t *x, int8_t *y);

#endif
