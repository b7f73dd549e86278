#include "nn_resize.h"

#define ONE 1024

void nn_resize_bilinear(const nn_resize_t *p, const int8_t *x, int8_t *y) {
    for (int32_t batch = 0; batch < p->batches; batch++, x += p->in_h * p->in_w * p->channels) {
        for (int32_t i = 0; i < p->out_h; i++) {
            const int8_t *low = x + p->row_low[i] * p->in_w * p->channels;
            const int8_t *high = x + p->row_high[i] * p->in_w * p->channels;
            const int32_t down = p->row_part[i], up = ONE - down;

            for (int32_t j = 0; j < p->out_w; j++) {
                const int32_t left = p->column_low[j] * p->channels, right = p->column_high[j] * p->channels;
                const int32_t east = p->column_part[j], west = ONE - east;

                for (int32_t c = 0; c < p->channels; c++) {
                    const int32_t sum = low[left + c] * up * west + low[right + c] * up * east +
                                        high[left + c] * down * west + high[right + c] * down * east;
                    const int32_t half = sum > 0 ? 1 << 19 : -(1 << 19);

                    *y++ = (int8_t)((sum + half) / (1 << 20));
                }
            }
        }
    }
}
