/* CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED with int16 activations and int8 weights; zero points are 0.
 */
#ifndef NN_WIDE_H
#define NN_WIDE_H

#include <stdint.h>

#include "nn_math.h"
#include "nn_window.h"

/* Sums are kept in 64 bits and scaled with multipliers of 15 bits, or, when `narrow`, as those of int8.
 * `channel_mask` is 0 when there is one factor for all channels. */
typedef struct nn_wide_scale {
    const int64_t *bias;
    const int32_t *multiplier, *shift;
    int32_t channel_mask, narrow;
    int32_t low, high;
} nn_wide_scale_t;

/* Weights are [out][h][w][in]. */
typedef struct nn_wide_conv {
    nn_window_t window;
    const int8_t *weights;
    nn_wide_scale_t scale;
} nn_wide_conv_t;

void nn_conv_2d_16(const nn_wide_conv_t *p, const void *x, void *y);

/* Weights are [h][w][out]. */
typedef struct nn_wide_depthwise {
    nn_window_t window;
    const int8_t *weights;
    nn_wide_scale_t scale;
    int32_t depth_multiplier;
} nn_wide_depthwise_t;

void nn_depthwise_conv_2d_16(const nn_wide_depthwise_t *p, const void *x, void *y);

/* Weights are [out][in]. */
typedef struct nn_wide_dense {
    int32_t count, depth, outputs;
    const int8_t *weights;
    nn_wide_scale_t scale;
} nn_wide_dense_t;

void nn_fully_connected_16(const nn_wide_dense_t *p, const void *x, void *y);

#endif
