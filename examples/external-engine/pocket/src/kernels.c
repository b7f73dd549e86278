/* The operators: what is read from their options once, and what runs. Loops as they are defined, nothing
 * more. */
#include "arithmetic.h"
#include "flat.h"
#include "pocket.h"

enum { BATCH, HEIGHT, WIDTH, CHANNELS };
enum { AVERAGE_POOL_2D = 1, CONV_2D = 3, DEPTHWISE_CONV_2D = 4, FULLY_CONNECTED = 9, MAX_POOL_2D = 17 };
enum { RESHAPE = 22, SOFTMAX = 25 };

static int32_t bias_of(const operation_t *op, int32_t channel) {
    return op->bias != 0 ? (int32_t)flat_word((flat_t)op->bias->data + 4 * channel) : 0;
}

static int8_t finished(const operation_t *op, int32_t sum, int32_t channel) {
    const int32_t value = scaled(sum, op->multipliers[channel], op->shifts[channel]) + op->y->zero;

    return (int8_t)clamp(value, op->low, op->high);
}

static int32_t place(const tensor_t *t, int32_t batch, int32_t y, int32_t x, int32_t channel) {
    return ((batch * t->shape[HEIGHT] + y) * t->shape[WIDTH] + x) * t->shape[CHANNELS] + channel;
}

/* What one window gives for one output channel. */
typedef int8_t (*window_t)(const operation_t *op, int32_t batch, int32_t top, int32_t left, int32_t channel);

static void each_window(const operation_t *op, window_t value) {
    const tensor_t *y = op->y;
    int8_t *out = y->data;

    for (int32_t b = 0; b < y->shape[BATCH]; b++) {
        for (int32_t i = 0; i < y->shape[HEIGHT]; i++) {
            for (int32_t j = 0; j < y->shape[WIDTH]; j++) {
                for (int32_t c = 0; c < y->shape[CHANNELS]; c++) {
                    *out++ = value(op, b, i * op->stride_h - op->pad_top, j * op->stride_w - op->pad_left, c);
                }
            }
        }
    }
}

static bool inside(const tensor_t *t, int32_t y, int32_t x) {
    return y >= 0 && y < t->shape[HEIGHT] && x >= 0 && x < t->shape[WIDTH];
}

static int8_t conv_window(const operation_t *op, int32_t batch, int32_t top, int32_t left, int32_t channel) {
    const int32_t depth = op->x->shape[CHANNELS];
    int32_t sum = bias_of(op, channel);

    for (int32_t i = 0; i < op->kernel_h; i++) {
        for (int32_t j = 0; j < op->kernel_w; j++) {
            if (inside(op->x, top + i, left + j)) {
                const int8_t *x = op->x->data + place(op->x, batch, top + i, left + j, 0);
                const int8_t *w = op->weights->data + place(op->weights, channel, i, j, 0);

                for (int32_t c = 0; c < depth; c++) {
                    sum += (x[c] - op->x->zero) * w[c];
                }
            }
        }
    }
    return finished(op, sum, channel);
}

static int8_t depthwise_window(const operation_t *op, int32_t batch, int32_t top, int32_t left,
                               int32_t channel) {
    const int32_t source = channel * op->x->shape[CHANNELS] / op->y->shape[CHANNELS];
    int32_t sum = bias_of(op, channel);

    for (int32_t i = 0; i < op->kernel_h; i++) {
        for (int32_t j = 0; j < op->kernel_w; j++) {
            if (inside(op->x, top + i, left + j)) {
                const int32_t x = op->x->data[place(op->x, batch, top + i, left + j, source)];

                sum += (x - op->x->zero) * op->weights->data[place(op->weights, 0, i, j, channel)];
            }
        }
    }
    return finished(op, sum, channel);
}

