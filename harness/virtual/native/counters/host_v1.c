/* The host on version 1 of QEMU's plugin interface, where inline additions go to any address. */

#include "host.h"

#include <string.h>

#include "counters.h"
#include "qemu_plugin_v1.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_INTERFACE;
QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
                                           char **argv);

static uint64_t slots[SLOT_COUNT];

static struct qemu_plugin_insn *raw(const host_insn_t *insn) {
    return (struct qemu_plugin_insn *)insn;
}

size_t host_block_size(const host_block_t *block) {
    return qemu_plugin_tb_n_insns((const struct qemu_plugin_tb *)block);
}

host_insn_t *host_block_insn(const host_block_t *block, size_t index) {
    return (host_insn_t *)qemu_plugin_tb_get_insn((const struct qemu_plugin_tb *)block, index);
}

uint32_t host_insn_address(const host_insn_t *insn) {
    return (uint32_t)qemu_plugin_insn_vaddr(raw(insn));
}

size_t host_insn_read(const host_insn_t *insn, uint16_t halfwords[2]) {
    const size_t size = qemu_plugin_insn_size(raw(insn));
    const uint8_t *bytes = qemu_plugin_insn_data(raw(insn));

    halfwords[0] = (uint16_t)(bytes[0] | bytes[1] << 8);
    halfwords[1] = size == 4 ? (uint16_t)(bytes[2] | bytes[3] << 8) : 0;
    return size;
}

const uint8_t *host_insn_memory(const host_insn_t *insn) {
    return qemu_plugin_insn_haddr(raw(insn));
}

uint64_t *host_slots(void) {
    return slots;
}

void host_count(host_insn_t *insn, unsigned slot, uint64_t add) {
    qemu_plugin_register_vcpu_insn_exec_inline(raw(insn), QEMU_PLUGIN_INLINE_ADD_U64, &slots[slot], add);
}

void host_on_block(host_block_t *block, host_exec_fn function, void *data) {
    qemu_plugin_register_vcpu_tb_exec_cb((struct qemu_plugin_tb *)block, function, QEMU_PLUGIN_CB_NO_REGS,
                                         data);
}

void host_on_exec(host_insn_t *insn, host_exec_fn function, void *data) {
    qemu_plugin_register_vcpu_insn_exec_cb(raw(insn), function, QEMU_PLUGIN_CB_NO_REGS, data);
}

/*
 * Some emulators of this interface version mix up the direction asked for: "reads" comes after stores. So
 * both are asked for; what an instruction does is known from its decoding.
 */
void host_on_access(host_insn_t *insn, host_access_fn function, void *data) {
    qemu_plugin_register_vcpu_mem_cb(raw(insn), function, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, data);
}

void host_say(const char *text) {
    qemu_plugin_outs(text);
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
    (void)id;
    plugin_translate((host_block_t *)tb);
}

static void end(qemu_plugin_id_t id, void *data) {
    (void)id;
    (void)data;
    plugin_end();
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv) {
    if (strcmp(info->target_name, "arm") != 0 || !info->system_emulation || info->system.smp_vcpus != 1) {
        host_say("counters: made for the system emulation of one Arm core\n");
        return 1;
    }
    if (!plugin_start(argc, argv)) {
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    qemu_plugin_register_atexit_cb(id, end, NULL);
    return 0;
}
