/* TRANSPOSE_CONV, int8. */
#ifndef NN_TRANSPOSE_CONV_H
#define NN_TRANSPOSE_CONV_H

#include <stdint.h>

#include "nn_math.h"

/* Weights are [out][kernel_h][kernel_w][in]. `channel_mask` is 0 when there is one factor for all channels.
 */
typedef struct nn_transpose_conv {
    int32_t batches, in_h, in_w, in_channels;
    int32_t out_h, out_w, out_channels;
    int32_t kernel_h, kernel_w, stride_h, stride_w, pad_top, pad_left;
    const int8_t *weights;
    const int32_t *bias, *multiplier, *shift;
    int32_t channel_mask;
    int32_t input_zero, output_zero;
    int32_t low, high;
} nn_transpose_conv_t;

void nn_transpose_conv(const nn_transpose_conv_t *p, const int8_t *x, int8_t *y);

#endif
