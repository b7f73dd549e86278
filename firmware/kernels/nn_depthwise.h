/* DEPTHWISE_CONV_2D, int8. Weights are [kernel_h][kernel_w][out_channels]; output channel o reads input
 * channel o / multiplier. */
#ifndef NN_DEPTHWISE_H
#define NN_DEPTHWISE_H

#include <stdint.h>

#include "nn_math.h"
#include "nn_window.h"

typedef struct nn_depthwise {
    nn_window_t window;
    const int8_t *weights;
    const int32_t *bias;
    const int32_t *multiplier;
    const int32_t *shift;
    int32_t channel_mask; /* -1: a factor for each output channel; 0: one for all */
    int32_t depth_multiplier;
    int32_t input_zero, output_zero;
    int32_t low, high;
} nn_depthwise_t;

void nn_depthwise_conv_2d(const nn_depthwise_t *p, const int8_t *x, int8_t *y);

#endif
