#include "nn_slopes.h"

#include "nn_math.h"

void nn_slopes_16(const nn_slopes_t *p, const void *x, void *y) {
    const int16_t *from = x;
    int16_t *to = y;

    for (int32_t i = 0; i < p->count; i++) {
        const int32_t value = from[i] - p->from_zero;
        const nn_slope_t *slope = value >= 0 ? &p->above : &p->below;
        const uint32_t scaled = (uint32_t)nn_scale(value, slope->multiplier, slope->shift);

        to[i] = (int16_t)nn_clamp((int32_t)(scaled + (uint32_t)p->to_zero), p->low, p->high);
    }
}
