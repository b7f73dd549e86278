/* The cycle counter of the DWT: absent until enabled, advances, freezes, is written, wraps. */

#include "probe.h"

BODY(hundred, ".rept 100\n nop\n .endr\n bx lr")

void probe(void) {
    uint32_t first, second;

    report("ctrl_off", reg_read(DWT_CTRL));
    report("off_first", reg_read(DWT_CYCCNT));
    hundred();
    report("off_second", reg_read(DWT_CYCCNT));

    reg_write(DWT_CTRL, 1);
    report("ctrl_on", reg_read(DWT_CTRL));
    first = reg_read(DWT_CYCCNT);
    second = reg_read(DWT_CYCCNT);
    report("idle", second - first);
    first = reg_read(DWT_CYCCNT);
    hundred();
    second = reg_read(DWT_CYCCNT);
    report("hundred", second - first);

    reg_write(DWT_CTRL, 0);
    first = reg_read(DWT_CYCCNT);
    hundred();
    report("frozen", reg_read(DWT_CYCCNT) - first);
    reg_write(DWT_CTRL, 1);
    report("resumed", reg_read(DWT_CYCCNT) - first);

    reg_write(DWT_CYCCNT, 0xFFFFFFF0u);
    hundred();
    report("wrapped", reg_read(DWT_CYCCNT));

    reg_write(DWT_PAGE + 0x08u, 0x55u);
    report("other", reg_read(DWT_PAGE + 0x08u));
    report("magic", reg_read(OBSERVER_PAGE));
    report("version", reg_read(OBSERVER_PAGE + 4u));
    report("count", reg_read(OBSERVER_PAGE + 8u));
    reg_write(OBSERVER_PAGE, 0u);
    report("magic_kept", reg_read(OBSERVER_PAGE));
}
