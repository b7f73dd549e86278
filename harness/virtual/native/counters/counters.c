/* Weights of the quantities over the slots. */

#include "counters.h"

#include "decode.h"
#include "host.h"

uint64_t *counters_slots;

typedef struct term {
    uint32_t slot;
    int64_t weight;
} term_t;

static struct {
    unsigned count;
    term_t terms[SLOT_COUNT];
} sums[Q_COUNT];

static void add(quantity_t quantity, unsigned slot, int64_t weight) {
    for (unsigned i = 0; i < sums[quantity].count; i++) {
        if (sums[quantity].terms[i].slot == slot) {
            sums[quantity].terms[i].weight += weight;
            return;
        }
    }
    if (weight != 0) {
        sums[quantity].terms[sums[quantity].count++] = (term_t){slot, weight};
    }
}

/* Instructions of a kind, whatever became of them. */
static void add_executed(quantity_t quantity, kind_t kind) {
    add(quantity, SLOT_EXECUTED + kind, 1);
    add(quantity, SLOT_EXECUTED_IT + kind, 1);
}

/* Instructions of a kind whose condition passed, as far as it can be told. */
static void add_passed(quantity_t quantity, kind_t kind) {
    const uint32_t flags = kind_flags(kind);

    add(quantity, SLOT_EXECUTED + kind, 1);
    if ((flags & (KF_LOAD | KF_STORE)) != 0u) {
        add(quantity, SLOT_PASSED_IT + kind, 1);
    } else {
        add(quantity, (flags & KF_BRANCH) != 0u ? SLOT_TAKEN_IT + kind : SLOT_EXECUTED_IT + kind, 1);
    }
}

/* A cost for each instruction of a kind; less where its condition failed, more where a branch was taken. */
static void add_cost(quantity_t quantity, kind_t kind, uint32_t cost, uint32_t failed, uint32_t taken) {
    const uint32_t flags = kind_flags(kind);

    add(quantity, SLOT_EXECUTED + kind, cost);
    if ((flags & KF_OUTCOME) != 0u) {
        add(quantity, SLOT_TAKEN + kind, taken);
    }
    if ((flags & (KF_LOAD | KF_STORE)) != 0u) {
        add(quantity, SLOT_EXECUTED_IT + kind, failed);
        add(quantity, SLOT_PASSED_IT + kind, (int64_t)cost - failed);
    } else if ((flags & KF_BRANCH) != 0u) {
        add(quantity, SLOT_EXECUTED_IT + kind, failed);
        add(quantity, SLOT_TAKEN_IT + kind, (int64_t)cost - failed);
    } else {
        add(quantity, SLOT_EXECUTED_IT + kind, cost);
    }
}

static uint32_t excess(uint32_t cost) {
    return cost > 1u ? cost - 1u : 0u;
}

static void add_costs(quantity_t quantity, const costs_t *costs) {
    for (kind_t kind = 0; kind < KIND_COUNT; kind++) {
        add_cost(quantity, kind, costs->kind[kind], costs->condition_failed, costs->branch_taken);
    }
    add(quantity, SLOT_WORDS_LOADED, costs->word);
    add(quantity, SLOT_WORDS_STORED, costs->word);
    add(quantity, SLOT_READ_MISSES, costs->miss);
    add(quantity, SLOT_WRITE_MISSES, costs->miss);
}

/* Where cycles beyond one for each instruction come from: branches stall the front end, all else the back
 * end. */
static void add_stalls(const costs_t *cycles) {
    for (kind_t kind = 0; kind < KIND_COUNT; kind++) {
        const bool branch = (kind_flags(kind) & KF_BRANCH) != 0u;
        const uint32_t cost = excess(cycles->kind[kind]), failed = excess(cycles->condition_failed);
        const quantity_t side = branch ? Q_STALL_FRONTEND : Q_STALL_BACKEND;

        add_cost(side, kind, cost, failed, cycles->branch_taken);
        add_cost(Q_STALL, kind, cost, failed, cycles->branch_taken);
        if ((kind_flags(kind) & KF_MVE) != 0u) {
            add_cost(Q_MVE_STALL, kind, cost, failed, 0);
        }
    }
    for (quantity_t quantity = Q_STALL_BACKEND; quantity <= Q_STALL; quantity++) {
        add(quantity, SLOT_WORDS_LOADED, cycles->word);
        add(quantity, SLOT_WORDS_STORED, cycles->word);
        add(quantity, SLOT_READ_MISSES, cycles->miss);
        add(quantity, SLOT_WRITE_MISSES, cycles->miss);
    }
    add(Q_MVE_STALL, SLOT_VECTOR_MISSES, cycles->miss);
}

static void add_branch(kind_t kind, uint32_t flags) {
    add_executed(Q_BRANCHES, kind);
    if ((flags & KF_IMMEDIATE) != 0u) {
        add_executed(Q_IMMEDIATE_BRANCHES, kind);
    }
    if ((flags & KF_RETURN) != 0u) {
        add(Q_RETURNS, SLOT_EXECUTED + kind, 1);
        add(Q_RETURNS, SLOT_TAKEN_IT + kind, 1);
    }
    if ((flags & KF_LOOP_END) != 0u) {
        add_executed(Q_LOOP_ENDS, kind);
    }
    add(Q_PC_WRITES, ((flags & KF_OUTCOME) != 0u ? SLOT_TAKEN : SLOT_EXECUTED) + kind, 1);
    add(Q_PC_WRITES, SLOT_TAKEN_IT + kind, 1);
}

