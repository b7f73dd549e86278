/* Functions of one byte, looked up. Tables have 256 entries, indexed by the stored byte taken as unsigned. */
#ifndef NN_TABLE_H
#define NN_TABLE_H

#include <stdint.h>

typedef struct nn_table {
    int32_t count;
    const void *table;
} nn_table_t;

/* Results of 8, 16 and 32 bits. That of 8 bits may be the memory of the input. */
void nn_table_8(const nn_table_t *p, const void *x, void *y);
void nn_table_16(const nn_table_t *p, const void *x, void *y);
void nn_table_32(const nn_table_t *p, const void *x, void *y);

#endif
