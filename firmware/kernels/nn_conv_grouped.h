/* Convolutions whose output channels see a part of the input channels each. */
#ifndef NN_CONV_GROUPED_H
#define NN_CONV_GROUPED_H

#include <stdint.h>

#include "nn_conv.h"

/* Each group of `outputs` output channels sees `inputs` input channels; the bias is as it is in the model. */
typedef struct nn_conv_grouped {
    nn_window_t window;
    nn_rows_t rows;
    int32_t input_zero;
    int32_t inputs, outputs;
} nn_conv_grouped_t;

void nn_conv_2d_grouped(const nn_conv_grouped_t *p, const int8_t *x, int8_t *y);

#endif
