/* CONV_2D, int8. Weights are [out_channels][kernel_h][kernel_w][in_channels]. */
#ifndef NN_CONV_H
#define NN_CONV_H

#include <stdint.h>

#include "nn_rows.h"
#include "nn_window.h"

typedef struct nn_conv {
    nn_window_t window;
    nn_rows_t rows;
    int8_t input_zero;
} nn_conv_t;

/* `scratch` holds one window, kernel_h * kernel_w * in_channels bytes; unused for 1x1 kernels without
 * padding. */
void nn_conv_2d(const nn_conv_t *p, const int8_t *x, int8_t *scratch, int8_t *y);

/* The same bytes, computed tap by tap with no reuse. */
void nn_conv_2d_naive(const nn_conv_t *p, const int8_t *x, int8_t *scratch, int8_t *y);

#endif
