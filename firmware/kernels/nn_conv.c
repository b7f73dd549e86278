#include "nn_conv.h"

#include <stdbool.h>
#include <string.h>

/* Copies a window into one run of bytes. Outside the image is the input's zero point, which adds nothing. */
static void gather(const nn_conv_t *p, const int8_t *image, int32_t top, int32_t left, int8_t *out) {
    const nn_window_t *w = &p->window;
    const int32_t channels = w->in_channels;
    const nn_span_t rows = nn_span(top, w->kernel_h, w->dilation_h, w->in_h);
    const nn_span_t columns = nn_span(left, w->kernel_w, w->dilation_w, w->in_w);

    for (int32_t ky = 0; ky < w->kernel_h; ky++) {
        int32_t kx = 0;

        if (ky >= rows.first && ky < rows.end && columns.first < columns.end) {
            const int8_t *row = image + (top + ky * w->dilation_h) * w->in_w * channels;

            memset(out, p->input_zero, (size_t)(columns.first * channels));
            out += columns.first * channels;
            kx = columns.first;
            if (w->dilation_w == 1) {
                memcpy(out, row + (left + kx) * channels, (size_t)((columns.end - kx) * channels));
                out += (columns.end - kx) * channels;
                kx = columns.end;
            }
            for (; kx < columns.end; kx++, out += channels) {
                memcpy(out, row + (left + kx * w->dilation_w) * channels, (size_t)channels);
            }
        }
        memset(out, p->input_zero, (size_t)((w->kernel_w - kx) * channels));
        out += (w->kernel_w - kx) * channels;
    }
}

void nn_conv_2d(const nn_conv_t *p, const int8_t *x, int8_t *scratch, int8_t *y) {
    const nn_window_t *w = &p->window;
    const bool pointwise = scratch == NULL;

    for (int32_t batch = 0; batch < w->batches; batch++, x += w->in_h * w->in_w * w->in_channels) {
        for (int32_t oy = 0; oy < w->out_h; oy++) {
            for (int32_t ox = 0; ox < w->out_w; ox++, y += w->out_channels) {
                const int32_t top = oy * w->stride_h - w->pad_top;
                const int32_t left = ox * w->stride_w - w->pad_left;

                if (pointwise) {
                    nn_row(&p->rows, x + (top * w->in_w + left) * w->in_channels, 0u, false, y);
                } else {
                    gather(p, x, top, left, scratch);
                    nn_row(&p->rows, scratch, 0u, false, y);
                }
            }
        }
    }
}
