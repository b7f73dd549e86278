/* RESIZE_BILINEAR, int8. */
#ifndef NN_RESIZE_H
#define NN_RESIZE_H

#include <stdint.h>

/* Rows and columns of the output lie between `low` and `high` ones of the input, `part`/1024 of the way. */
typedef struct nn_resize {
    int32_t batches, in_h, in_w, out_h, out_w, channels;
    const int16_t *row_low, *row_high, *row_part;
    const int16_t *column_low, *column_high, *column_part;
} nn_resize_t;

void nn_resize_bilinear(const nn_resize_t *p, const int8_t *x, int8_t *y);

#endif
