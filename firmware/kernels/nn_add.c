#include "nn_add.h"

/* Bits that an operand is moved up before it is scaled, so that the common scale keeps its precision. */
#define HEADROOM 20

static inline int32_t common(const nn_operand_t *p, int8_t value) {
    return nn_scale((value - p->zero) * (1 << HEADROOM), p->multiplier, p->shift);
}

void nn_add(const nn_add_t *p, const int8_t *a, const int8_t *b, int8_t *y) {
    for (int32_t i = 0; i < p->count; i++) {
        const int32_t sum = common(&p->a, a[i]) + common(&p->b, b[i]);
        const uint32_t value =
            (uint32_t)nn_scale(sum, p->out.multiplier, p->out.shift) + (uint32_t)p->out.zero;

        y[i] = (int8_t)nn_clamp((int32_t)value, p->low, p->high);
    }
}
