#include "inputs.h"

#include <string.h>

#include "engine.h"
#include "engine_config.h"

static uint8_t master[ENGINE_INPUT_BYTES];

static uint32_t master_offset(uint32_t index) {
    const engine_info_t *engine = engine_info();
    uint32_t offset = 0u;

    for (uint32_t i = 0; i < index; i++) {
        offset += engine->inputs[i].bytes;
    }
    return offset;
}

uint8_t *inputs_master(uint32_t index) {
    return &master[master_offset(index)];
}

bool inputs_set(uint32_t index, uint32_t offset, const uint8_t *data, uint32_t bytes) {
    const engine_info_t *engine = engine_info();

    if (index >= engine->input_count || offset > engine->inputs[index].bytes ||
        bytes > engine->inputs[index].bytes - offset) {
        return false;
    }
    memcpy(&master[master_offset(index) + offset], data, bytes);
    return true;
}

void inputs_restore(void) {
    const engine_info_t *engine = engine_info();
    const uint8_t *source = master;

    for (uint32_t i = 0; i < engine->input_count; i++) {
        memcpy(engine->inputs[i].data, source, engine->inputs[i].bytes);
        source += engine->inputs[i].bytes;
    }
}
