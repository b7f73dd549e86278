/* The performance monitoring unit: selection, counting, freezing, wrap, chaining, overflow, software
 * increments. */

#include "probe.h"

#define INST_RETIRED 0x08u
#define CPU_CYCLES 0x11u
#define CHAIN 0x1Eu
#define SW_INCR 0x00u
#define EXC_TAKEN 0x09u
#define BR_RETIRED 0x21u

BODY(thousand, ".rept 1000\n nop\n .endr\n bx lr")

__attribute__((noinline)) static void loop(uint32_t trips) {
    __asm volatile("1: subs %0, #1\n bne 1b" : "+r"(trips)::"cc");
}

static void all_off(void) {
    reg_write(PMU_CNTENCLR, 0xFFFFFFFFu);
    reg_write(PMU_OVSCLR, 0xFFFFFFFFu);
    reg_write(PMU_CTRL, 7u);
}

static void registers(void) {
    report("type", reg_read(PMU_TYPE));
    reg_write(PMU_EVTYPER(0), INST_RETIRED);
    report("supported", reg_read(PMU_EVTYPER(0)));
    reg_write(PMU_EVTYPER(0), EXC_TAKEN);
    report("unsupported", reg_read(PMU_EVTYPER(0)));
    reg_write(PMU_CNTENSET, 0xFFFFFFFFu);
    report("implemented", reg_read(PMU_CNTENSET));
    report("implemented_clr", reg_read(PMU_CNTENCLR));
    all_off();
    report("none_enabled", reg_read(PMU_CNTENSET));
    report("ctrl", reg_read(PMU_CTRL));
}

static void counting(void) {
    uint32_t first;

    all_off();
    reg_write(PMU_EVTYPER(0), INST_RETIRED);
    reg_write(PMU_EVTYPER(1), CPU_CYCLES);
    thousand();
    report("disabled", reg_read(PMU_EVCNTR(0)));
    reg_write(PMU_CNTENSET, 0x80000003u);
    first = reg_read(PMU_EVCNTR(0));
    thousand();
    report("inst", reg_read(PMU_EVCNTR(0)) - first);
    reg_write(PMU_CNTENCLR, 0x80000003u);
    first = reg_read(PMU_EVCNTR(0));
    thousand();
    report("frozen", reg_read(PMU_EVCNTR(0)) - first);
    reg_write(PMU_CNTENSET, 1u);
    reg_write(PMU_CTRL, 0u);
    first = reg_read(PMU_EVCNTR(0));
    thousand();
    report("unit_off", reg_read(PMU_EVCNTR(0)) - first);
    reg_write(PMU_CTRL, 2u | 1u);
    report("reset_is_small", reg_read(PMU_EVCNTR(0)) < 16u);
    report("cycles_kept", reg_read(PMU_CCNTR) > 1000u);
    reg_write(PMU_CTRL, 4u | 1u);
    report("cycles_reset", reg_read(PMU_CCNTR));
}

static void wrapping(void) {
    all_off();
    reg_write(PMU_EVTYPER(0), INST_RETIRED);
    reg_write(PMU_EVTYPER(2), INST_RETIRED);
    reg_write(PMU_EVTYPER(3), CHAIN);
    reg_write(PMU_EVTYPER(4), INST_RETIRED);
    reg_write(PMU_EVTYPER(5), INST_RETIRED);
    reg_write(PMU_CNTENSET, 0x3Du);
    loop(100000u);
    reg_write(PMU_CNTENCLR, 0x3Du);
    report("narrow", reg_read(PMU_EVCNTR(0)));
    report("pair", reg_read(PMU_EVCNTR(3)) << 16 | reg_read(PMU_EVCNTR(2)));
    report("overflow", reg_read(PMU_OVSSET));
    reg_write(PMU_OVSCLR, 1u);
    report("overflow_cleared", reg_read(PMU_OVSSET));
    reg_write(PMU_OVSSET, 2u);
    report("overflow_set", reg_read(PMU_OVSCLR));

    /* A chain that is itself about to wrap. */
    all_off();
    reg_write(PMU_EVCNTR(2), 0xFFF0u);
    reg_write(PMU_EVCNTR(3), 0xFFFFu);
    reg_write(PMU_CNTENSET, 0xCu);
    thousand();
    reg_write(PMU_CNTENCLR, 0xCu);
    report("pair_wrapped", reg_read(PMU_EVCNTR(3)) << 16 | reg_read(PMU_EVCNTR(2)));
    report("pair_overflow", reg_read(PMU_OVSSET));

    all_off();
    reg_write(PMU_CCNTR, 0xFFFFFF00u);
    reg_write(PMU_CNTENSET, 0x80000000u);
    thousand();
    reg_write(PMU_CNTENCLR, 0x80000000u);
    report("cycles_wrapped", reg_read(PMU_CCNTR));
    report("cycles_overflow", reg_read(PMU_OVSSET));
}

static void software(void) {
    all_off();
    reg_write(PMU_EVTYPER(6), SW_INCR);
    reg_write(PMU_EVTYPER(7), CHAIN);
    reg_write(PMU_SWINC, 1u << 6);
    report("software_off", reg_read(PMU_EVCNTR(6)));
    reg_write(PMU_CNTENSET, 0xC0u);
    reg_write(PMU_SWINC, 1u << 6);
    reg_write(PMU_SWINC, 1u << 6 | 1u << 7);
    report("software", reg_read(PMU_EVCNTR(6)));
    reg_write(PMU_EVCNTR(6), 0xFFFFu);
    reg_write(PMU_SWINC, 1u << 6);
    report("software_pair", reg_read(PMU_EVCNTR(7)) << 16 | reg_read(PMU_EVCNTR(6)));
}

/* One line a run of numbers that are all counted, or all not. */
static void catalogue(void) {
    for (uint32_t event = 0; event <= 0x4010u; event++) {
        reg_write(PMU_EVTYPER(0), event);
        if (reg_read(PMU_EVTYPER(0)) == event) {
            report("event", event);
        }
    }
}

void probe(void) {
    registers();
    counting();
    wrapping();
    software();
    catalogue();
}
