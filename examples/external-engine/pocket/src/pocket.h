/* What the parts of the interpreter share: tensors, operators, and the codes of engine_init(). */
#ifndef POCKET_H
#define POCKET_H

#include <stdbool.h>
#include <stdint.h>

enum pocket_code {
    POCKET_OK = 0,
    POCKET_NO_MODEL = 1,
    POCKET_ARENA_TOO_SMALL = 2,
    POCKET_OPERATOR = 3, /* an operator, or one of its options, that it does not run */
    POCKET_TENSOR = 4,   /* an activation that is not int8 */
};

typedef struct tensor {
    int32_t shape[4]; /* aligned to the right: leading extents are 1 */
    uint32_t bytes;
    int8_t *data;
    float scale;           /* the first one */
    const uint8_t *scales; /* a flatbuffer vector */
    uint32_t scale_count;
    int32_t zero;
    bool constant;
} tensor_t;

typedef struct operation {
    void (*run)(const struct operation *op);
    const char *name;
    const tensor_t *x, *weights, *bias;
    tensor_t *y;
    int32_t kernel_h, kernel_w, stride_h, stride_w, pad_top, pad_left;
    int32_t low, high;
    int32_t *multipliers, *shifts; /* one an output channel */
    int32_t least;                 /* softmax: differences below it count as nothing */
} operation_t;

/* Takes zeroed memory from the arena, 16 bytes aligned; 0 when there is none left. */
void *pocket_take(uint32_t bytes);

/* Fills an operation from the model; the tensors are set. */
int pocket_prepare(operation_t *op, uint32_t builtin, const uint8_t *options);

#endif
