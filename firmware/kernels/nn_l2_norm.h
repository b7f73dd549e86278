/* Vectors brought to length 1: output scale 1/128, zero point 0. */
#ifndef NN_L2_NORM_H
#define NN_L2_NORM_H

#include <stdint.h>

typedef struct nn_l2_norm {
    int32_t rows, depth;
    int32_t zero;
} nn_l2_norm_t;

void nn_l2_norm_8(const nn_l2_norm_t *p, const void *x, void *y);

#endif
