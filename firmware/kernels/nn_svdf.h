/* SVDF: a layer that keeps the last `memory` activations of each filter. */
#ifndef NN_SVDF_H
#define NN_SVDF_H

#include <stdint.h>

#include "nn_math.h"

/* Features are [filter][input]; times and states [filter][memory], the oldest first. `rank` filters make one
 * output. */
typedef struct nn_svdf {
    int32_t batches, inputs, filters, memory, rank;
    const int8_t *features;
    const void *times;
    const int32_t *bias;
    int32_t input_zero, state_zero, output_zero;
    int32_t feature_multiplier, feature_shift;
    int32_t multiplier, shift;
} nn_svdf_t;

/* States and times of 8 or 16 bits. */
void nn_svdf_8(const nn_svdf_t *p, const void *state_before, const void *x, void *state, void *y);
void nn_svdf_16(const nn_svdf_t *p, const void *state_before, const void *x, void *state, void *y);

#endif
