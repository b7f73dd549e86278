/* Runs an engine on the host: inputs from stdin, every operator's outputs and then the model's to stdout. */
#include <stdio.h>
#include <stdlib.h>

#include "engine.h"
#include "engine_config.h"

#ifdef HOST_RANGES
#include <sanitizer/asan_interface.h>

#include "host_ranges.h"

/* What lies between the tensors must not be touched. */
static void guard(void) {
    int8_t *arena = (int8_t *)engine_info()->inputs[0].data - HOST_FIRST_INPUT;

    ASAN_POISON_MEMORY_REGION(arena, engine_info()->arena_bytes);
    for (size_t i = 0; i < sizeof(host_ranges) / sizeof(host_ranges[0]); i++) {
        ASAN_UNPOISON_MEMORY_REGION(arena + host_ranges[i][0], host_ranges[i][1]);
    }
}
#else
static void guard(void) {}
#endif

static void put(const engine_buffer_t *buffers, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (buffers[i].bytes != 0 &&
            fwrite(buffers[i].data, 1, buffers[i].bytes, stdout) != buffers[i].bytes) {
            exit(4);
        }
    }
}

static void before(void *ctx, uint32_t op) {
    (void)ctx;
    (void)op;
}

static void after(void *ctx, uint32_t op) {
    const engine_info_t *info = ctx;

    put(info->ops[op].outputs, info->ops[op].output_count);
}

int main(void) {
    const engine_info_t *info = engine_info();
    const engine_observer_t observer = {before, after, (void *)info};

    if (engine_init() != 0) {
        return 2;
    }
    const int reset_every = getenv("HOST_RESET") == NULL ? 0 : atoi(getenv("HOST_RESET"));

    guard();
    for (int number = 0;; number++) {
        if (reset_every != 0 && number != 0 && number % reset_every == 0) {
            engine_reset();
        }
        for (uint32_t i = 0; i < info->input_count; i++) {
            if (fread(info->inputs[i].data, 1, info->inputs[i].bytes, stdin) != info->inputs[i].bytes) {
                return i == 0 ? 0 : 3;
            }
        }
        if (engine_invoke(getenv("HOST_QUIET") == NULL ? &observer : NULL) != 0) {
            return 1;
        }
        put(info->outputs, info->output_count);
    }
}
