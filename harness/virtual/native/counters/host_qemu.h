/* Between the parts of the host on QEMU. */
#ifndef COUNTERS_HOST_QEMU_H
#define COUNTERS_HOST_QEMU_H

#include "host.h"
#include "qemu_plugin.h"

static inline struct qemu_plugin_insn *host_raw(const host_insn_t *insn) {
    return (struct qemu_plugin_insn *)insn;
}

/* Before anything else; false when the emulator has no room for the slots. */
bool host_slots_make(void);

#endif
