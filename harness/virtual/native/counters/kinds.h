/*
 * The kinds of instruction the plugin tells apart. Every instruction that executes adds one to the counter of
 * its kind; whatever else is reported (instructions, cycles, loads, events of the PMU) is a weighted sum of
 * these.
 */
#ifndef COUNTERS_KINDS_H
#define COUNTERS_KINDS_H

enum kind_flags {
    KF_LOAD = 1 << 0,
    KF_STORE = 1 << 1,
    KF_BRANCH = 1 << 2,
    KF_IMMEDIATE = 1 << 3, /* branch to an address in the instruction */
    KF_RETURN = 1 << 4,    /* return from a function */
    KF_OUTCOME = 1 << 5,   /* branch that is taken or not, outside IT blocks as well */
    KF_LOOP_END = 1 << 6,
    KF_MULTIPLE = 1 << 7, /* transfers a list of registers */
    KF_MVE = 1 << 8,
    KF_MVE_INT = 1 << 9,
    KF_MVE_HALF = 1 << 10,   /* floating point, half precision */
    KF_MVE_SINGLE = 1 << 11, /* floating point, single precision */
    KF_MAC = 1 << 12,        /* multiply or multiply-accumulate of the MVE */
    KF_REDUCE = 1 << 13,
    KF_SCATTERED = 1 << 14,  /* gather load or scatter store */
    KF_INTERLEAVED = 1 << 15 /* VLD2, VLD4, VST2, VST4 */
};

#define KF_MVE_FP (KF_MVE_HALF | KF_MVE_SINGLE)
#define KF_I (KF_MVE | KF_MVE_INT)
#define KF_H (KF_MVE | KF_MVE_HALF)
#define KF_S (KF_MVE | KF_MVE_SINGLE)

