/* Two straight lines that meet at 0. */
#ifndef NN_SLOPES_H
#define NN_SLOPES_H

#include <stdint.h>

typedef struct nn_slope {
    int32_t multiplier, shift;
} nn_slope_t;

typedef struct nn_slopes {
    int32_t count;
    int32_t from_zero, to_zero;
    nn_slope_t above, below;
    int32_t low, high;
} nn_slopes_t;

void nn_slopes_16(const nn_slopes_t *p, const void *x, void *y);

#endif
