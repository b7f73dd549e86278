/* Vector instructions. */

#include "probe.h"

uint8_t data[256] __attribute__((aligned(64)));

BODY(copy, "ldr r0, =data\n vldrb.u8 q0, [r0]\n vstrb.8 q0, [r0, #64]\n bx lr\n .ltorg")
BODY(tail, "push {r4, lr}\n ldr r0, =data\n movs r1, #40\n movs r2, #0\n dlstp.8 lr, r1\n"
           "1: vldrb.u8 q0, [r0], #16\n vmladava.u8 r2, q0, q0\n letp lr, 1b\n pop {r4, pc}\n .ltorg")
BODY(mixed, "vmov.i32 q0, #0\n vadd.i32 q0, q0, q0\n vfma.f32 q0, q0, q0\n vmov q0[2], q0[0], r0, r1\n"
            "vctp.8 r0\n vpst\n vaddt.i8 q0, q0, q0\n bx lr")

void probe(void) {
    measure("copy", copy);
    measure("tail", tail);
    measure("mixed", mixed);
}
