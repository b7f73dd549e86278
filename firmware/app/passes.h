/* What the host can have run: a clean window, an instrumented pass, an inference, an inspection. */
#ifndef HARNESS_PASSES_H
#define HARNESS_PASSES_H

#include <stdbool.h>
#include <stdint.h>

#include "counters.h"
#include "engine.h"
#include "inputs.h"
#include "wire.h"

#define PASS_FLAG_RESET 0x01u     /* streaming state back to its initial value first */
#define PASS_FLAG_BUSY_LOOP 0x02u /* a window times a busy loop of known length in place of inferences */

typedef struct pass_spec {
    uint8_t kind;
    uint8_t flags;
    uint32_t id;
    uint32_t iterations; /* 0 in a window: as many as fill target_ms */
    uint32_t warmup;
    uint32_t target_ms, min_iterations, max_iterations;
    uint32_t settle_ms; /* quiet before a window: the host has been answered, nothing is measured yet */
    uint32_t column_count;
    counter_column_t columns[COUNTERS_MAX_COLUMNS];
} pass_spec_t;

typedef struct pass_result {
    uint32_t iterations;
    uint32_t warmup;
    uint32_t segments;
    uint32_t sample_words;
    uint64_t ticks;
    uint32_t warm_ticks;   /* longest warm inference; 0 without warm-ups */
    uint64_t settle_ticks; /* how long the quiet before the window took; 0 without */
} pass_result_t;

extern uint32_t pass_samples[];
uint32_t pass_sample_capacity(void);

/* Inferences since boot. */
uint32_t pass_invocations(void);
/* Run and count one inference; the caller restored the inputs. Returns the engine's code. */
int pass_invoke(const engine_observer_t *observer);

/* Each sends its records and returns true, or sends an ERROR and returns false. */
bool window_run(pass_spec_t *spec);
bool counters_run(pass_spec_t *spec);
bool infer_run(const pass_spec_t *spec);
bool inspect_run(const pass_spec_t *spec);

/* Shared endings. */
void pass_prepare(const pass_spec_t *spec);
void pass_send_table(const pass_spec_t *spec, const pass_result_t *result, uint32_t rows);
void pass_send_samples(uint32_t id, uint32_t first_word, uint32_t words);
void pass_send_end(const pass_spec_t *spec, const pass_result_t *result);
bool pass_failed(int code);
/* Sends an ERROR when the engine wrote around its arena. */
bool arena_damaged(void);

#endif
