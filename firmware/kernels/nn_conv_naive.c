#include "nn_conv.h"

#include <stdbool.h>

static int8_t tap(const nn_conv_t *p, const int8_t *image, int32_t y, int32_t x, int32_t channel) {
    const nn_window_t *w = &p->window;

    if (y < 0 || y >= w->in_h || x < 0 || x >= w->in_w) {
        return p->input_zero;
    }
    return image[(y * w->in_w + x) * w->in_channels + channel];
}

static int8_t pixel(const nn_conv_t *p, const int8_t *image, int32_t top, int32_t left, int32_t channel) {
    const nn_window_t *w = &p->window;
    uint32_t sum = 0u;

    for (int32_t ky = 0; ky < w->kernel_h; ky++) {
        for (int32_t kx = 0; kx < w->kernel_w; kx++) {
            for (int32_t c = 0; c < w->in_channels; c++) {
                const int8_t v = tap(p, image, top + ky * w->dilation_h, left + kx * w->dilation_w, c);
                const int32_t at = ((channel * w->kernel_h + ky) * w->kernel_w + kx) * w->in_channels + c;

                sum += nn_product(v, p->rows.weights[at]);
            }
        }
    }
    return nn_finish(&p->rows, sum, channel, false);
}

void nn_conv_2d_naive(const nn_conv_t *p, const int8_t *x, int8_t *scratch, int8_t *y) {
    const nn_window_t *w = &p->window;

    (void)scratch;
    for (int32_t batch = 0; batch < w->batches; batch++, x += w->in_h * w->in_w * w->in_channels) {
        for (int32_t oy = 0; oy < w->out_h; oy++) {
            for (int32_t ox = 0; ox < w->out_w; ox++) {
                for (int32_t channel = 0; channel < w->out_channels; channel++) {
                    *y++ =
                        pixel(p, x, oy * w->stride_h - w->pad_top, ox * w->stride_w - w->pad_left, channel);
                }
            }
        }
    }
}
