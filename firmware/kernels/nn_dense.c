#include "nn_dense.h"

static inline void dense(const nn_dense_t *p, const int8_t *x, bool once, int8_t *y) {
    const int32_t depth = p->rows.depth;

    for (int32_t row = 0; row < p->count; row++, x += depth, y += p->rows.outputs) {
        uint32_t offset = 0u;

        if (p->weights_zero != 0) {
            for (int32_t i = 0; i < depth; i++) {
                offset -= (uint32_t)(x[i] * p->weights_zero);
            }
        }
        nn_row(&p->rows, x, offset, once, y);
    }
}

void nn_fully_connected(const nn_dense_t *p, const int8_t *x, int8_t *y) {
    dense(p, x, false, y);
}

void nn_fully_connected_once(const nn_dense_t *p, const int8_t *x, int8_t *y) {
    dense(p, x, true, y);
}
