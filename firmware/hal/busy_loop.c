/* A loop of known length: two instructions a round, aligned so that fetching does not depend on the link. */

#include "hal.h"

#if defined(BOARD_CORTEX_M)

__attribute__((noinline, aligned(16))) void hal_busy_loop(uint32_t rounds) {
    __asm volatile(".balign 8\n"
                   "1: subs %0, %0, #1\n"
                   "bne 1b"
                   : "+r"(rounds)
                   :
                   : "cc");
}

#else
typedef int hal_busy_loop_unused_t;
#endif
