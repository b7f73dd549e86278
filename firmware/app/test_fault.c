#include "test_fault.h"

#include "hal.h"

#ifndef HARNESS_TEST_FAULT_AT
#define HARNESS_TEST_FAULT_AT 0u
#endif
#ifndef HARNESS_TEST_FAULT_OP
#define HARNESS_TEST_FAULT_OP 0u
#endif

#if HARNESS_TEST_FAULT != TEST_FAULT_NONE

volatile uint32_t harness_test_fault_op = HARNESS_TEST_FAULT_OP;

static void hang(void) {
    for (;;) {
    }
}

static void garbage(void) {
    uint32_t state = 1u;

    for (;;) {
        state = state * 1664525u + 1013904223u;
        const uint8_t byte = (uint8_t)(state >> 24);
        hal_transport_write(&byte, 1u);
    }
}

static void bad_access(void) {
#if defined(BOARD_CORTEX_M)
    (void)*(volatile uint32_t *)0xF0000000u;
#else
    hal_test_fault();
#endif
}

static void lockup(void) {
#if defined(BOARD_CORTEX_M)
    /* The vector table moves to where nothing is: the fault's vector fetch faults again. */
    *(volatile uint32_t *)0xE000ED08u = 0xF0000000u;
    __asm volatile("dsb\n\tisb" ::: "memory");
#endif
    bad_access();
}

void test_fault_at_hello(void) {
    if (HARNESS_TEST_FAULT == TEST_FAULT_GARBAGE) {
        garbage();
    }
    if (HARNESS_TEST_FAULT == TEST_FAULT_MUTE) {
        hang();
    }
}

void test_fault_in_pass(uint32_t iteration) {
    if (iteration != HARNESS_TEST_FAULT_AT) {
        return;
    }
    if (HARNESS_TEST_FAULT == TEST_FAULT_HANG) {
        hang();
    }
    if (HARNESS_TEST_FAULT == TEST_FAULT_HARDFAULT) {
        bad_access();
    }
    if (HARNESS_TEST_FAULT == TEST_FAULT_LOCKUP) {
        lockup();
    }
}

void test_fault_after_layer(uint32_t op, const engine_op_t *layer) {
    if (HARNESS_TEST_FAULT == TEST_FAULT_CORRUPT && op == harness_test_fault_op) {
        *(uint8_t *)layer->outputs[0].data ^= 1u;
    }
}

#else

void test_fault_at_hello(void) {}

void test_fault_in_pass(uint32_t iteration) {
    (void)iteration;
}

void test_fault_after_layer(uint32_t op, const engine_op_t *layer) {
    (void)op;
    (void)layer;
}

#endif
