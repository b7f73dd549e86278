/*
 * Version 2 and later of QEMU's plugin interface: inline additions go to scoreboards. Unverified: compiled
 * and run against a stand-in for the emulator, never in an emulator of these versions.
 */

#include "host_qemu.h"

#if COUNTERS_INTERFACE >= 2

#include <string.h>

#include "counters.h"

static struct qemu_plugin_scoreboard *board;
static uint64_t *slots;

/* One record of all slots. It stays where it is: the machines have one core, and only new cores move a
 * scoreboard. */
bool host_slots_make(void) {
    board = qemu_plugin_scoreboard_new(SLOT_COUNT * sizeof(uint64_t));
    slots = board != NULL ? qemu_plugin_scoreboard_find(board, 0u) : NULL;
    if (slots == NULL) {
        host_say("counters: the emulator gives no scoreboard\n");
        return false;
    }
    memset(slots, 0, SLOT_COUNT * sizeof(uint64_t));
    return true;
}

uint64_t *host_slots(void) {
    return slots;
}

void host_count(host_insn_t *insn, unsigned slot, uint64_t add) {
    const qemu_plugin_u64 entry = {.score = board, .offset = slot * sizeof(uint64_t)};

    qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(host_raw(insn), QEMU_PLUGIN_INLINE_ADD_U64, entry,
                                                        add);
}

size_t host_insn_read(const host_insn_t *insn, uint16_t halfwords[2]) {
    const size_t size = qemu_plugin_insn_size(host_raw(insn));
    uint8_t bytes[4] = {0};

#if COUNTERS_INTERFACE == 2
    memcpy(bytes, qemu_plugin_insn_data(host_raw(insn)), size < sizeof(bytes) ? size : sizeof(bytes));
#else
    (void)qemu_plugin_insn_data(host_raw(insn), bytes, sizeof(bytes));
#endif
    halfwords[0] = (uint16_t)(bytes[0] | bytes[1] << 8);
    halfwords[1] = size == 4 ? (uint16_t)(bytes[2] | bytes[3] << 8) : 0;
    return size;
}

#else
typedef int host_v2_unused_t;
#endif
