/* Faults: collect the registers, let the app report them, stop. */

#include "hal.h"

#if defined(BOARD_CORTEX_M)

#define SCB_CFSR (*(volatile uint32_t *)0xE000ED28u)
#define SCB_HFSR (*(volatile uint32_t *)0xE000ED2Cu)
#define SCB_MMFAR (*(volatile uint32_t *)0xE000ED34u)
#define SCB_BFAR (*(volatile uint32_t *)0xE000ED38u)

#define EXC_RETURN_EXTENDED_FRAME_ABSENT (1u << 4)
#define XPSR_STACK_PADDED (1u << 9)
#define BASIC_FRAME_WORDS 8u
#define EXTENDED_FRAME_WORDS 26u

extern const uint32_t __ram_start[], __ram_end[];

static uint8_t fault_stack[1024] __attribute__((aligned(8), used));

__attribute__((used)) static void fault_entry(const uint32_t *frame, uint32_t exc_return,
                                              const uint32_t *callee) {
    static hal_fault_t fault;
    const uint32_t address = (uint32_t)frame;
    const uint32_t ram_end = (uint32_t)__ram_end;
    const bool readable = address % 4u == 0u && address >= (uint32_t)__ram_start && address < ram_end &&
                          ram_end - address > 4u * EXTENDED_FRAME_WORDS;
    uint32_t stack_words = 0u;
    const uint32_t *stack = frame;
    uint32_t exception;

    __asm volatile("mrs %0, ipsr" : "=r"(exception));
    fault = (hal_fault_t){.sp = address,
                          .exc_return = exc_return,
                          .exception = exception,
                          .cfsr = SCB_CFSR,
                          .hfsr = SCB_HFSR,
                          .mmfar = SCB_MMFAR,
                          .bfar = SCB_BFAR};
    for (uint32_t i = 0; i < 8u; i++) {
        fault.r[4u + i] = callee[i];
    }
    if (readable) {
        for (uint32_t i = 0; i < 4u; i++) {
            fault.r[i] = frame[i];
        }
        fault.r[12] = frame[4];
        fault.lr = frame[5];
        fault.pc = frame[6];
        fault.xpsr = frame[7];
        stack +=
            (exc_return & EXC_RETURN_EXTENDED_FRAME_ABSENT) != 0u ? BASIC_FRAME_WORDS : EXTENDED_FRAME_WORDS;
        stack += (fault.xpsr & XPSR_STACK_PADDED) != 0u ? 1 : 0;
        fault.sp = (uint32_t)stack;
        stack_words = (ram_end - (uint32_t)stack) / 4u;
        stack_words = stack_words < HAL_FAULT_STACK_WORDS ? stack_words : HAL_FAULT_STACK_WORDS;
    }
    app_fault(&fault, stack, stack_words);
    for (;;) {
    }
}

/* The stack may be what is broken, so the rest runs on one of its own. */
__attribute__((naked)) void hal_fault_handler(void) {
    __asm volatile("mov r1, lr\n\t"
                   "tst r1, #4\n\t"
                   "ite eq\n\t"
                   "mrseq r0, msp\n\t"
                   "mrsne r0, psp\n\t"
#if __ARM_ARCH >= 8
                   "movs r2, #0\n\t"
                   "msr msplim, r2\n\t"
#endif
                   "ldr r2, =fault_stack + 1024\n\t"
                   "msr msp, r2\n\t"
                   "push {r4-r11}\n\t"
                   "mov r2, sp\n\t"
                   "b fault_entry\n\t"
                   ".ltorg\n\t");
}

#else
typedef int hal_fault_unused_t;
#endif