static void add_vector_memory(kind_t kind, uint32_t flags) {
    const bool load = (flags & KF_LOAD) != 0u;

    add_executed(Q_MVE_LDST, kind);
    add_executed(load ? Q_MVE_LOADS : Q_MVE_STORES, kind);
    if ((flags & KF_SCATTERED) != 0u) {
        add_executed(Q_MVE_LDST_SCATTERED, kind);
        add_executed(load ? Q_MVE_LOADS_SCATTERED : Q_MVE_STORES_SCATTERED, kind);
    } else {
        add_executed(Q_MVE_LDST_CONTIGUOUS, kind);
        add_executed(load ? Q_MVE_LOADS_CONTIGUOUS : Q_MVE_STORES_CONTIGUOUS, kind);
    }
    if ((flags & KF_INTERLEAVED) != 0u) {
        add_executed(Q_MVE_LDST_MULTIPLE, kind);
        add_executed(load ? Q_MVE_LOADS_MULTIPLE : Q_MVE_STORES_MULTIPLE, kind);
    }
}

static void add_vector(kind_t kind, uint32_t flags) {
    static const struct {
        quantity_t quantity;
        uint32_t all, any;
    } rules[] = {
        {Q_MVE, KF_MVE, KF_MVE},
        {Q_MVE_FP, KF_MVE, KF_MVE_FP},
        {Q_MVE_FP_HALF, KF_MVE_HALF, KF_MVE},
        {Q_MVE_FP_SINGLE, KF_MVE_SINGLE, KF_MVE},
        {Q_MVE_FP_MAC, KF_MAC, KF_MVE_FP},
        {Q_MVE_INT, KF_MVE_INT, KF_MVE},
        {Q_MVE_INT_MAC, KF_MAC, KF_MVE_INT},
        {Q_MVE_REDUCE, KF_REDUCE, KF_MVE},
        {Q_MVE_REDUCE_FP, KF_REDUCE, KF_MVE_FP},
        {Q_MVE_REDUCE_INT, KF_REDUCE, KF_MVE_INT},
    };

    for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if ((flags & rules[i].all) == rules[i].all && (flags & rules[i].any) != 0u) {
            add_executed(rules[i].quantity, kind);
        }
    }
    if ((flags & KF_MVE) != 0u && (flags & (KF_LOAD | KF_STORE)) != 0u) {
        add_vector_memory(kind, flags);
    }
}

static void add_memory(uint32_t bus_beats) {
    static const unsigned accesses[] = {SLOT_CACHED_READS, SLOT_CACHED_WRITES, SLOT_TCM, SLOT_BUS};

    for (unsigned i = 0; i < sizeof(accesses) / sizeof(accesses[0]); i++) {
        add(Q_MEMORY_ACCESSES, accesses[i], 1);
    }
    add(Q_CACHE_ACCESSES, SLOT_CACHED_READS, 1);
    add(Q_CACHE_ACCESSES, SLOT_CACHED_WRITES, 1);
    add(Q_CACHE_MISSES, SLOT_READ_MISSES, 1);
    add(Q_CACHE_MISSES, SLOT_WRITE_MISSES, 1);
    add(Q_CACHE_READS, SLOT_CACHED_READS, 1);
    add(Q_CACHE_READ_MISSES, SLOT_READ_MISSES, 1);
    add(Q_CACHE_WRITE_BACKS, SLOT_WRITE_BACKS, 1);
    add(Q_UNALIGNED, SLOT_UNALIGNED, 1);
    add(Q_TCM_ACCESSES, SLOT_TCM, 1);
    add(Q_BUS_ACCESSES, SLOT_BUS, 1);
    add(Q_BUS_ACCESSES, SLOT_READ_MISSES, bus_beats);
    add(Q_BUS_ACCESSES, SLOT_WRITE_MISSES, bus_beats);
    add(Q_BUS_ACCESSES, SLOT_WRITE_BACKS, bus_beats);
}

void counters_prepare(const costs_t *cycles, const costs_t *energy, uint32_t bus_beats) {
    counters_slots = host_slots();
    for (kind_t kind = 0; kind < KIND_COUNT; kind++) {
        const uint32_t flags = kind_flags(kind);

        add_executed(Q_INSTRUCTIONS, kind);
        if ((flags & KF_LOAD) != 0u) {
            add_passed(Q_LOADS, kind);
        }
        if ((flags & KF_STORE) != 0u) {
            add_passed(Q_STORES, kind);
        }
        if ((flags & KF_BRANCH) != 0u) {
            add_branch(kind, flags);
        }
        add_vector(kind, flags);
    }
    add_memory(bus_beats);
    add_costs(Q_CYCLES, cycles);
    add_stalls(cycles);
    add_costs(Q_ENERGY, energy);
    for (unsigned i = 0; i < sums[Q_CYCLES].count; i++) {
        add(Q_ENERGY, sums[Q_CYCLES].terms[i].slot, sums[Q_CYCLES].terms[i].weight * (int64_t)energy->cycle);
    }
}

uint64_t counters_value(quantity_t quantity) {
    int64_t value = 0;

    for (unsigned i = 0; i < sums[quantity].count; i++) {
        value += sums[quantity].terms[i].weight * (int64_t)counters_slots[sums[quantity].terms[i].slot];
    }
    return (uint64_t)value;
}

const char *quantity_name(quantity_t quantity) {
    static const char *const names[Q_COUNT] = {
#define X(identifier, name) name,
        QUANTITIES(X)
#undef X
    };
    return names[quantity];
}
