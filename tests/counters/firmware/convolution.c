/* A plain int8 convolution, REPEAT times. */

#include "probe.h"
static int8_t in[18 * 18 * 16], w[16 * 9 * 16], out[16 * 16 * 16];

static int8_t requantised(int32_t value) {
    value >>= 7;
    return (int8_t)(value > 127 ? 127 : value < -128 ? -128 : value);
}

__attribute__((noinline)) static void convolution(void) {
    for (int y = 0; y < 16; y++) {
        for (int x = 0; x < 16; x++) {
            for (int o = 0; o < 16; o++) {
                int32_t sum = 0;
                for (int ky = 0; ky < 3; ky++) {
                    const int8_t *a = in + ((y + ky) * 18 + x) * 16, *b = w + (o * 3 + ky) * 48;
                    for (int i = 0; i < 48; i++) {
                        sum += a[i] * b[i];
                    }
                }
                out[(y * 16 + x) * 16 + o] = requantised(sum);
            }
        }
    }
}

void probe(void) {
    for (int i = 0; i < REPEAT; i++) {
        convolution();
        __asm volatile("" ::: "memory");
    }
    report("out", (uint32_t)out[7]);
}
