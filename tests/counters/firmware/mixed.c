/* Some of everything a compiler and its library emit: 64-bit division, floating point, calls. */

#include "probe.h"

void probe(void) {
    float product = 2.0f;

    product *= (float)reg_read(DWT_CTRL);
    report64("quotient", (uint64_t)product / (reg_read(DWT_CYCCNT) + 1u));
}
