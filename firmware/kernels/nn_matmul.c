#include "nn_matmul.h"

static int8_t *multiply(const nn_matmul_t *p, const int8_t *a, const int8_t *b, int8_t *y) {
    for (int32_t row = 0; row < p->rows; row++) {
        for (int32_t column = 0; column < p->columns; column++) {
            const int8_t *left = a + row * p->a_row, *right = b + column * p->b_column;
            int32_t sum = 0, value;

            for (int32_t k = 0; k < p->depth; k++) {
                sum += (left[k * p->a_depth] - p->a_zero) * (right[k * p->b_depth] - p->b_zero);
            }
            value = (int32_t)((uint32_t)nn_scale(sum, p->multiplier, p->shift) + (uint32_t)p->out_zero);
            *y++ = (int8_t)nn_clamp(value, INT8_MIN, INT8_MAX);
        }
    }
    return y;
}

void nn_matmul(const nn_matmul_t *p, const int8_t *a, const int8_t *b, int8_t *y) {
    int32_t at[NN_MATMUL_DIMS] = {0};
    int32_t left = 0, right = 0, dim;

    do {
        y = multiply(p, a + left, b + right, y);
        for (dim = p->outer - 1; dim >= 0; dim--) {
            left += p->a_step[dim];
            right += p->b_step[dim];
            if (++at[dim] < p->extent[dim]) {
                break;
            }
            left -= p->a_step[dim] * p->extent[dim];
            right -= p->b_step[dim] * p->extent[dim];
            at[dim] = 0;
        }
    } while (dim >= 0);
}
