#include "nn_wide.h"

static int16_t scaled(const nn_wide_scale_t *p, int64_t sum, int32_t channel) {
    const int32_t factor = channel & p->channel_mask;
    int32_t value;

    sum += p->bias[channel];
    if (p->narrow != 0) {
        value = nn_scale((int32_t)(uint32_t)(uint64_t)sum, p->multiplier[factor], p->shift[factor]);
    } else {
        value = nn_scale_wide(sum, p->multiplier[factor], p->shift[factor]);
    }
    return (int16_t)nn_clamp(value, p->low, p->high);
}

static int64_t dot(const int16_t *x, const int8_t *w, int32_t count) {
    int64_t sum = 0;

    for (int32_t i = 0; i < count; i++) {
        sum += x[i] * w[i];
    }
    return sum;
}

/* One output pixel. */
static void convolve(const nn_wide_conv_t *p, const int16_t *x, nn_span_t rows, nn_span_t columns,
                     int16_t *y) {
    const nn_window_t *w = &p->window;
    const int8_t *weights = p->weights;

    for (int32_t channel = 0; channel < w->out_channels; channel++) {
        int64_t sum = 0;

        for (int32_t i = rows.first; i < rows.end; i++) {
            for (int32_t j = columns.first; j < columns.end; j++) {
                const int32_t row = rows.start + i * w->dilation_h;
                const int32_t column = columns.start + j * w->dilation_w;

                sum += dot(x + (row * w->in_w + column) * w->in_channels,
                           weights + (i * w->kernel_w + j) * w->in_channels, w->in_channels);
            }
        }
        y[channel] = scaled(&p->scale, sum, channel);
        weights += w->kernel_h * w->kernel_w * w->in_channels;
    }
}

static void convolve_each(const nn_wide_depthwise_t *p, const int16_t *x, nn_span_t rows, nn_span_t columns,
                          int16_t *y) {
    const nn_window_t *w = &p->window;

    for (int32_t channel = 0; channel < w->out_channels; channel++) {
        const int32_t from = channel / p->depth_multiplier;
        int64_t sum = 0;

        for (int32_t i = rows.first; i < rows.end; i++) {
            for (int32_t j = columns.first; j < columns.end; j++) {
                const int32_t row = rows.start + i * w->dilation_h;
                const int32_t column = columns.start + j * w->dilation_w;

                sum += x[(row * w->in_w + column) * w->in_channels + from] *
                       p->weights[(i * w->kernel_w + j) * w->out_channels + channel];
            }
        }
        y[channel] = scaled(&p->scale, sum, channel);
    }
}

#define OVER_WINDOWS(name, parameters, pixel)                                                                \
    void name(const parameters *p, const void *x, void *y) {                                                 \
        const nn_window_t *w = &p->window;                                                                   \
        const int16_t *image = x;                                                                            \
        int16_t *to = y;                                                                                     \
                                                                                                             \
        for (int32_t batch = 0; batch < w->batches; batch++, image += w->in_h * w->in_w * w->in_channels) {  \
            for (int32_t i = 0; i < w->out_h; i++) {                                                         \
                const nn_span_t rows =                                                                       \
                    nn_span(i * w->stride_h - w->pad_top, w->kernel_h, w->dilation_h, w->in_h);              \
                                                                                                             \
                for (int32_t j = 0; j < w->out_w; j++, to += w->out_channels) {                              \
                    pixel(p, image, rows,                                                                    \
                          nn_span(j * w->stride_w - w->pad_left, w->kernel_w, w->dilation_w, w->in_w), to);  \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
    }

OVER_WINDOWS(nn_conv_2d_16, nn_wide_conv_t, convolve)
OVER_WINDOWS(nn_depthwise_conv_2d_16, nn_wide_depthwise_t, convolve_each)

void nn_fully_connected_16(const nn_wide_dense_t *p, const void *x, void *y) {
    const int16_t *from = x;
    int16_t *to = y;

    for (int32_t row = 0; row < p->count; row++, from += p->depth) {
        for (int32_t output = 0; output < p->outputs; output++) {
            *to++ = scaled(&p->scale, dot(from, p->weights + output * p->depth, p->depth), output);
        }
    }
}
