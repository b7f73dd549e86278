/* UNIDIRECTIONAL_SEQUENCE_LSTM with int8 activations and an int16 cell state; without peephole, projection
 * and normalisation. */
#ifndef NN_LSTM_H
#define NN_LSTM_H

#include <stdint.h>

#include "nn_math.h"

/* Weights are [unit][input] and [unit][unit]; zero points are in the biases. Sums become Q3.12. */
typedef struct nn_lstm_gate {
    const int8_t *weights, *recurrent;
    const int32_t *bias, *recurrent_bias;
    int32_t multiplier, shift;
    int32_t recurrent_multiplier, recurrent_shift;
} nn_lstm_gate_t;

typedef struct nn_lstm_factor {
    int32_t multiplier, shift;
} nn_lstm_factor_t;

/* Steps are in elements from one batch, and from one moment, to the next. `clip` 0: cells are not clipped. */
typedef struct nn_lstm {
    int32_t batches, moments, inputs, units;
    int32_t input_batch, input_moment, output_batch, output_moment;
    nn_lstm_gate_t input, forget, cell, output;
    nn_lstm_factor_t keep, add, hidden;
    int32_t hidden_zero;
    int32_t clip;
    int32_t cell_multiplier, cell_shift; /* of tanh's input */
    const uint16_t *table;
} nn_lstm_t;

void nn_lstm(const nn_lstm_t *p, const void *hidden_before, const void *cells_before, const void *x,
             void *hidden, void *cells, void *y);

#endif
