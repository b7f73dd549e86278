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

/* X(identifier, name) */
#define QUANTITIES(X)                                                                                        \
    X(INSTRUCTIONS, "instructions")                                                                          \
    X(CYCLES, "cycles")                                                                                      \
    X(LOADS, "loads")                                                                                        \
    X(STORES, "stores")                                                                                      \
    X(BRANCHES, "branches")                                                                                  \
    X(MVE, "mve")                                                                                            \
    X(CACHE_ACCESSES, "cache_accesses")                                                                      \
    X(CACHE_MISSES, "cache_misses")                                                                          \
    X(ENERGY, "energy")                                                                                      \
    X(CACHE_READS, "cache_reads")                                                                            \
    X(CACHE_READ_MISSES, "cache_read_misses")                                                                \
    X(CACHE_WRITE_BACKS, "cache_write_backs")                                                                \
    X(PC_WRITES, "pc_writes")                                                                                \
    X(IMMEDIATE_BRANCHES, "immediate_branches")                                                              \
    X(RETURNS, "returns")                                                                                    \
    X(UNALIGNED, "unaligned")                                                                                \
    X(MEMORY_ACCESSES, "memory_accesses")                                                                    \
    X(BUS_ACCESSES, "bus_accesses")                                                                          \
    X(TCM_ACCESSES, "tcm_accesses")                                                                          \
    X(STALL_FRONTEND, "stall_frontend")                                                                      \
    X(STALL_BACKEND, "stall_backend")                                                                        \
    X(STALL, "stall")                                                                                        \
    X(LOOP_ENDS, "loop_ends")                                                                                \
    X(MVE_FP, "mve_fp")                                                                                      \
    X(MVE_FP_HALF, "mve_fp_half")                                                                            \
    X(MVE_FP_SINGLE, "mve_fp_single")                                                                        \
    X(MVE_FP_MAC, "mve_fp_mac")                                                                              \
    X(MVE_INT, "mve_int")                                                                                    \
    X(MVE_INT_MAC, "mve_int_mac")                                                                            \
    X(MVE_LDST, "mve_ldst")                                                                                  \
    X(MVE_LOADS, "mve_loads")                                                                                \
    X(MVE_STORES, "mve_stores")                                                                              \
    X(MVE_LDST_CONTIGUOUS, "mve_ldst_contiguous")                                                            \
    X(MVE_LOADS_CONTIGUOUS, "mve_loads_contiguous")                                                          \
    X(MVE_STORES_CONTIGUOUS, "mve_stores_contiguous")                                                        \
    X(MVE_LDST_SCATTERED, "mve_ldst_scattered")                                                              \
    X(MVE_LOADS_SCATTERED, "mve_loads_scattered")                                                            \
    X(MVE_STORES_SCATTERED, "mve_stores_scattered")                                                          \
    X(MVE_LDST_MULTIPLE, "mve_ldst_multiple")                                                                \
    X(MVE_LOADS_MULTIPLE, "mve_loads_multiple")                                                              \
    X(MVE_STORES_MULTIPLE, "mve_stores_multiple")                                                            \
    X(MVE_REDUCE, "mve_reduce")                                                                              \
    X(MVE_REDUCE_FP, "mve_reduce_fp")                                                                        \
    X(MVE_REDUCE_INT, "mve_reduce_int")                                                                      \
    X(MVE_STALL, "mve_stall")

typedef enum quantity {
#define X(identifier, name) Q_##identifier,
    QUANTITIES(X)
#undef X
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
const char *quantity_name(quantity_t quantity);

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