/* X(identifier, name in cost tables, flags) */
#define KINDS(X)                                                                                             \
    X(UNKNOWN, "unknown", 0)                                                                                 \
    X(ALU, "alu", 0)                                                                                         \
    X(DSP, "dsp", 0)                                                                                         \
    X(MULTIPLY, "multiply", 0)                                                                               \
    X(MAC, "mac", 0)                                                                                         \
    X(DIVIDE, "divide", 0)                                                                                   \
    X(LOAD, "load", KF_LOAD)                                                                                 \
    X(LOAD_DOUBLE, "load_double", KF_LOAD)                                                                   \
    X(LOAD_MULTIPLE, "load_multiple", KF_LOAD | KF_MULTIPLE)                                                 \
    X(LOAD_EXCLUSIVE, "load_exclusive", KF_LOAD)                                                             \
    X(LOAD_JUMP, "load_jump", KF_LOAD | KF_BRANCH)                                                           \
    X(LOAD_RETURN, "load_return", KF_LOAD | KF_BRANCH | KF_RETURN | KF_MULTIPLE)                             \
    X(TABLE_BRANCH, "table_branch", KF_LOAD | KF_BRANCH)                                                     \
    X(STORE, "store", KF_STORE)                                                                              \
    X(STORE_DOUBLE, "store_double", KF_STORE)                                                                \
    X(STORE_MULTIPLE, "store_multiple", KF_STORE | KF_MULTIPLE)                                              \
    X(STORE_EXCLUSIVE, "store_exclusive", KF_STORE)                                                          \
    X(BRANCH, "branch", KF_BRANCH | KF_IMMEDIATE)                                                            \
    X(BRANCH_CONDITIONAL, "branch_conditional", KF_BRANCH | KF_IMMEDIATE | KF_OUTCOME)                       \
    X(BRANCH_COMPARE, "branch_compare", KF_BRANCH | KF_IMMEDIATE | KF_OUTCOME)                               \
    X(BRANCH_INDIRECT, "branch_indirect", KF_BRANCH)                                                         \
    X(CALL, "call", KF_BRANCH | KF_IMMEDIATE)                                                                \
    X(CALL_INDIRECT, "call_indirect", KF_BRANCH)                                                             \
    X(RETURN, "return", KF_BRANCH | KF_RETURN)                                                               \
    X(LOOP_START, "loop_start", 0)                                                                           \
    X(LOOP_WHILE, "loop_while", KF_BRANCH | KF_IMMEDIATE | KF_OUTCOME)                                       \
    X(LOOP_END, "loop_end", KF_BRANCH | KF_IMMEDIATE | KF_OUTCOME | KF_LOOP_END)                             \
    X(LOOP_CLEAR, "loop_clear", 0)                                                                           \
    X(BRANCH_FUTURE, "branch_future", 0)                                                                     \
    X(IF_THEN, "if_then", 0)                                                                                 \
    X(HINT, "hint", 0)                                                                                       \
    X(BARRIER, "barrier", 0)                                                                                 \
    X(SYSTEM, "system", 0)                                                                                   \
    X(EXCEPTION, "exception", 0)                                                                             \
    X(COPROCESSOR, "coprocessor", 0)                                                                         \
    X(FP_MOVE, "fp_move", 0)                                                                                 \
    X(FP_ALU, "fp_alu", 0)                                                                                   \
    X(FP_MULTIPLY, "fp_multiply", 0)                                                                         \
    X(FP_MAC, "fp_mac", 0)                                                                                   \
    X(FP_DIVIDE, "fp_divide", 0)                                                                             \
    X(FP_SQRT, "fp_sqrt", 0)                                                                                 \
    X(FP_SYSTEM, "fp_system", 0)                                                                             \
    X(FP_LOAD, "fp_load", KF_LOAD)                                                                           \
    X(FP_STORE, "fp_store", KF_STORE)                                                                        \
    X(FP_LOAD_MULTIPLE, "fp_load_multiple", KF_LOAD | KF_MULTIPLE)                                           \
    X(FP_STORE_MULTIPLE, "fp_store_multiple", KF_STORE | KF_MULTIPLE)                                        \
    X(MVE_INTEGER, "mve_integer", KF_I)                                                                      \
    X(MVE_MAC, "mve_mac", KF_I | KF_MAC)                                                                     \
    X(MVE_REDUCE, "mve_reduce", KF_I | KF_REDUCE)                                                            \
    X(MVE_MAC_REDUCE, "mve_mac_reduce", KF_I | KF_MAC | KF_REDUCE)                                           \
    X(MVE_MOVE, "mve_move", KF_I)                                                                            \
    X(MVE_PREDICATE, "mve_predicate", KF_MVE)                                                                \
    X(MVE_COMPARE, "mve_compare", KF_I)                                                                      \
    X(MVE_COMPARE_HALF, "mve_compare_half", KF_H)                                                            \
    X(MVE_COMPARE_SINGLE, "mve_compare_single", KF_S)                                                        \
    X(MVE_HALF, "mve_half", KF_H)                                                                            \
    X(MVE_SINGLE, "mve_single", KF_S)                                                                        \
    X(MVE_HALF_MAC, "mve_half_mac", KF_H | KF_MAC)                                                           \
    X(MVE_SINGLE_MAC, "mve_single_mac", KF_S | KF_MAC)                                                       \
    X(MVE_HALF_REDUCE, "mve_half_reduce", KF_H | KF_REDUCE)                                                  \
    X(MVE_SINGLE_REDUCE, "mve_single_reduce", KF_S | KF_REDUCE)                                              \
    X(MVE_LOAD, "mve_load", KF_MVE | KF_LOAD)                                                                \
    X(MVE_STORE, "mve_store", KF_MVE | KF_STORE)                                                             \
    X(MVE_GATHER, "mve_gather", KF_MVE | KF_LOAD | KF_SCATTERED)                                             \
    X(MVE_SCATTER, "mve_scatter", KF_MVE | KF_STORE | KF_SCATTERED)                                          \
    X(MVE_LOAD_INTERLEAVED, "mve_load_interleaved", KF_MVE | KF_LOAD | KF_INTERLEAVED)                       \
    X(MVE_STORE_INTERLEAVED, "mve_store_interleaved", KF_MVE | KF_STORE | KF_INTERLEAVED)

typedef enum kind {
#define X(identifier, name, flags) KIND_##identifier,
    KINDS(X)
#undef X
        KIND_COUNT
} kind_t;

#endif
