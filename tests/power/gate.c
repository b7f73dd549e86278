/* Windows of work between gate hints; prints the energy and cycles that the observer page says of each. */

#include "probe.h"

static volatile uint32_t words[1024];

static void work(uint32_t rounds) {
    for (uint32_t i = 0; i < rounds; i++) {
        words[i & 1023u] = words[(i * 7u) & 1023u] * 5u + i;
    }
}

static void window(uint32_t rounds) {
    uint64_t before[OBS_COUNT], after[OBS_COUNT];

    observe(before);
    __asm volatile(".inst.n 0xbf60" ::: "memory");
    work(rounds);
    __asm volatile(".inst.n 0xbf70" ::: "memory");
    observe(after);
    report64("energy", after[OBS_ENERGY] - before[OBS_ENERGY]);
    report64("cycles", after[OBS_CYCLES] - before[OBS_CYCLES]);
}

void probe(void) {
    work(20000u);
    window(ROUNDS);
}
