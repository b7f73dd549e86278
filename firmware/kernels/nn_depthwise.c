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

/* The taps of a window inside the image, row by row: where they lie in the image and in the weights. */
typedef struct taps {
    const int8_t *x, *w;
    int32_t count;
} taps_t;

static inline taps_t taps_of_row(const nn_depthwise_t *p, const place_t *at, int32_t ky) {
    const nn_window_t *w = &p->window;
    const int32_t row = at->rows.start + ky * w->dilation_h;
    const int32_t column = at->columns.start + at->columns.first * w->dilation_w;
    const taps_t taps = {
        .x = at->image + (row * w->in_w + column) * w->in_channels,
        .w = p->weights + (ky * w->kernel_w + at->columns.first) * w->out_channels,
        .count = at->columns.end - at->columns.first,
    };

    return taps;
}

static inline uint32_t product(int8_t x, int32_t zero, int8_t w) {
    return (uint32_t)((x - zero) * w);
}

/* Four output channels of one pixel; output channel `channel` + k reads input channel s[k]. Inlined, so that
 * the compiler sees when the s[k] are constants. */
static inline __attribute__((always_inline)) void
four_outputs(const nn_depthwise_t *p, const place_t *at, int32_t channel, const int32_t s[4], int8_t *y) {
    const int32_t x_step = p->window.dilation_w * p->window.in_channels, w_step = p->window.out_channels;
    const int32_t zero = p->input_zero;
    const int32_t *bias = p->bias + channel;
    uint32_t a = (uint32_t)bias[0], b = (uint32_t)bias[1], c = (uint32_t)bias[2], d = (uint32_t)bias[3];

    for (int32_t ky = at->rows.first; ky < at->rows.end; ky++) {
        const taps_t taps = taps_of_row(p, at, ky);
        const int8_t *x = taps.x, *w = taps.w + channel;

        for (int32_t left = taps.count; left > 0; left--, x += x_step, w += w_step) {
            a += product(x[s[0]], zero, w[0]);
            b += product(x[s[1]], zero, w[1]);
            c += product(x[s[2]], zero, w[2]);
            d += product(x[s[3]], zero, w[3]);
        }
    }
    y[channel] = finish(p, a, channel);
    y[channel + 1] = finish(p, b, channel + 1);
    y[channel + 2] = finish(p, c, channel + 2);
    y[channel + 3] = finish(p, d, channel + 3);
}

static inline void one_output(const nn_depthwise_t *p, const place_t *at, int32_t channel, int32_t source,
                              int8_t *y) {
    const int32_t x_step = p->window.dilation_w * p->window.in_channels, w_step = p->window.out_channels;
    uint32_t sum = (uint32_t)p->bias[channel];

    for (int32_t ky = at->rows.first; ky < at->rows.end; ky++) {
        const taps_t taps = taps_of_row(p, at, ky);
        const int8_t *x = taps.x + source, *w = taps.w + channel;

        for (int32_t left = taps.count; left > 0; left--, x += x_step, w += w_step) {
            sum += product(*x, p->input_zero, *w);
        }
    }
    y[channel] = finish(p, sum, channel);
}

/* Each output channel has an input channel of its own. */
static void pixel(const nn_depthwise_t *p, const place_t *at, int8_t *y) {
    const int32_t channels = p->window.out_channels;
    place_t here = *at;
    int32_t channel = 0;

    for (; channel + 4 <= channels; channel += 4, here.image += 4) {
        static const int32_t neighbours[] = {0, 1, 2, 3};

        four_outputs(p, &here, channel, neighbours, y);
    }
    for (; channel < channels; channel++) {
        one_output(p, at, channel, channel, y);
    }
}

static void pixel_with_multiplier(const nn_depthwise_t *p, const place_t *at, int8_t *y) {
    const int32_t channels = p->window.out_channels, each = p->depth_multiplier;
    int32_t channel = 0;

    for (; channel + 4 <= channels; channel += 4) {
        const int32_t sources[] = {channel / each, (channel + 1) / each, (channel + 2) / each,
                                   (channel + 3) / each};

        four_outputs(p, at, channel, sources, y);
    }
    for (; channel < channels; channel++) {
        one_output(p, at, channel, channel / each, y);
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
                    pixel(p, &at, y);
                } else {
                    pixel_with_multiplier(p, &at, y);
                }
            }
        }
    }
}
