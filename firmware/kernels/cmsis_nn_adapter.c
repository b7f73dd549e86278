#include "cmsis_nn_adapter.h"

#include "arm_nnfunctions.h"

static void require(int holds) {
    if (!holds) {
        __builtin_trap();
    }
}

static cmsis_nn_context context(int8_t *scratch, int32_t planned, int32_t needed) {
    require(needed <= planned);
    return (cmsis_nn_context){scratch, planned};
}

static cmsis_nn_dims input_of(const nn_window_t *w) {
    return (cmsis_nn_dims){w->batches, w->in_h, w->in_w, w->in_channels};
}

static cmsis_nn_dims output_of(const nn_window_t *w) {
    return (cmsis_nn_dims){w->batches, w->out_h, w->out_w, w->out_channels};
}

static cmsis_nn_per_channel_quant_params factors_of(const cmsis_conv_t *p) {
    /* The library reads through these pointers only. */
    return (cmsis_nn_per_channel_quant_params){(int32_t *)p->multiplier, (int32_t *)p->shift};
}

void cmsis_conv_2d(const cmsis_conv_t *p, const int8_t *x, int8_t *scratch, int8_t *y) {
    const nn_window_t *w = &p->window;
    const cmsis_nn_conv_params params = {
        .input_offset = -p->input_zero,
        .output_offset = p->output_zero,
        .stride = {w->stride_w, w->stride_h},
        .padding = {w->pad_left, w->pad_top},
        .dilation = {w->dilation_w, w->dilation_h},
        .activation = {p->low, p->high},
    };
    const cmsis_nn_per_channel_quant_params factors = factors_of(p);
    const cmsis_nn_dims in = input_of(w), out = output_of(w);
    const cmsis_nn_dims filter = {w->out_channels, w->kernel_h, w->kernel_w, w->in_channels};
    const cmsis_nn_dims bias = {1, 1, 1, w->out_channels};
    const cmsis_nn_context ctx = context(
        scratch, p->scratch_bytes, arm_convolve_wrapper_s8_get_buffer_size(&params, &in, &filter, &out));

    require(arm_convolve_wrapper_s8(&ctx, &params, &factors, &in, x, &filter, p->weights, &bias, p->bias,
                                    &out, y) == ARM_CMSIS_NN_SUCCESS);
}

void cmsis_depthwise_conv_2d(const cmsis_conv_t *p, const int8_t *x, int8_t *scratch, int8_t *y) {
    const nn_window_t *w = &p->window;
    const cmsis_nn_dw_conv_params params = {
        .input_offset = -p->input_zero,
        .output_offset = p->output_zero,
        .ch_mult = p->depth_multiplier,
        .stride = {w->stride_w, w->stride_h},
        .padding = {w->pad_left, w->pad_top},
        .dilation = {w->dilation_w, w->dilation_h},
        .activation = {p->low, p->high},
    };
    const cmsis_nn_per_channel_quant_params factors = factors_of(p);
    const cmsis_nn_dims in = input_of(w), out = output_of(w);
    const cmsis_nn_dims filter = {1, w->kernel_h, w->kernel_w, w->out_channels};
    const cmsis_nn_dims bias = {1, 1, 1, w->out_channels};
    const cmsis_nn_context ctx =
        context(scratch, p->scratch_bytes,
                arm_depthwise_conv_wrapper_s8_get_buffer_size(&params, &in, &filter, &out));

    require(arm_depthwise_conv_wrapper_s8(&ctx, &params, &factors, &in, x, &filter, p->weights, &bias,
                                          p->bias, &out, y) == ARM_CMSIS_NN_SUCCESS);
}

void cmsis_fully_connected(const cmsis_dense_t *p, const int8_t *x, int8_t *scratch, int8_t *y) {
    const cmsis_nn_fc_params params = {
        .input_offset = -p->input_zero,
        .filter_offset = 0,
        .output_offset = p->output_zero,
        .activation = {p->low, p->high},
    };
    const cmsis_nn_per_tensor_quant_params factor = {p->multiplier, p->shift};
    const cmsis_nn_dims in = {p->count, 1, 1, p->depth}, out = {p->count, 1, 1, p->outputs};
    const cmsis_nn_dims filter = {p->depth, 1, 1, p->outputs}, bias = {1, 1, 1, p->outputs};
    const cmsis_nn_context ctx =
        context(scratch, p->scratch_bytes, arm_fully_connected_s8_get_buffer_size(&filter));

    require(arm_fully_connected_s8(&ctx, &params, &factor, &in, x, &filter, p->weights, &bias, p->bias, &out,
                                   y) == ARM_CMSIS_NN_SUCCESS);
}

static cmsis_nn_pool_params pool_of(const cmsis_pool_t *p) {
    const nn_window_t *w = &p->window;

    return (cmsis_nn_pool_params){
        .stride = {w->stride_w, w->stride_h},
        .padding = {w->pad_left, w->pad_top},
        .activation = {p->low, p->high},
    };
}

void cmsis_average_pool_2d(const cmsis_pool_t *p, const int8_t *x, int8_t *scratch, int8_t *y) {
    const nn_window_t *w = &p->window;
    const cmsis_nn_pool_params params = pool_of(p);
    const cmsis_nn_dims in = input_of(w), out = output_of(w);
    const cmsis_nn_dims filter = {1, w->kernel_h, w->kernel_w, 1};
    const cmsis_nn_context ctx =
        context(scratch, p->scratch_bytes, arm_avgpool_s8_get_buffer_size(w->out_w, w->in_channels));

    require(arm_avgpool_s8(&ctx, &params, &in, x, &filter, &out, y) == ARM_CMSIS_NN_SUCCESS);
}

void cmsis_max_pool_2d(const cmsis_pool_t *p, const int8_t *x, int8_t *scratch, int8_t *y) {
    const nn_window_t *w = &p->window;
    const cmsis_nn_pool_params params = pool_of(p);
    const cmsis_nn_dims in = input_of(w), out = output_of(w);
    const cmsis_nn_dims filter = {1, w->kernel_h, w->kernel_w, 1};
    const cmsis_nn_context ctx = context(scratch, p->scratch_bytes, 0);

    require(arm_max_pool_s8(&ctx, &params, &in, x, &filter, &out, y) == ARM_CMSIS_NN_SUCCESS);
}