static int8_t max_window(const operation_t *op, int32_t batch, int32_t top, int32_t left, int32_t channel) {
    int32_t best = INT8_MIN;

    for (int32_t i = 0; i < op->kernel_h; i++) {
        for (int32_t j = 0; j < op->kernel_w; j++) {
            if (inside(op->x, top + i, left + j)) {
                const int32_t x = op->x->data[place(op->x, batch, top + i, left + j, channel)];

                best = x > best ? x : best;
            }
        }
    }
    return (int8_t)clamp(best, op->low, op->high);
}

static int8_t average_window(const operation_t *op, int32_t batch, int32_t top, int32_t left,
                             int32_t channel) {
    int32_t sum = 0, count = 0;

    for (int32_t i = 0; i < op->kernel_h; i++) {
        for (int32_t j = 0; j < op->kernel_w; j++) {
            if (inside(op->x, top + i, left + j)) {
                sum += op->x->data[place(op->x, batch, top + i, left + j, channel)];
                count++;
            }
        }
    }
    return (int8_t)clamp((sum > 0 ? sum + count / 2 : sum - count / 2) / count, op->low, op->high);
}

static void conv(const operation_t *op) {
    each_window(op, conv_window);
}

static void depthwise(const operation_t *op) {
    each_window(op, depthwise_window);
}

static void max_pool(const operation_t *op) {
    each_window(op, max_window);
}

static void average_pool(const operation_t *op) {
    each_window(op, average_window);
}

static void dense(const operation_t *op) {
    const int32_t outputs = op->weights->shape[WIDTH], depth = op->weights->shape[CHANNELS];
    const int32_t rows = (int32_t)op->y->bytes / outputs;

    for (int32_t row = 0; row < rows; row++) {
        for (int32_t o = 0; o < outputs; o++) {
            int32_t sum = bias_of(op, o);

            for (int32_t i = 0; i < depth; i++) {
                sum += (op->x->data[row * depth + i] - op->x->zero) * op->weights->data[o * depth + i];
            }
            op->y->data[row * outputs + o] = finished(op, sum, o);
        }
    }
}

static void softmax(const operation_t *op) {
    const int32_t depth = op->y->shape[CHANNELS];

    for (int32_t at = 0; at < (int32_t)op->y->bytes; at += depth) {
        softmax_row(op->x->data + at, depth, op->multipliers[0], op->shifts[0], op->least, op->y->data + at);
    }
}

static void reshape(const operation_t *op) {
    memcpy(op->y->data, op->x->data, op->y->bytes);
}

/* Preparation. */

static int set_factors(operation_t *op, int32_t channels) {
    op->multipliers = pocket_take(4u * (uint32_t)channels);
    op->shifts = pocket_take(4u * (uint32_t)channels);
    return op->multipliers != 0 && op->shifts != 0 ? POCKET_OK : POCKET_ARENA_TOO_SMALL;
}

static int set_range(operation_t *op, int32_t activation) {
    op->low = activation == 1 || activation == 3 ? clamp(op->y->zero, INT8_MIN, INT8_MAX) : INT8_MIN;
    op->high = INT8_MAX;
    if (activation == 3) {
        op->high = clamp(op->y->zero + (int32_t)(6.0f / op->y->scale + 0.5f), INT8_MIN, INT8_MAX);
    }
    return activation == 0 || activation == 1 || activation == 3 ? POCKET_OK : POCKET_OPERATOR;
}

static int weighted(operation_t *op, int32_t channels, int32_t activation, bool single_precision) {
    if (op->weights == 0 || !op->weights->constant || op->weights->zero != 0) {
        return POCKET_OPERATOR;
    }
    if (set_factors(op, channels) != POCKET_OK) {
        return POCKET_ARENA_TOO_SMALL;
    }
    for (int32_t c = 0; c < channels; c++) {
        const float scale =
            flat_float_item(op->weights->scales, op->weights->scale_count > 1u ? (uint32_t)c : 0u);
        /* With one scale for all weights a dense layer's product is formed in single precision. */
        const double product =
            single_precision ? (double)(op->x->scale * scale) : (double)op->x->scale * (double)scale;

        fixed_point(product / (double)op->y->scale, &op->multipliers[c], &op->shifts[c]);
    }
    return set_range(op, activation);
}

