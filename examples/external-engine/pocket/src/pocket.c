/* The interpreter: reads the model once into tables in the arena, then runs operator after operator. */
#include "pocket.h"

#include "engine.h"
#include "engine_resources.h"
#include "flat.h"

#define VERSION "1.0"
#define INT8 9

static uint32_t used;
static tensor_t *tensors;
static operation_t *operations;
static engine_info_t info = {.name = "pocket", .version = VERSION};

void *pocket_take(uint32_t bytes) {
    uint8_t *const memory = engine_resources.arena + used;
    const uint32_t size = (bytes + 15u) & ~15u;

    if (size > engine_resources.arena_bytes - used) {
        return 0;
    }
    used += size;
    memset(memory, 0, size);
    return memory;
}

static int read_tensor(tensor_t *t, flat_t table, flat_t buffers) {
    const flat_t shape = flat_child(table, 0u);
    const flat_t quantization = flat_child(table, 4u);
    const flat_t zeros = flat_child(quantization, 3u);
    const flat_t data = flat_child(flat_table(buffers, (uint32_t)flat_int(table, 2u, 0)), 0u);
    const uint32_t rank = flat_length(shape);
    uint32_t elements = 1u;

    for (uint32_t i = 0; i < 4u; i++) {
        const int32_t extent = i + rank >= 4u ? (int32_t)flat_item(shape, i + rank - 4u) : 1;

        t->shape[i] = extent < 0 ? 1 : extent; /* an unknown batch */
        elements *= (uint32_t)t->shape[i];
    }
    t->scales = flat_child(quantization, 2u);
    t->scale_count = flat_length(t->scales);
    t->scale = t->scale_count != 0u ? flat_float_item(t->scales, 0u) : 0.0f;
    t->zero = flat_length(zeros) != 0u ? (int32_t)flat_word(zeros + 4u) : 0;
    if (flat_length(data) != 0u) {
        t->constant = true;
        t->data = (int8_t *)(uintptr_t)(data + 4u);
        t->bytes = flat_length(data);
        return POCKET_OK;
    }
    if (flat_byte(table, 1u) != INT8 || rank > 4u) {
        return POCKET_TENSOR;
    }
    t->bytes = elements;
    t->data = pocket_take(elements);
    return t->data != 0 ? POCKET_OK : POCKET_ARENA_TOO_SMALL;
}

static const tensor_t *input_of(flat_t inputs, uint32_t index) {
    if (index >= flat_length(inputs) || (int32_t)flat_item(inputs, index) < 0) {
        return 0;
    }
    return &tensors[flat_item(inputs, index)];
}

/* The larger of an old field of a byte and a newer one of a word says which operator it is. */
static uint32_t builtin_of(flat_t code) {
    const int32_t old = flat_byte(code, 0u), now = flat_int(code, 3u, 0);

    return (uint32_t)(old > now ? old : now);
}

static int read_operator(uint32_t number, flat_t table, flat_t codes, engine_op_t *described) {
    operation_t *const op = &operations[number];
    const flat_t inputs = flat_child(table, 1u), outputs = flat_child(table, 2u);
    engine_buffer_t *const buffer = pocket_take(sizeof(*buffer));
    int code;

    if (buffer == 0) {
        return POCKET_ARENA_TOO_SMALL;
    }
    op->x = input_of(inputs, 0u);
    op->weights = input_of(inputs, 1u);
    op->bias = input_of(inputs, 2u);
    op->y = &tensors[flat_item(outputs, 0u)];
    code = pocket_prepare(op, builtin_of(flat_table(codes, (uint32_t)flat_int(table, 0u, 0))),
                          flat_child(table, 4u));
    buffer->data = op->y->data;
    buffer->bytes = op->y->bytes;
    described->name = op->name;
    described->source_index = number;
    described->output_count = 1u;
    described->outputs = buffer;
    return code;
}

static const engine_buffer_t *buffers_of(flat_t indices) {
    engine_buffer_t *const buffers = pocket_take(flat_length(indices) * sizeof(*buffers));

    for (uint32_t i = 0; buffers != 0 && i < flat_length(indices); i++) {
        buffers[i].data = tensors[flat_item(indices, i)].data;
        buffers[i].bytes = tensors[flat_item(indices, i)].bytes;
    }
    return buffers;
}

static int read_graph(flat_t model, flat_t graph) {
    const flat_t all = flat_child(graph, 0u), list = flat_child(graph, 3u);
    engine_op_t *ops;

    tensors = pocket_take(flat_length(all) * sizeof(*tensors));
    operations = pocket_take(flat_length(list) * sizeof(*operations));
    ops = pocket_take(flat_length(list) * sizeof(*ops));
    if (tensors == 0 || operations == 0 || ops == 0) {
        return POCKET_ARENA_TOO_SMALL;
    }
    for (uint32_t i = 0; i < flat_length(all); i++) {
        const int code = read_tensor(&tensors[i], flat_table(all, i), flat_child(model, 4u));

        if (code != POCKET_OK) {
            return code;
        }
    }
    for (uint32_t i = 0; i < flat_length(list); i++) {
        const int code = read_operator(i, flat_table(list, i), flat_child(model, 1u), &ops[i]);

        if (code != POCKET_OK) {
            return code;
        }
    }
    info.op_count = flat_length(list);
    info.ops = ops;
    info.input_count = flat_length(flat_child(graph, 1u));
    info.inputs = buffers_of(flat_child(graph, 1u));
    info.output_count = flat_length(flat_child(graph, 2u));
    info.outputs = buffers_of(flat_child(graph, 2u));
    return info.inputs != 0 && info.outputs != 0 ? POCKET_OK : POCKET_ARENA_TOO_SMALL;
}

const engine_info_t *engine_info(void) {
    return &info;
}

int engine_init(void) {
    flat_t model;
    int code;

    info.model_sha256 = engine_resources.model_sha256;
    if (engine_resources.model == 0) {
        return POCKET_NO_MODEL;
    }
    model = flat_follow(engine_resources.model);
    code = read_graph(model, flat_table(flat_child(model, 2u), 0u));
    if (code != POCKET_OK) {
        /* What is told of a half-read model must not be believed. */
        info.op_count = info.input_count = info.output_count = 0u;
    }
    info.arena_bytes = used;
    return code;
}

void engine_reset(void) {
    /* Nothing is kept from one inference to the next. */
}

int engine_invoke(const engine_observer_t *observer) {
    for (uint32_t op = 0; op < info.op_count; op++) {
        if (observer != 0) {
            observer->before(observer->ctx, op);
        }
        operations[op].run(&operations[op]);
        if (observer != 0) {
            observer->after(observer->ctx, op);
        }
    }
    return 0;
}
