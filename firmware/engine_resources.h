/* What the harness gives to an engine from outside the package (`engine: external`), in place of code
 * generated from the model. The file that defines it is written at build time, so that a library compiled
 * long before can be linked. */
#ifndef ENGINE_RESOURCES_H
#define ENGINE_RESOURCES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct engine_resources {
    const uint8_t
        *model; /* the .tflite file, at an address divisible by 32; 0: the engine has its own form */
    uint32_t model_bytes;
    const uint8_t *model_sha256; /* 32 bytes, for engine_info() */
    uint8_t *arena;       /* memory for tensors, at an address divisible by 32, with undefined content */
    uint32_t arena_bytes; /* not a byte behind them or before them is the engine's */
} engine_resources_t;

extern const engine_resources_t engine_resources;

#ifdef __cplusplus
}
#endif

#endif