static int32_t padding(int32_t extent, int32_t outputs, int32_t kernel, int32_t stride) {
    const int32_t missing = (outputs - 1) * stride + kernel - extent;

    return missing > 0 ? missing / 2 : 0;
}

/* `flat` tables of windowed operators begin alike: padding, stride_w, stride_h. */
static void set_window(operation_t *op, flat_t options, int32_t kernel_h, int32_t kernel_w) {
    op->kernel_h = kernel_h;
    op->kernel_w = kernel_w;
    op->stride_w = flat_int(options, 1u, 0);
    op->stride_h = flat_int(options, 2u, 0);
    if (flat_byte(options, 0u) == 0) {
        op->pad_top = padding(op->x->shape[HEIGHT], op->y->shape[HEIGHT], kernel_h, op->stride_h);
        op->pad_left = padding(op->x->shape[WIDTH], op->y->shape[WIDTH], kernel_w, op->stride_w);
    }
}

static int prepare_conv(operation_t *op, flat_t options, bool by_channel) {
    const uint32_t activation = by_channel ? 4u : 3u;

    set_window(op, options, op->weights->shape[HEIGHT], op->weights->shape[WIDTH]);
    if (flat_int(options, activation + 1u, 1) != 1 || flat_int(options, activation + 2u, 1) != 1) {
        return POCKET_OPERATOR;
    }
    op->run = by_channel ? depthwise : conv;
    return weighted(op, op->y->shape[CHANNELS], flat_byte(options, activation), false);
}

static int prepare_pool(operation_t *op, flat_t options, bool averaging) {
    set_window(op, options, flat_int(options, 4u, 0), flat_int(options, 3u, 0));
    op->run = averaging ? average_pool : max_pool;
    return set_range(op, flat_byte(options, 5u));
}

static int prepare_dense(operation_t *op, flat_t options) {
    op->run = dense;
    return weighted(op, op->weights->shape[WIDTH], flat_byte(options, 0u), op->weights->scale_count == 1u);
}

static int prepare_softmax(operation_t *op, flat_t options) {
    const int32_t integer_bits = 5;
    const flat_t at = options != 0 ? flat_field(options, 0u) : 0;
    float beta = 0.0f;
    double factor;

    if (at != 0) {
        memcpy(&beta, at, sizeof(beta));
    }
    if (set_factors(op, 1) != POCKET_OK) {
        return POCKET_ARENA_TOO_SMALL;
    }
    factor = (double)beta * (double)op->x->scale * (double)(1 << (31 - integer_bits));
    fixed_point(factor < 2147483647.0 ? factor : 2147483647.0, op->multipliers, op->shifts);
    if (!(factor > 1.0)) {
        return POCKET_OPERATOR;
    }
    op->least = -(int32_t)(((int64_t)31 << (31 - integer_bits)) >> op->shifts[0]);
    op->run = softmax;
    return POCKET_OK;
}

int pocket_prepare(operation_t *op, uint32_t builtin, const uint8_t *options) {
    switch (builtin) {
    case CONV_2D:
        op->name = "CONV_2D";
        return prepare_conv(op, options, false);
    case DEPTHWISE_CONV_2D:
        op->name = "DEPTHWISE_CONV_2D";
        return prepare_conv(op, options, true);
    case MAX_POOL_2D:
        op->name = "MAX_POOL_2D";
        return prepare_pool(op, options, false);
    case AVERAGE_POOL_2D:
        op->name = "AVERAGE_POOL_2D";
        return prepare_pool(op, options, true);
    case FULLY_CONNECTED:
        op->name = "FULLY_CONNECTED";
        return prepare_dense(op, options);
    case SOFTMAX:
        op->name = "SOFTMAX";
        return prepare_softmax(op, options);
    case RESHAPE:
        op->name = "RESHAPE";
        op->run = reshape;
        return POCKET_OK;
    default:
        return POCKET_OPERATOR;
    }
}
