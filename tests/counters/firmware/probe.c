#include "probe.h"

void probe(void);
void reset_handler(void);

extern uint32_t __stack_end, __bss_start, __bss_end;

static void stop(void) {
    for (;;) {
    }
}

__attribute__((section(".vectors"), used)) static void *const vectors[16] = {
    &__stack_end, (void *)reset_handler, (void *)stop, (void *)stop, (void *)stop, (void *)stop,
    (void *)stop, (void *)stop,          (void *)stop, (void *)stop, (void *)stop, (void *)stop,
    (void *)stop, (void *)stop,          (void *)stop, (void *)stop};

static void semihosting(uint32_t operation, const void *argument) {
    register uint32_t r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = argument;

    __asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

static void print(const char *text) {
    semihosting(0x04, text);
}

void report64(const char *name, uint64_t value) {
    char text[20];
    char *end = text + sizeof(text) - 1;

    *end = '\0';
    *--end = '\n';
    for (int i = 0; i < 16; i++, value >>= 4) {
        *--end = "0123456789abcdef"[value & 15u];
    }
    print(name);
    print("=");
    print(end);
}

void report(const char *name, uint32_t value) {
    report64(name, value);
}

ACCESS uint32_t reg_read(uint32_t address) {
    return *(volatile uint32_t *)address;
}

ACCESS void reg_write(uint32_t address, uint32_t value) {
    *(volatile uint32_t *)address = value;
}

void observe(uint64_t values[OBS_COUNT]) {
    for (uint32_t i = 0; i < OBS_COUNT; i++) {
        values[i] = reg_read(OBSERVER_PAGE + 0x10u + 8u * i);
        values[i] |= (uint64_t)reg_read(OBSERVER_PAGE + 0x14u + 8u * i) << 32;
    }
}

__attribute__((naked, noinline)) static void nothing(void) {
    __asm volatile("bx lr");
}

__attribute__((noinline)) static void difference(void (*body)(void), uint64_t delta[OBS_COUNT]) {
    uint64_t before[OBS_COUNT], after[OBS_COUNT];

    observe(before);
    body();
    observe(after);
    for (int i = 0; i < OBS_COUNT; i++) {
        delta[i] = after[i] - before[i];
    }
}

static char *joined(const char *first, const char *second) {
    static char text[64];
    char *out = text;

    while (*first != '\0') {
        *out++ = *first++;
    }
    *out++ = '.';
    while (*second != '\0') {
        *out++ = *second++;
    }
    *out = '\0';
    return text;
}

void measure(const char *name, void (*body)(void)) {
    static const char *const names[OBS_COUNT] = {"instructions", "cycles",   "loads",  "stores", "branches",
                                                 "mve",          "accesses", "misses", "energy"};
    uint64_t idle[OBS_COUNT], busy[OBS_COUNT];

    difference(nothing, idle); /* once for nothing: afterwards the program's constants are in the cache */
    difference(nothing, idle);
    difference(body, busy);
    for (int i = 0; i < OBS_COUNT; i++) {
        report64(joined(name, names[i]), busy[i] - idle[i]);
    }
}

__attribute__((noreturn)) void reset_handler(void) {
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20; /* CPACR: floating point and vectors */
    __asm volatile("dsb\n\tisb" ::: "memory");
    for (uint32_t *word = &__bss_start; word < &__bss_end; word++) {
        *word = 0;
    }
    probe();
    semihosting(0x18, (const void *)0x20026u);
    for (;;) {
    }
}
