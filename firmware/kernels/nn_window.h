/* How windows of a convolution or a pool lie over an image. Images are rows of pixels of channels. */
#ifndef NN_WINDOW_H
#define NN_WINDOW_H

#include <stdint.h>

typedef struct nn_window {
    int32_t batches;
    int32_t in_h, in_w, in_channels;
    int32_t out_h, out_w, out_channels;
    int32_t kernel_h, kernel_w;
    int32_t stride_h, stride_w;
    int32_t dilation_h, dilation_w;
    int32_t pad_top, pad_left;
} nn_window_t;

/* The part of a window, along one axis, that lies inside the image: taps first..end-1; `start` may be
 * outside. */
typedef struct nn_span {
    int32_t start, first, end;
} nn_span_t;

static inline nn_span_t nn_span(int32_t start, int32_t kernel, int32_t dilation, int32_t extent) {
    nn_span_t span = {start, 0, kernel};

    if (start < 0) {
        span.first = (dilation - 1 - start) / dilation;
    }
    if (start + (kernel - 1) * dilation >= extent) {
        span.end = start < extent ? (extent - 1 - start) / dilation + 1 : 0;
    }
    return span;
}

#endif
