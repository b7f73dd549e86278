#include "nn_move.h"

#include <string.h>

static void row(const nn_move_t *p, const uint8_t *from, uint8_t *to) {
    if (p->bytes == 1) {
        for (int32_t i = 0; i < p->count; i++) {
            to[i * p->to_stride] = from[i * p->from_stride];
        }
        return;
    }
    for (int32_t i = 0; i < p->count; i++) {
        memcpy(to + i * p->to_stride, from + i * p->from_stride, (size_t)p->bytes);
    }
}

void nn_move(const nn_move_t *p, const void *x, void *y) {
    int32_t at[NN_MOVE_DIMS] = {0};
    int32_t from = p->from_start, to = p->to_start;
    int32_t dim;

    do {
        row(p, (const uint8_t *)x + from, (uint8_t *)y + to);
        for (dim = p->outer - 1; dim >= 0; dim--) {
            from += p->from_step[dim];
            to += p->to_step[dim];
            if (++at[dim] < p->extent[dim]) {
                break;
            }
            from -= p->from_step[dim] * p->extent[dim];
            to -= p->to_step[dim] * p->extent[dim];
            at[dim] = 0;
        }
    } while (dim >= 0);
}

void nn_fill(const nn_fill_t *p, void *y) {
    if (p->width == 1) {
        memset(y, p->value, (size_t)p->count);
        return;
    }
    for (int32_t i = 0; i < p->count; i++) {
        if (p->width == 2) {
            ((int16_t *)y)[i] = (int16_t)p->value;
        } else {
            ((int32_t *)y)[i] = p->value;
        }
    }
}

void nn_constant(const nn_constant_t *p, void *y) {
    memcpy(y, p->data, (size_t)p->bytes);
}

static int32_t index_at(const nn_gather_t *p, const void *index, int32_t i) {
    int64_t value;

    if (p->index_bits == 8) {
        value = ((const int8_t *)index)[i];
    } else if (p->index_bits == 16) {
        value = ((const int16_t *)index)[i];
    } else {
        value = ((const int32_t *)index)[i];
    }
    return (int32_t)(value < 0 ? 0 : value >= p->extent ? p->extent - 1 : value);
}

void nn_gather(const nn_gather_t *p, const void *x, const void *index, void *y) {
    const uint8_t *from = x;
    uint8_t *to = y;

    for (int32_t batch = 0; batch < p->batches; batch++) {
        for (int32_t outer = 0; outer < p->outer; outer++) {
            for (int32_t i = 0; i < p->count; i++) {
                memcpy(to, from + index_at(p, index, batch * p->count + i) * p->bytes, (size_t)p->bytes);
                to += p->bytes;
            }
            from += p->extent * p->bytes;
        }
    }
}

void nn_pick(const nn_pick_t *p, const void *x, void *y) {
    const uint8_t *from = x;
    uint8_t *to = y;

    for (int32_t batch = 0; batch < p->batches; batch++) {
        for (int32_t i = 0; i < p->out_h; i++) {
            const uint8_t *line = from + p->rows[i] * p->in_w * p->bytes;

            for (int32_t j = 0; j < p->out_w; j++) {
                memcpy(to, line + p->columns[j] * p->bytes, (size_t)p->bytes);
                to += p->bytes;
            }
        }
        from += p->in_h * p->in_w * p->bytes;
    }
}
