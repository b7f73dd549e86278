/* An IT block over the end of a page, where the emulator begins a new piece of translated code in its middle.
 */

#include "probe.h"

uint32_t data[1];

__attribute__((naked, noinline, aligned(4096))) static void body(void) {
    __asm volatile("movs r0, #1\n"
                   "cmp r0, #2\n"
                   "ldr r1, =data\n"
                   "b 1f\n"
                   ".ltorg\n"
                   ".org 0xFFC\n"
                   "1: ittt eq\n"
                   "ldreq r2, [r1]\n"
                   "ldreq r2, [r1]\n"
                   "ldreq r2, [r1]\n"
                   "bx lr");
}

void probe(void) {
    measure("straddle", body);
}
