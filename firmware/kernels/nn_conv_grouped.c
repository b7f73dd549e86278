#include "nn_conv_grouped.h"

#include <stdbool.h>

/* The sum of one output channel; `image` is at the first of its input channels. */
static uint32_t sum_of(const nn_conv_grouped_t *p, const int8_t *image, nn_span_t rows, nn_span_t columns,
                       const int8_t *weights) {
    const nn_window_t *w = &p->window;
    uint32_t sum = 0u;

    for (int32_t ky = rows.first; ky < rows.end; ky++) {
        const int8_t *row = image + (rows.start + ky * w->dilation_h) * w->in_w * w->in_channels;

        for (int32_t kx = columns.first; kx < columns.end; kx++) {
            const int8_t *pixel = row + (columns.start + kx * w->dilation_w) * w->in_channels;
            const int8_t *taps = weights + (ky * w->kernel_w + kx) * p->inputs;

            for (int32_t c = 0; c < p->inputs; c++) {
                sum += (uint32_t)((pixel[c] - p->input_zero) * taps[c]);
            }
        }
    }
    return sum;
}

void nn_conv_2d_grouped(const nn_conv_grouped_t *p, const int8_t *x, int8_t *y) {
    const nn_window_t *w = &p->window;

    for (int32_t batch = 0; batch < w->batches; batch++, x += w->in_h * w->in_w * w->in_channels) {
        for (int32_t oy = 0; oy < w->out_h; oy++) {
            const nn_span_t rows =
                nn_span(oy * w->stride_h - w->pad_top, w->kernel_h, w->dilation_h, w->in_h);

            for (int32_t ox = 0; ox < w->out_w; ox++) {
                const nn_span_t columns =
                    nn_span(ox * w->stride_w - w->pad_left, w->kernel_w, w->dilation_w, w->in_w);

                for (int32_t channel = 0; channel < w->out_channels; channel++) {
                    const int8_t *image = x + channel / p->outputs * p->inputs;
                    const int8_t *weights = p->rows.weights + channel * p->rows.depth;

                    *y++ = nn_finish(&p->rows, sum_of(p, image, rows, columns, weights), channel, false);
                }
            }
        }
    }
}
