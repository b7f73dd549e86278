/*
 * Vector table and reset of a Cortex-M; a port's startup.c includes it once. It may define STARTUP_CHIP_INIT
 * before: a function of its own that runs once memory holds its initial values, before anything else.
 */
#ifndef HARNESS_STARTUP_CORTEX_M_H
#define HARNESS_STARTUP_CORTEX_M_H

#include <stdint.h>

extern const uint32_t __data_load[];
extern uint32_t __data_start[], __data_end[], __bss_start[], __bss_end[], __stack_top[];

int main(void);
void hal_fault_handler(void);
void hal_systick_handler(void);

/* A port without SysTick's exception has no other use for it. */
__attribute__((weak)) void hal_systick_handler(void) {}

__attribute__((noreturn, used)) static void reset_c(void) {
    const uint32_t *source = __data_load;

    for (uint32_t *word = __data_start; word < __data_end; word++) {
        *word = *source++;
    }
    for (uint32_t *word = __bss_start; word < __bss_end; word++) {
        *word = 0u;
    }
#if defined(STARTUP_CHIP_INIT)
    STARTUP_CHIP_INIT();
#endif
    (void)main();
    for (;;) {
    }
}

/* The FPU comes first: whatever follows may use its registers. */
__attribute__((naked, noreturn)) void Reset_Handler(void) {
    /* 0xE000ED88 is CPACR; its bits 20 to 23 open coprocessors 10 and 11. */
    __asm volatile(
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
        "ldr r0, =0xE000ED88\n\t"
        "ldr r1, [r0]\n\t"
        "orr r1, r1, #(0xF << 20)\n\t"
        "str r1, [r0]\n\t"
        "dsb\n\t"
        "isb\n\t"
#endif
#if __ARM_ARCH >= 8
        "ldr r0, =__stack_limit\n\t"
        "msr msplim, r0\n\t"
#endif
        "b reset_c\n\t"
        ".ltorg\n\t");
}

typedef void (*vector_t)(void);

#define CORTEX_M_SYSTEM_VECTORS 16
/* External interrupts stay disabled, so the table ends with the system's. */
__attribute__((section(".vectors"), used)) static const vector_t vectors[CORTEX_M_SYSTEM_VECTORS] = {
    (vector_t)(uintptr_t)__stack_top,
    Reset_Handler,
    hal_fault_handler,
    hal_fault_handler,
    hal_fault_handler,
    hal_fault_handler,
    hal_fault_handler,
    hal_fault_handler,
    hal_fault_handler,
    hal_fault_handler,
    hal_fault_handler,
    hal_fault_handler,
    hal_fault_handler,
    hal_fault_handler,
    hal_fault_handler,
    hal_systick_handler,
};

#endif
