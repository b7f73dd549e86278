/* FULLY_CONNECTED, int8. Weights are [outputs][depth]. */
#ifndef NN_DENSE_H
#define NN_DENSE_H

#include <stdint.h>

#include "nn_rows.h"

typedef struct nn_dense {
    nn_rows_t rows;
    int32_t count;        /* rows of inputs */
    int32_t weights_zero; /* folded into the bias but for the part that depends on the inputs */
} nn_dense_t;

void nn_fully_connected(const nn_dense_t *p, const int8_t *x, int8_t *y);

/* The same with one rounding where TFLM rounds twice. */
void nn_fully_connected_once(const nn_dense_t *p, const int8_t *x, int8_t *y);

#endif
