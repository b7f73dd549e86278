/*
 * A tiny engine for tests of the app: three layers over one arena, of which the last overwrites the inputs.
 * Layer 0 adds 1 to each byte of input 0; layer 1 sums layer 0 and input 1 into 10 sums; layer 2 negates the
 * sums.
 */
#include <string.h>

#include "engine.h"
#include "engine_config.h"

#define INPUT_A 3000u
#define INPUT_B 10u

static uint8_t arena[2u * INPUT_A + 64u] __attribute__((aligned(16)
#if defined(__arm__)
                                                            ,
                                                        section(".arena.ram")
#endif
                                                            ));

static const uint8_t sha[32] = {0xab, 0xcd};
static const engine_buffer_t inputs[] = {{&arena[0], INPUT_A}, {&arena[INPUT_A], INPUT_B}};
static const engine_buffer_t layer0[] = {{&arena[INPUT_A + 16u], INPUT_A}};
static const engine_buffer_t layer1[] = {{&arena[2u * INPUT_A + 32u], 10u}};
static const engine_buffer_t layer2[] = {{&arena[0], 10u}};
static const engine_op_t ops[] = {{"ADD", 0u, 1u, layer0}, {"SUM", 2u, 1u, layer1}, {"NEG", 3u, 1u, layer2}};
static const engine_info_t info = {
    .name = "stub",
    .version = "1.0",
    .model_sha256 = sha,
    .op_count = ENGINE_OP_COUNT,
    .input_count = ENGINE_INPUT_COUNT,
    .output_count = ENGINE_OUTPUT_COUNT,
    .ops = ops,
    .inputs = inputs,
    .outputs = layer2,
    .arena_bytes = sizeof(arena),
};

#ifndef STUB_INIT_CODE
#define STUB_INIT_CODE 0
#endif

const engine_info_t *engine_info(void) {
    return &info;
}

int engine_init(void) {
    return STUB_INIT_CODE;
}

void engine_reset(void) {}

#if defined(__arm__)
static uint32_t hal_host_work;
#else
extern uint32_t hal_host_work;
#endif

static void run_layer(uint32_t op) {
    hal_host_work += op + 1u;
    if (op == 0u) {
        for (uint32_t i = 0; i < INPUT_A; i++) {
            arena[INPUT_A + 16u + i] = (uint8_t)(arena[i] + 1u);
        }
    } else if (op == 1u) {
        memcpy(layer1[0].data, inputs[1].data, INPUT_B);
        for (uint32_t i = 0; i < INPUT_A; i++) {
            ((uint8_t *)layer1[0].data)[i % 10u] += arena[INPUT_A + 16u + i];
        }
    } else {
        for (uint32_t i = 0; i < 10u; i++) {
            arena[i] = (uint8_t)(0u - ((const uint8_t *)layer1[0].data)[i]);
        }
    }
}

int engine_invoke(const engine_observer_t *observer) {
    for (uint32_t op = 0; op < ENGINE_OP_COUNT; op++) {
        if (observer != 0) {
            observer->before(observer->ctx, op);
        }
        run_layer(op);
        if (observer != 0) {
            observer->after(observer->ctx, op);
        }
    }
    return 0;
}
