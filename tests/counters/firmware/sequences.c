/* Instruction sequences whose counts are known by construction; each ends in a return. */

#include "probe.h"

uint32_t data[64] __attribute__((aligned(64)));

BODY(nops, ".rept 10\n nop\n .endr\n bx lr")
BODY(loop, "mov r0, #100\n 1: subs r0, #1\n bne 1b\n bx lr")
BODY(compare, "movs r0, #5\n 1: subs r0, #1\n cbz r0, 2f\n b 1b\n 2: bx lr")
BODY(passed,
     "ldr r1, =data\n movs r0, #0\n cmp r0, #0\n itt eq\n ldreq r2, [r1]\n streq r2, [r1]\n bx lr\n .ltorg")
BODY(failed,
     "ldr r1, =data\n movs r0, #0\n cmp r0, #1\n itt eq\n ldreq r2, [r1]\n streq r2, [r1]\n bx lr\n .ltorg")
BODY(calls, "push {r4, lr}\n bl 1f\n bl 1f\n pop {r4, pc}\n 1: bx lr")
BODY(lists, "push {r4-r7, lr}\n ldr r0, =data\n ldm r0, {r1-r4}\n stm r0, {r1-r2}\n ldrd r1, r2, [r0]\n pop "
            "{r4-r7, pc}\n .ltorg")
BODY(early, "movs r0, #1\n cmp r0, #1\n it eq\n bxeq lr\n nop\n bx lr")
BODY(late, "movs r0, #1\n cmp r0, #2\n it eq\n bxeq lr\n nop\n bx lr")

void probe(void) {
    data[0] = 1;
    measure("nops", nops);
    measure("loop", loop);
    measure("compare", compare);
    measure("passed", passed);
    measure("failed", failed);
    measure("calls", calls);
    measure("lists", lists);
    measure("early", early);
    measure("late", late);
}
