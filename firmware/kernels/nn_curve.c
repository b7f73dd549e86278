#include "nn_curve.h"

#define CURVE(name)                                                                                          \
    void nn_##name##_16(const nn_curve_t *p, const void *x, void *y) {                                       \
        const int16_t *from = x;                                                                             \
        int16_t *to = y;                                                                                     \
                                                                                                             \
        for (int32_t i = 0; i < p->count; i++) {                                                             \
            to[i] = (int16_t)nn_curve_##name(p->table, nn_curve_input(from[i], p->multiplier, p->shift));    \
        }                                                                                                    \
    }

CURVE(logistic)
CURVE(tanh)
