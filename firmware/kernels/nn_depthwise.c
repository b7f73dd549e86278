#include "nn_depthwise.h"

typedef struct place {
    const int8_t *image;
    nn_span_t rows, columns;
} place_t;

static inline int8_t finish(const nn_depthwise_t *p, uint32_t sum, int32_t channel) {
    const int32_t at = channel & p->channel_mask;
    const int32_t scaled = nn_scale((int32_t)sum, p->multiplier[at], p->shift[at]);

    return (int8_t)nn_clamp((int32_t)((uint32_t)scaled + (uint32_t)p->output_zero), p->low, p->high);
}

/* Output channels channel..channel+count-1 of one pixel. `count` and `single` are constants where this is
 * called: the loops over `k` unroll. `single`: the depth multiplier is 1. */
static inline void outputs(const nn_depthwise_t *p, const place_t *at, int32_t channel, int32_t count,
                           int32_t single, int8_t *y) {
    const nn_window_t *w = &p->window;
    const int32_t tap_step = w->dilation_w * w->in_channels;
    const int32_t zero = p->input_zero;
    uint32_t sums[4];
    int32_t source[4];

    for (int32_t k = 0; k < count; k++) {
        sums[k] = (uint32_t)p->bias[channel + k];
        source[k] = single ? k : (channel + k) / p->depth_multiplier;
    }
    for (int32_t ky = at->rows.first; ky < at->rows.end; ky++) {
        const int32_t row = at->rows.start + ky * w->dilation_h;
        const int32_t column = at->columns.start + at->columns.first * w->dilation_w;
        const int8_t *x = at->image + (row * w->in_w + column) * w->in_channels + (single ? channel : 0);
        const int8_t *v = p->weights + (ky * w->kernel_w + at->columns.first) * w->out_channels + channel;

        for (int32_t kx = at->columns.first; kx < at->columns.end; kx++) {
            for (int32_t k = 0; k < count; k++) {
                sums[k] += (uint32_t)((x[source[k]] - zero) * v[k]);
            }
            x += tap_step;
            v += w->out_channels;
        }
    }
    for (int32_t k = 0; k < count; k++) {
        y[channel + k] = finish(p, sums[k], channel + k);
    }
}

static inline void pixel(const nn_depthwise_t *p, const place_t *at, int32_t single, int8_t *y) {
    const int32_t channels = p->window.out_channels;
    int32_t channel = 0;

    for (; channel + 4 <= channels; channel += 4) {
        outputs(p, at, channel, 4, single, y);
    }
    for (; channel < channels; channel++) {
        outputs(p, at, channel, 1, single, y);
    }
}

void nn_depthwise_conv_2d(const nn_depthwise_t *p, const int8_t *x, int8_t *y) {
    const nn_window_t *w = &p->window;
    place_t at = {.image = x};

    for (int32_t batch = 0; batch < w->batches; batch++, at.image += w->in_h * w->in_w * w->in_channels) {
        for (int32_t oy = 0; oy < w->out_h; oy++) {
            at.rows = nn_span(oy * w->stride_h - w->pad_top, w->kernel_h, w->dilation_h, w->in_h);
            for (int32_t ox = 0; ox < w->out_w; ox++, y += w->out_channels) {
                at.columns = nn_span(ox * w->stride_w - w->pad_left, w->kernel_w, w->dilation_w, w->in_w);
                if (p->depth_multiplier == 1) {
                    pixel(p, &at, 1, y);
                } else {
                    pixel(p, &at, 0, y);
                }
            }
        }
    }
}
