/*
 * The gate log: what a power monitor would see. Both edges of each measured window and, while the gate is
 * high, a sample every so many translated blocks; each with modelled cycles, instructions and energy.
 */
#ifndef COUNTERS_GATELOG_H
#define COUNTERS_GATELOG_H

#include <stdbool.h>

/* Hints without effect on silicon; firmware executes them at the edges of a window. */
#define HINT_GATE_HIGH 0xBF60u
#define HINT_GATE_LOW 0xBF70u
#define HINT_STATE_HIGH 0xBF80u
#define HINT_STATE_LOW 0xBF90u

/* Begins a new log; false when it cannot be written. */
bool gatelog_open(const char *path);
void gatelog_edge(bool high);
void gatelog_state(bool high); /* the state line: the firmware waits for go, or is done */
void gatelog_sample(void);

extern unsigned gatelog_countdown; /* blocks until the next sample; zero while the gate is low */

static inline void gatelog_block(void) {
    if (gatelog_countdown != 0u && --gatelog_countdown == 0u) {
        gatelog_sample();
    }
}

#endif
