/*
 * Counters and what is derived from them.
 *
 * Slots are raw counts: of executed instructions by kind, of what became of conditional ones, of memory
 * accesses. Quantities are weighted sums of slots, worked out only when somebody reads them.
 */
#ifndef COUNTERS_COUNTERS_H
#define COUNTERS_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "kinds.h"

enum {
    SLOT_EXECUTED = 0,                             /* by kind, outside IT blocks */
    SLOT_EXECUTED_IT = SLOT_EXECUTED + KIND_COUNT, /* by kind, inside IT blocks, condition passed or not */
    SLOT_PASSED_IT =
        SLOT_EXECUTED_IT + KIND_COUNT,        /* by kind, loads and stores inside IT blocks that happened */
    SLOT_TAKEN = SLOT_PASSED_IT + KIND_COUNT, /* by kind, branches of flag KF_OUTCOME that were taken */
    SLOT_TAKEN_IT = SLOT_TAKEN + KIND_COUNT,  /* by kind, branches inside IT blocks that were taken */
    SLOT_WORDS_LOADED = SLOT_TAKEN_IT + KIND_COUNT, /* words of instructions that transfer a list */
    SLOT_WORDS_STORED,
    SLOT_PENDING,      /* the branch just executed; see `branch_note` */
    SLOT_UNALIGNED,    /* unaligned scalar accesses */
    SLOT_CACHED_READS, /* accesses to cacheable addresses */
    SLOT_CACHED_WRITES,
    SLOT_READ_MISSES,
    SLOT_WRITE_MISSES,
    SLOT_WRITE_BACKS,
    SLOT_VECTOR_MISSES, /* the misses that vector instructions caused */
    SLOT_TCM,           /* accesses to tightly coupled memory */
    SLOT_BUS,           /* accesses to everything else */
    SLOT_COUNT
};

typedef enum quantity {
    Q_INSTRUCTIONS,
    Q_CYCLES,
    Q_LOADS,
    Q_STORES,
    Q_BRANCHES,
    Q_MVE,
    Q_CACHE_ACCESSES,
    Q_CACHE_MISSES,
    Q_ENERGY,
    Q_CACHE_READS,
    Q_CACHE_READ_MISSES,
    Q_CACHE_WRITE_BACKS,
    Q_PC_WRITES,
    Q_IMMEDIATE_BRANCHES,
    Q_RETURNS,
    Q_UNALIGNED,
    Q_MEMORY_ACCESSES,
    Q_BUS_ACCESSES,
    Q_TCM_ACCESSES,
    Q_STALL_FRONTEND,
    Q_STALL_BACKEND,
    Q_STALL,
    Q_LOOP_ENDS,
    Q_MVE_FP,
    Q_MVE_FP_HALF,
    Q_MVE_FP_SINGLE,
    Q_MVE_FP_MAC,
    Q_MVE_INT,
    Q_MVE_INT_MAC,
    Q_MVE_LDST,
    Q_MVE_LOADS,
    Q_MVE_STORES,
    Q_MVE_LDST_CONTIGUOUS,
    Q_MVE_LOADS_CONTIGUOUS,
    Q_MVE_STORES_CONTIGUOUS,
    Q_MVE_LDST_SCATTERED,
    Q_MVE_LOADS_SCATTERED,
    Q_MVE_STORES_SCATTERED,
    Q_MVE_LDST_MULTIPLE,
    Q_MVE_LOADS_MULTIPLE,
    Q_MVE_STORES_MULTIPLE,
    Q_MVE_REDUCE,
    Q_MVE_REDUCE_FP,
    Q_MVE_REDUCE_INT,
    Q_MVE_STALL,
    Q_COUNT
} quantity_t;

/* Modelled costs: cycles or femtojoules. */
typedef struct costs {
    uint32_t kind[KIND_COUNT];
    uint32_t branch_taken;     /* what a conditional branch costs more when it is taken */
    uint32_t condition_failed; /* a load, store or branch in an IT block whose condition fails */
    uint32_t word;             /* each word of an instruction that transfers a list */
    uint32_t miss;             /* each line fetched into the cache */
    uint32_t cycle;            /* energy only: each cycle */
} costs_t;

/* Prepares the weights. `bus_beats` is how many bus accesses move a cache line. */
void counters_prepare(const costs_t *cycles, const costs_t *energy, uint32_t bus_beats);
uint64_t counters_value(quantity_t quantity);

/* The slots, for code that adds to them at run time. */
extern uint64_t *counters_slots;

/*
 * A branch whose outcome is to be told adds its note to SLOT_PENDING, which is zero before: the slot that
 * counts it when taken, and the address behind it. The next block looks whether it starts there.
 */
static inline uint64_t branch_note(unsigned taken_slot, uint32_t behind) {
    return (uint64_t)taken_slot << 32 | behind;
}

static inline void branch_resolve(uint32_t address) {
    const uint64_t pending = counters_slots[SLOT_PENDING];

    if (pending != 0) {
        counters_slots[SLOT_PENDING] = 0;
        counters_slots[pending >> 32] += (uint32_t)pending != address;
    }
}

#endif
