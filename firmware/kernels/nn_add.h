/* ADD, int8, of two tensors of the same shape. The output may be the memory of either input. */
#ifndef NN_ADD_H
#define NN_ADD_H

#include <stdint.h>

#include "nn_math.h"

/* An operand's zero point and the factor that brings it to the common scale. */
typedef struct nn_operand {
    int32_t zero;
    int32_t multiplier, shift;
} nn_operand_t;

typedef struct nn_add {
    int32_t count;
    nn_operand_t a, b, out;
    int32_t low, high;
} nn_add_t;

void nn_add(const nn_add_t *p, const int8_t *a, const int8_t *b, int8_t *y);

#endif
