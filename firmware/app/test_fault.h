/*
 * Faults on purpose, for tests of the harness. Build option HARNESS_TEST_FAULT, one of the numbers below;
 * without it these functions are empty and the image is the one that ships.
 *
 * HARNESS_TEST_FAULT_AT: the iteration of a pass (hang, hard fault, lockup), default 0.
 * HARNESS_TEST_FAULT_OP: the layer whose output is changed (corrupt), default 0; also the variable
 * harness_test_fault_op, which a probe can write before the inspection.
 */
#ifndef HARNESS_TEST_FAULT_H
#define HARNESS_TEST_FAULT_H

#include <stdint.h>

#include "engine.h"

#define TEST_FAULT_NONE 0
/* In a pass: never comes back. */
#define TEST_FAULT_HANG 1
/* Instead of a hello: bytes that are no frames, for ever. */
#define TEST_FAULT_GARBAGE 2
/* In a pass: reads from where nothing is. */
#define TEST_FAULT_HARDFAULT 3
/* In a pass: a fault whose handler faults. */
#define TEST_FAULT_LOCKUP 4
/* In an inspection: the lowest bit of a layer's first output byte is flipped. */
#define TEST_FAULT_CORRUPT 5
/* Before the hello: never answers. */
#define TEST_FAULT_MUTE 6
/* The self-test sees counters that do not move. */
#define TEST_FAULT_DEAD_COUNTER 7

#ifndef HARNESS_TEST_FAULT
#define HARNESS_TEST_FAULT TEST_FAULT_NONE
#endif

void test_fault_at_hello(void);
void test_fault_in_pass(uint32_t iteration);
void test_fault_after_layer(uint32_t op, const engine_op_t *layer);

#endif
