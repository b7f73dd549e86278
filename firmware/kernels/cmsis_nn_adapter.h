/* Operators computed by CMSIS-NN 4, int8, whose sources the build takes from elsewhere.
 *
 * A kernel that refuses its arguments, or needs more scratch than was planned, ends in an undefined
 * instruction: the plan was made for another core or another CMSIS-NN, and no output would be right.
 */
#ifndef CMSIS_NN_ADAPTER_H
#define CMSIS_NN_ADAPTER_H

#include <stdint.h>

#include "nn_window.h"

/* A convolution. `multiplier` and `shift` have an element for each output channel. */
typedef struct cmsis_conv {
    nn_window_t window;
    const int8_t *weights;
    const int32_t *bias;
    const int32_t *multiplier;
    const int32_t *shift;
    int32_t depth_multiplier; /* of a depthwise convolution */
    int32_t input_zero, output_zero;
    int32_t low, high;
    int32_t scratch_bytes;
} cmsis_conv_t;

/* A dense layer with one factor for all outputs; the weights have no zero point. */
typedef struct cmsis_dense {
    const int8_t *weights;
    const int32_t *bias;
    int32_t multiplier, shift;
    int32_t count, depth, outputs;
    int32_t input_zero, output_zero;
    int32_t low, high;
    int32_t scratch_bytes;
} cmsis_dense_t;

/* A pool of one image. */
typedef struct cmsis_pool {
    nn_window_t window;
    int32_t low, high;
    int32_t scratch_bytes;
} cmsis_pool_t;

void cmsis_conv_2d(const cmsis_conv_t *p, const int8_t *x, int8_t *scratch, int8_t *y);
void cmsis_depthwise_conv_2d(const cmsis_conv_t *p, const int8_t *x, int8_t *scratch, int8_t *y);
void cmsis_fully_connected(const cmsis_dense_t *p, const int8_t *x, int8_t *scratch, int8_t *y);
void cmsis_average_pool_2d(const cmsis_pool_t *p, const int8_t *x, int8_t *scratch, int8_t *y);
void cmsis_max_pool_2d(const cmsis_pool_t *p, const int8_t *x, int8_t *scratch, int8_t *y);

#endif
