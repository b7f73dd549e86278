/* The interface an inference engine gives to the firmware app.
 *
 * An engine is a model made executable: an ahead-of-time generated graph, or an interpreter with a model
 * linked in. One engine is linked into an image. The functions are called from one thread, never from an
 * interrupt.
 */
#ifndef ENGINE_H
#define ENGINE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ENGINE_ABI_VERSION 1

/* Where a tensor is during an inference, and its length. */
typedef struct engine_buffer {
    void *data;
    uint32_t bytes;
} engine_buffer_t;

/* One operator in execution order. Its outputs are valid from the observer's `after` for this operator until
 * the next operator starts; later operators may reuse the memory. */
typedef struct engine_op {
    const char *name;      /* TFLite builtin name, e.g. "CONV_2D" */
    uint32_t source_index; /* index of the operator in the model file */
    uint32_t output_count;
    const engine_buffer_t *outputs;
} engine_op_t;

typedef struct engine_info {
    const char *name;
    const char *version;
    const uint8_t *model_sha256; /* 32 bytes */
    uint32_t op_count, input_count, output_count;
    const engine_op_t *ops;
    const engine_buffer_t *inputs; /* to be filled before each engine_invoke(): it may overwrite them */
    const engine_buffer_t
        *outputs; /* valid after engine_invoke() until the next one or until inputs are filled */
    uint32_t arena_bytes;
} engine_info_t;

/* Called around each operator; op counts from 0 in execution order. */
typedef struct engine_observer {
    void (*before)(void *ctx, uint32_t op);
    void (*after)(void *ctx, uint32_t op);
    void *ctx;
} engine_observer_t;

const engine_info_t *engine_info(void);

/* Prepares the engine once after boot. 0: ready; anything else is the engine's own code for what failed. */
int engine_init(void);

/* Brings streaming state back to its initial value. */
void engine_reset(void);

/* Runs one inference. NULL observer: no instrumentation at all. 0: done. */
int engine_invoke(const engine_observer_t *observer);

/* Runs `count` operators in execution order from `first` on, on what is in their tensors. An engine whose
 * engine_config.h defines ENGINE_LAYER_RANGES has it; it need not. 0: done. */
int engine_invoke_layers(uint32_t first, uint32_t count);

#ifdef __cplusplus
}
#endif

#endif
