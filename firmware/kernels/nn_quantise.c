#include "nn_quantise.h"

#include <string.h>

static float scale_of(const nn_requantise_t *p) {
    float scale;

    memcpy(&scale, &p->scale_word, sizeof(scale));
    return scale;
}

static int32_t requantise(const nn_requantise_t *p, int32_t value) {
    const int32_t centred = (int32_t)((uint32_t)value - (uint32_t)p->from_zero);
    const int32_t scaled = nn_scale(centred, p->multiplier, p->shift);

    return nn_clamp((int32_t)((uint32_t)scaled + (uint32_t)p->to_zero), p->low, p->high);
}

#define REQUANTISE(from, to)                                                                                 \
    void nn_requantise_##from##_##to(const nn_requantise_t *p, const void *x, void *y) {                     \
        for (int32_t i = 0; i < p->count; i++) {                                                             \
            ((int##to##_t *)y)[i] = (int##to##_t)requantise(p, ((const int##from##_t *)x)[i]);               \
        }                                                                                                    \
    }

REQUANTISE(16, 8)
REQUANTISE(16, 16)
REQUANTISE(16, 32)
REQUANTISE(32, 8)
REQUANTISE(32, 16)
REQUANTISE(32, 32)

/* Nearest integer, ties away from zero, within what is far outside every stored range. */
static int32_t round_half_away(float value) {
    const float far = 1048576.0f;
    int32_t whole;
    float rest;

    if (value != value) {
        return 0;
    }
    if (value >= far || value <= -far) {
        return value > 0.0f ? 1048576 : -1048576;
    }
    whole = (int32_t)value;
    rest = value - (float)whole;
    return rest >= 0.5f ? whole + 1 : rest <= -0.5f ? whole - 1 : whole;
}

#define FROM_FLOAT(name, type)                                                                               \
    void nn_from_float_##name(const nn_requantise_t *p, const void *x, void *y) {                            \
        const float scale = scale_of(p);                                                                     \
                                                                                                             \
        for (int32_t i = 0; i < p->count; i++) {                                                             \
            const int32_t stored = round_half_away(((const float *)x)[i] / scale) + p->to_zero;              \
                                                                                                             \
            ((type *)y)[i] = (type)nn_clamp(stored, p->low, p->high);                                        \
        }                                                                                                    \
    }

FROM_FLOAT(8, int8_t)
FROM_FLOAT(u8, uint8_t)
FROM_FLOAT(16, int16_t)

void nn_to_float_16(const nn_requantise_t *p, const void *x, void *y) {
    const float scale = scale_of(p);

    for (int32_t i = 0; i < p->count; i++) {
        ((float *)y)[i] = scale * (float)(((const int16_t *)x)[i] - p->from_zero);
    }
}
