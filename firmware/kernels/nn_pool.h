/* AVERAGE_POOL_2D and MAX_POOL_2D. What lies outside the image does not count. */
#ifndef NN_POOL_H
#define NN_POOL_H

#include <stdint.h>

#include "nn_math.h"
#include "nn_window.h"

typedef struct nn_pool {
    nn_window_t window;
    int32_t low, high;
} nn_pool_t;

void nn_average_pool_2d(const nn_pool_t *p, const int8_t *x, int8_t *y);
void nn_max_pool_2d(const nn_pool_t *p, const int8_t *x, int8_t *y);

/* Of int16. */
void nn_average_pool_2d_16(const nn_pool_t *p, const void *x, void *y);
void nn_max_pool_2d_16(const nn_pool_t *p, const void *x, void *y);

#endif
