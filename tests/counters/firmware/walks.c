/* Walks over memory: one access an iteration over `count` addresses `step` bytes apart, `rounds` times. */

#include "probe.h"

/* 64 KiB that nothing else uses: the only memory that the test declares cacheable. */
#define AREA ((uint8_t *)(DWT_PAGE - 0x1C000u))

static uint32_t count, step, rounds;

__attribute__((noinline)) static void walk(void) {
    const uint32_t n = count, s = step;

    for (uint32_t round = rounds; round > 0; round--) {
        const uint8_t *at = AREA;
        for (uint32_t i = n; i > 0; i--, at += s) {
            uint32_t value;
            __asm volatile("ldr %0, [%1]" : "=r"(value) : "r"(at));
        }
    }
}

__attribute__((noinline)) static void fill(void) {
    const uint32_t n = count, s = step;

    for (uint32_t round = rounds; round > 0; round--) {
        uint8_t *at = AREA;
        for (uint32_t i = n; i > 0; i--, at += s) {
            __asm volatile("str %0, [%1]" ::"r"(i), "r"(at) : "memory");
        }
    }
}

static void run(const char *name, void (*body)(void), uint32_t n, uint32_t s, uint32_t r) {
    uint64_t before[OBS_COUNT], after[OBS_COUNT];

    count = n;
    step = s;
    rounds = r;
    body(); /* loads what the program itself needs */
    empty_caches();
    observe(before);
    body();
    observe(after);
    report64(name,
             (after[OBS_MISSES] - before[OBS_MISSES]) << 32 | (after[OBS_ACCESSES] - before[OBS_ACCESSES]));
}

void probe(void) {
    run("sequential", walk, 1024, 4, 1);
    run("fits", walk, 128, 32, 10);
    run("too_big", walk, 160, 32, 10);
    run("one_set_fits", walk, 4, 1024, 100);
    run("one_set_thrashes", walk, 5, 1024, 100);
    run("bytes", walk, 64, 1, 1);
    run("writes", fill, 160, 32, 10);
    run("again", walk, 128, 32, 1);
    uint64_t before[OBS_COUNT], after[OBS_COUNT];
    observe(before);
    walk();
    observe(after);
    report64("warm", after[OBS_MISSES] - before[OBS_MISSES]);
    empty_caches();
    observe(before);
    walk();
    observe(after);
    report64("emptied", after[OBS_MISSES] - before[OBS_MISSES]);
}
