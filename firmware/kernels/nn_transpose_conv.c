#include "nn_transpose_conv.h"

static int32_t dot(const int8_t *x, const int8_t *w, int32_t count, int32_t zero) {
    int32_t sum = 0;

    for (int32_t i = 0; i < count; i++) {
        sum += (x[i] - zero) * w[i];
    }
    return sum;
}

/* What all input pixels that reach an output pixel give one of its channels. */
static int32_t gathered(const nn_transpose_conv_t *p, const int8_t *x, int32_t row, int32_t column,
                        int32_t channel) {
    const int8_t *weights = p->weights + channel * p->kernel_h * p->kernel_w * p->in_channels;
    uint32_t sum = (uint32_t)p->bias[channel];

    for (int32_t i = 0; i < p->kernel_h; i++) {
        const int32_t down = row + p->pad_top - i;

        if (down < 0 || down % p->stride_h != 0 || down / p->stride_h >= p->in_h) {
            continue;
        }
        for (int32_t j = 0; j < p->kernel_w; j++) {
            const int32_t right = column + p->pad_left - j;

            if (right < 0 || right % p->stride_w != 0 || right / p->stride_w >= p->in_w) {
                continue;
            }
            sum += (uint32_t)dot(x + (down / p->stride_h * p->in_w + right / p->stride_w) * p->in_channels,
                                 weights + (i * p->kernel_w + j) * p->in_channels, p->in_channels,
                                 p->input_zero);
        }
    }
    return (int32_t)sum;
}

void nn_transpose_conv(const nn_transpose_conv_t *p, const int8_t *x, int8_t *y) {
    for (int32_t batch = 0; batch < p->batches; batch++, x += p->in_h * p->in_w * p->in_channels) {
        for (int32_t row = 0; row < p->out_h; row++) {
            for (int32_t column = 0; column < p->out_w; column++) {
                for (int32_t channel = 0; channel < p->out_channels; channel++) {
                    const int32_t factor = channel & p->channel_mask;
                    const uint32_t scaled = (uint32_t)nn_scale(gathered(p, x, row, column, channel),
                                                               p->multiplier[factor], p->shift[factor]);

                    *y++ = (int8_t)nn_clamp((int32_t)(scaled + (uint32_t)p->output_zero), p->low, p->high);
                }
            }
        }
    }
}
