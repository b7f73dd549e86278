/* Between quantised types of more than 8 bits, and from and to float. */
#ifndef NN_QUANTISE_H
#define NN_QUANTISE_H

#include <stdint.h>

#include "nn_math.h"

/* Scales of floats are given by the bits of their IEEE 754 single. */
typedef struct nn_requantise {
    int32_t count;
    int32_t from_zero, to_zero;
    int32_t multiplier, shift;
    int32_t low, high;
    uint32_t scale_word;
} nn_requantise_t;

void nn_requantise_16_8(const nn_requantise_t *p, const void *x, void *y);
void nn_requantise_16_16(const nn_requantise_t *p, const void *x, void *y);
void nn_requantise_16_32(const nn_requantise_t *p, const void *x, void *y);
void nn_requantise_32_8(const nn_requantise_t *p, const void *x, void *y);
void nn_requantise_32_16(const nn_requantise_t *p, const void *x, void *y);
void nn_requantise_32_32(const nn_requantise_t *p, const void *x, void *y);

/* What is no number becomes the zero point. */
void nn_from_float_8(const nn_requantise_t *p, const void *x, void *y);
void nn_from_float_u8(const nn_requantise_t *p, const void *x, void *y);
void nn_from_float_16(const nn_requantise_t *p, const void *x, void *y);

void nn_to_float_16(const nn_requantise_t *p, const void *x, void *y);

#endif
