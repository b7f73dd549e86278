/* Version 1 of QEMU's plugin interface: inline additions go to any address. */

#include "host_qemu.h"

#if COUNTERS_INTERFACE == 1

#include "counters.h"

static uint64_t slots[SLOT_COUNT];

bool host_slots_make(void) {
    return true;
}

uint64_t *host_slots(void) {
    return slots;
}

void host_count(host_insn_t *insn, unsigned slot, uint64_t add) {
    qemu_plugin_register_vcpu_insn_exec_inline(host_raw(insn), QEMU_PLUGIN_INLINE_ADD_U64, &slots[slot], add);
}

size_t host_insn_read(const host_insn_t *insn, uint16_t halfwords[2]) {
    const size_t size = qemu_plugin_insn_size(host_raw(insn));
    const uint8_t *bytes = qemu_plugin_insn_data(host_raw(insn));

    halfwords[0] = (uint16_t)(bytes[0] | bytes[1] << 8);
    halfwords[1] = size == 4 ? (uint16_t)(bytes[2] | bytes[3] << 8) : 0;
    return size;
}

#else
typedef int host_v1_unused_t;
#endif
