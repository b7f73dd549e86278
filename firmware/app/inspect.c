/* Inferences for their outputs: plain, or with each operator's outputs sent right after it ran. Never timed.
 */

#include "events.h"
#include "hal.h"
#include "passes.h"
#include "records.h"
#include "test_fault.h"

static void send_outputs(uint32_t pass, uint32_t inference) {
    const engine_info_t *engine = engine_info();

    for (uint32_t i = 0; i < engine->output_count; i++) {
        const uint32_t prefix[] = {pass, inference, i};

        record_chunks(WIRE_OUTPUT, prefix, 3u, engine->outputs[i].data, engine->outputs[i].bytes);
    }
}

static void before_layer(void *context, uint32_t op) {
    (void)context;
    events_begin(op);
}

static void send_layer(void *context, uint32_t op) {
    const pass_spec_t *spec = context;
    const engine_op_t *layer;

    if (!events_end(op)) {
        return; /* it may be none of the table */
    }
    layer = &engine_info()->ops[op];
    test_fault_after_layer(op, layer);
    for (uint32_t i = 0; i < layer->output_count; i++) {
        const uint32_t prefix[] = {spec->id, op, i};

        record_chunks(WIRE_LAYER_OUTPUT, prefix, 3u, layer->outputs[i].data, layer->outputs[i].bytes);
    }
}

bool infer_run(const pass_spec_t *spec) {
    pass_result_t result = {.iterations = spec->iterations, .segments = 1u};

    pass_prepare(spec);
    for (uint32_t i = 0; i < spec->iterations; i++) {
        inputs_restore();
        if (pass_failed(pass_invoke(0))) {
            return false;
        }
        send_outputs(spec->id, i);
        test_fault_in_pass(i);
    }
    pass_send_end(spec, &result);
    return true;
}

bool inspect_run(const pass_spec_t *spec) {
    const engine_observer_t observer = {before_layer, send_layer, (void *)(uintptr_t)spec};
    pass_result_t result = {.iterations = 1u, .segments = 1u};

    pass_prepare(spec);
    inputs_restore();
    events_open();
    if (pass_failed(pass_invoke(&observer)) || events_failed()) {
        return false;
    }
    send_outputs(spec->id, 0u);
    pass_send_end(spec, &result);
    return true;
}
