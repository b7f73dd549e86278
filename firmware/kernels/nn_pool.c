#include "nn_pool.h"

#include <stdbool.h>

typedef struct area {
    const int8_t *first;
    int32_t rows, columns;
} area_t;

static area_t area_at(const nn_window_t *w, const int8_t *image, int32_t top, int32_t left) {
    const nn_span_t rows = nn_span(top, w->kernel_h, 1, w->in_h);
    const nn_span_t columns = nn_span(left, w->kernel_w, 1, w->in_w);
    const area_t area = {
        .first = image + ((top + rows.first) * w->in_w + left + columns.first) * w->in_channels,
        .rows = rows.end - rows.first,
        .columns = columns.end - columns.first,
    };

    return area;
}

static inline int32_t average(const nn_window_t *w, const area_t *area, int32_t channel) {
    const int32_t count = area->rows * area->columns;
    int32_t sum = 0;

    for (int32_t row = 0; row < area->rows; row++) {
        const int8_t *x = area->first + row * w->in_w * w->in_channels + channel;

        for (int32_t column = 0; column < area->columns; column++, x += w->in_channels) {
            sum += *x;
        }
    }
    return (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
}

static inline int32_t largest(const nn_window_t *w, const area_t *area, int32_t channel) {
    int32_t best = INT8_MIN;

    for (int32_t row = 0; row < area->rows; row++) {
        const int8_t *x = area->first + row * w->in_w * w->in_channels + channel;

        for (int32_t column = 0; column < area->columns; column++, x += w->in_channels) {
            best = *x > best ? *x : best;
        }
    }
    return best;
}

static inline void pool(const nn_pool_t *p, const int8_t *x, bool averaging, int8_t *y) {
    const nn_window_t *w = &p->window;

    for (int32_t batch = 0; batch < w->batches; batch++, x += w->in_h * w->in_w * w->in_channels) {
        for (int32_t oy = 0; oy < w->out_h; oy++) {
            for (int32_t ox = 0; ox < w->out_w; ox++) {
                const area_t area =
                    area_at(w, x, oy * w->stride_h - w->pad_top, ox * w->stride_w - w->pad_left);

                for (int32_t channel = 0; channel < w->in_channels; channel++) {
                    const int32_t value = averaging ? average(w, &area, channel) : largest(w, &area, channel);

                    *y++ = (int8_t)nn_clamp(value, p->low, p->high);
                }
            }
        }
    }
}

void nn_average_pool_2d(const nn_pool_t *p, const int8_t *x, int8_t *y) {
    pool(p, x, true, y);
}

void nn_max_pool_2d(const nn_pool_t *p, const int8_t *x, int8_t *y) {
    pool(p, x, false, y);
}
