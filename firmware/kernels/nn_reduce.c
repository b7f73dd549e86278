#include "nn_reduce.h"

#include <stdbool.h>

typedef struct place {
    int32_t at[NN_REDUCE_DIMS];
    int32_t offset;
} place_t;

/* To the next place; false, and back at the first one, after the last. */
static bool next(const nn_loops_t *loops, place_t *place) {
    for (int32_t dim = loops->dims - 1; dim >= 0; dim--) {
        place->offset += loops->step[dim];
        if (++place->at[dim] < loops->extent[dim]) {
            return true;
        }
        place->offset -= loops->step[dim] * loops->extent[dim];
        place->at[dim] = 0;
    }
    return false;
}

#define REDUCE(bits)                                                                                         \
    static int32_t sum_##bits(const nn_loops_t *loops, const int##bits##_t *x) {                             \
        place_t place = {{0}, 0};                                                                            \
        uint32_t sum = 0u;                                                                                   \
                                                                                                             \
        do {                                                                                                 \
            sum += (uint32_t)(int32_t)x[place.offset];                                                       \
        } while (next(loops, &place));                                                                       \
        return (int32_t)sum;                                                                                 \
    }                                                                                                        \
                                                                                                             \
    static int32_t largest_##bits(const nn_loops_t *loops, const int##bits##_t *x, int32_t *where) {         \
        place_t place = {{0}, 0};                                                                            \
        int32_t largest = x[0], number = 0;                                                                  \
                                                                                                             \
        *where = 0;                                                                                          \
        do {                                                                                                 \
            if (x[place.offset] > largest) {                                                                 \
                largest = x[place.offset];                                                                   \
                *where = number;                                                                             \
            }                                                                                                \
            number++;                                                                                        \
        } while (next(loops, &place));                                                                       \
        return largest;                                                                                      \
    }                                                                                                        \
                                                                                                             \
    static int32_t smallest_##bits(const nn_loops_t *loops, const int##bits##_t *x) {                        \
        place_t place = {{0}, 0};                                                                            \
        int32_t smallest = x[0];                                                                             \
                                                                                                             \
        do {                                                                                                 \
            smallest = x[place.offset] < smallest ? x[place.offset] : smallest;                              \
        } while (next(loops, &place));                                                                       \
        return smallest;                                                                                     \
    }                                                                                                        \
                                                                                                             \
    void nn_reduce_sum_##bits(const nn_reduce_t *p, const void *x, void *y) {                                \
        place_t kept = {{0}, 0};                                                                             \
        int##bits##_t *to = y;                                                                               \
                                                                                                             \
        do {                                                                                                 \
            const uint32_t sum = (uint32_t)sum_##bits(&p->reduced, (const int##bits##_t *)x + kept.offset);  \
            const int32_t scaled = nn_scale((int32_t)(sum + (uint32_t)p->offset), p->multiplier, p->shift);  \
            const int32_t value = (int32_t)((uint32_t)scaled + (uint32_t)p->out_zero);                       \
                                                                                                             \
            *to++ = (int##bits##_t)nn_clamp(value, INT##bits##_MIN, INT##bits##_MAX);                        \
        } while (next(&p->kept, &kept));                                                                     \
    }                                                                                                        \
                                                                                                             \
    void nn_reduce_max_##bits(const nn_reduce_t *p, const void *x, void *y) {                                \
        place_t kept = {{0}, 0};                                                                             \
        int##bits##_t *to = y;                                                                               \
        int32_t where;                                                                                       \
                                                                                                             \
        do {                                                                                                 \
            *to++ =                                                                                          \
                (int##bits##_t)largest_##bits(&p->reduced, (const int##bits##_t *)x + kept.offset, &where);  \
        } while (next(&p->kept, &kept));                                                                     \
    }                                                                                                        \
                                                                                                             \
    void nn_reduce_min_##bits(const nn_reduce_t *p, const void *x, void *y) {                                \
        place_t kept = {{0}, 0};                                                                             \
        int##bits##_t *to = y;                                                                               \
                                                                                                             \
        do {                                                                                                 \
            *to++ = (int##bits##_t)smallest_##bits(&p->reduced, (const int##bits##_t *)x + kept.offset);     \
        } while (next(&p->kept, &kept));                                                                     \
    }

REDUCE(8)
REDUCE(16)

void nn_arg_max_8(const nn_reduce_t *p, const void *x, void *y) {
    place_t kept = {{0}, 0};
    int32_t *to = y;

    do {
        (void)largest_8(&p->reduced, (const int8_t *)x + kept.offset, to++);
    } while (next(&p->kept, &kept));
}
