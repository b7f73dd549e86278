#include "nn_lstm.h"

#include <string.h>

#include "nn_curve.h"

static int32_t clamp16(int32_t value) {
    return nn_clamp(value, INT16_MIN, INT16_MAX);
}

static int32_t weighted(const int8_t *x, const int8_t *weights, int32_t count, int32_t bias,
                        nn_lstm_factor_t factor) {
    int32_t sum = 0;

    for (int32_t i = 0; i < count; i++) {
        sum += weights[i] * x[i];
    }
    return clamp16(nn_scale((int32_t)((uint32_t)sum + (uint32_t)bias), factor.multiplier, factor.shift));
}

/* What goes into a gate's curve. */
static int32_t gate(const nn_lstm_t *p, const nn_lstm_gate_t *g, int32_t unit, const int8_t *x,
                    const int8_t *hidden) {
    const nn_lstm_factor_t factor = {g->multiplier, g->shift};
    const nn_lstm_factor_t recurrent = {g->recurrent_multiplier, g->recurrent_shift};

    return 3 * clamp16(weighted(x, g->weights + unit * p->inputs, p->inputs, g->bias[unit], factor) +
                       weighted(hidden, g->recurrent + unit * p->units, p->units, g->recurrent_bias[unit],
                                recurrent));
}

static int32_t multiplied(int32_t a, int32_t b, nn_lstm_factor_t factor) {
    return nn_scale(a * b, factor.multiplier, factor.shift);
}

static void step(const nn_lstm_t *p, const int8_t *x, int8_t *hidden, int16_t *cells, int8_t *y) {
    for (int32_t unit = 0; unit < p->units; unit++) {
        const int32_t forget = nn_curve_logistic(p->table, gate(p, &p->forget, unit, x, hidden));
        const int32_t input = nn_curve_logistic(p->table, gate(p, &p->input, unit, x, hidden));
        const int32_t fresh = nn_curve_tanh(p->table, gate(p, &p->cell, unit, x, hidden));
        const int32_t output = nn_curve_logistic(p->table, gate(p, &p->output, unit, x, hidden));
        int32_t cell = clamp16(clamp16(multiplied(forget, cells[unit], p->keep)) +
                               clamp16(multiplied(input, fresh, p->add)));
        int32_t squashed;

        if (p->clip > 0) {
            cell = nn_clamp(cell, -p->clip, p->clip);
        }
        cells[unit] = (int16_t)cell;
        squashed = nn_curve_tanh(p->table, nn_curve_input(cell, p->cell_multiplier, p->cell_shift));
        y[unit] =
            (int8_t)nn_clamp(multiplied(squashed, output, p->hidden) + p->hidden_zero, INT8_MIN, INT8_MAX);
    }
    memcpy(hidden, y, (size_t)p->units);
}

void nn_lstm(const nn_lstm_t *p, const void *hidden_before, const void *cells_before, const void *x,
             void *hidden, void *cells, void *y) {
    (void)hidden_before;
    (void)cells_before;
    for (int32_t batch = 0; batch < p->batches; batch++) {
        for (int32_t moment = 0; moment < p->moments; moment++) {
            step(p, (const int8_t *)x + batch * p->input_batch + moment * p->input_moment,
                 (int8_t *)hidden + batch * p->units, (int16_t *)cells + batch * p->units,
                 (int8_t *)y + batch * p->output_batch + moment * p->output_moment);
        }
    }
}
