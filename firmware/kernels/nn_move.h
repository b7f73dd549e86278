/* Moving blocks of elements, whatever their type. */
#ifndef NN_MOVE_H
#define NN_MOVE_H

#include <stdint.h>

#define NN_MOVE_DIMS 7

/* A block of `outer` nested loops around a row of `count` pieces of `bytes`. Extents and steps are those of
 * the loops, outermost first; starts and steps are in bytes. */
typedef struct nn_move {
    int32_t outer;
    int32_t extent[NN_MOVE_DIMS];
    int32_t from_step[NN_MOVE_DIMS], to_step[NN_MOVE_DIMS];
    int32_t count, bytes;
    int32_t from_stride, to_stride;
    int32_t from_start, to_start;
} nn_move_t;

void nn_move(const nn_move_t *p, const void *x, void *y);

/* `count` elements of `width` bytes (1, 2 or 4) become `value`. */
typedef struct nn_fill {
    int32_t count, width, value;
} nn_fill_t;

void nn_fill(const nn_fill_t *p, void *y);

/* What is known before anything runs. */
typedef struct nn_constant {
    int32_t bytes;
    const void *data;
} nn_constant_t;

void nn_constant(const nn_constant_t *p, void *y);

/* Blocks of `bytes` picked by index: y[o][i] = x[o][index[i]] of `extent` blocks for each of `outer`. An
 * index beyond the ends takes the nearest block. */
typedef struct nn_gather {
    int32_t batches, outer, extent, count, bytes;
    int32_t index_bits;
} nn_gather_t;

void nn_gather(const nn_gather_t *p, const void *x, const void *index, void *y);

/* Pixels of `bytes` picked by row and column. */
typedef struct nn_pick {
    int32_t batches, in_h, in_w, out_h, out_w, bytes;
    const int16_t *rows, *columns;
} nn_pick_t;

void nn_pick(const nn_pick_t *p, const void *x, void *y);

#endif
