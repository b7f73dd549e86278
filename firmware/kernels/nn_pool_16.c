#include "nn_pool.h"

#include <stdbool.h>

static int32_t pooled(const nn_window_t *w, const int16_t *x, nn_span_t rows, nn_span_t columns,
                      bool averaging) {
    const int32_t count = (rows.end - rows.first) * (columns.end - columns.first);
    int32_t sum = 0, best = INT16_MIN;

    for (int32_t i = rows.first; i < rows.end; i++) {
        for (int32_t j = columns.first; j < columns.end; j++) {
            const int32_t value = x[((rows.start + i) * w->in_w + columns.start + j) * w->in_channels];

            sum += value;
            best = value > best ? value : best;
        }
    }
    if (!averaging) {
        return best;
    }
    return (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
}

static void pool(const nn_pool_t *p, const int16_t *x, bool averaging, int16_t *y) {
    const nn_window_t *w = &p->window;

    for (int32_t batch = 0; batch < w->batches; batch++, x += w->in_h * w->in_w * w->in_channels) {
        for (int32_t i = 0; i < w->out_h; i++) {
            const nn_span_t rows = nn_span(i * w->stride_h - w->pad_top, w->kernel_h, 1, w->in_h);

            for (int32_t j = 0; j < w->out_w; j++) {
                const nn_span_t columns = nn_span(j * w->stride_w - w->pad_left, w->kernel_w, 1, w->in_w);

                for (int32_t channel = 0; channel < w->in_channels; channel++) {
                    *y++ =
                        (int16_t)nn_clamp(pooled(w, x + channel, rows, columns, averaging), p->low, p->high);
                }
            }
        }
    }
}

void nn_average_pool_2d_16(const nn_pool_t *p, const void *x, void *y) {
    pool(p, x, true, y);
}

void nn_max_pool_2d_16(const nn_pool_t *p, const void *x, void *y) {
    pool(p, x, false, y);
}
