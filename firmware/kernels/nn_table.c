#include "nn_table.h"

#define LOOK_UP(bits)                                                                                        \
    void nn_table_##bits(const nn_table_t *p, const void *x, void *y) {                                      \
        const uint##bits##_t *table = p->table;                                                              \
        const uint8_t *from = x;                                                                             \
        uint##bits##_t *to = y;                                                                              \
                                                                                                             \
        for (int32_t i = 0; i < p->count; i++) {                                                             \
            to[i] = table[from[i]];                                                                          \
        }                                                                                                    \
    }

LOOK_UP(8)
LOOK_UP(16)
LOOK_UP(32)
