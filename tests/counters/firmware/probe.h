/* A test program is `void probe(void)` on top of this: it prints `name=value` lines and returns. */
#ifndef PROBE_H
#define PROBE_H

#include <stdint.h>

#define ACCESS __attribute__((noinline, section(".pmu_access")))

void report(const char *name, uint32_t value);
void report64(const char *name, uint64_t value);

uint32_t reg_read(uint32_t address);
void reg_write(uint32_t address, uint32_t value);

#define DWT_CTRL (DWT_PAGE + 0x000u)
#define DWT_CYCCNT (DWT_PAGE + 0x004u)

#define PMU_EVCNTR(n) (PMU_PAGE + 4u * (n))
#define PMU_CCNTR (PMU_PAGE + 0x07Cu)
#define PMU_EVTYPER(n) (PMU_PAGE + 0x400u + 4u * (n))
#define PMU_CNTENSET (PMU_PAGE + 0xC00u)
#define PMU_CNTENCLR (PMU_PAGE + 0xC20u)
#define PMU_OVSCLR (PMU_PAGE + 0xC80u)
#define PMU_SWINC (PMU_PAGE + 0xCA0u)
#define PMU_OVSSET (PMU_PAGE + 0xCC0u)
#define PMU_TYPE (PMU_PAGE + 0xE00u)
#define PMU_CTRL (PMU_PAGE + 0xE04u)

enum {
    OBS_INSTRUCTIONS,
    OBS_CYCLES,
    OBS_LOADS,
    OBS_STORES,
    OBS_BRANCHES,
    OBS_MVE,
    OBS_ACCESSES,
    OBS_MISSES,
    OBS_ENERGY,
    OBS_COUNT
};

void observe(uint64_t values[OBS_COUNT]);

/* Runs `body` between two looks at the observer page and reports the differences, less those of an empty
 * body. */
void measure(const char *name, void (*body)(void));

/* A function of nothing but assembly, which has to return by itself. */
#define BODY(name, ...)                                                                                      \
    __attribute__((naked, noinline)) static void name(void) {                                                \
        __asm volatile(__VA_ARGS__);                                                                         \
    }

static inline void empty_caches(void) {
    __asm volatile(".inst.n 0xbf50" ::: "memory");
}

#endif
