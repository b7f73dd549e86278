/* What is the same in every version of QEMU's plugin interface; the rest is in host_v1.c and host_v2.c. */

#include "host_qemu.h"

#include <string.h>

QEMU_PLUGIN_EXPORT int qemu_plugin_version = COUNTERS_INTERFACE;
QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
                                           char **argv);

size_t host_block_size(const host_block_t *block) {
    return qemu_plugin_tb_n_insns((const struct qemu_plugin_tb *)block);
}

host_insn_t *host_block_insn(const host_block_t *block, size_t index) {
    return (host_insn_t *)qemu_plugin_tb_get_insn((const struct qemu_plugin_tb *)block, index);
}

uint32_t host_insn_address(const host_insn_t *insn) {
    return (uint32_t)qemu_plugin_insn_vaddr(host_raw(insn));
}

const uint8_t *host_insn_memory(const host_insn_t *insn) {
    return qemu_plugin_insn_haddr(host_raw(insn));
}

void host_on_block(host_block_t *block, host_exec_fn function, void *data) {
    qemu_plugin_register_vcpu_tb_exec_cb((struct qemu_plugin_tb *)block, function, QEMU_PLUGIN_CB_NO_REGS,
                                         data);
}

void host_on_exec(host_insn_t *insn, host_exec_fn function, void *data) {
    qemu_plugin_register_vcpu_insn_exec_cb(host_raw(insn), function, QEMU_PLUGIN_CB_NO_REGS, data);
}

/*
 * Some emulators of this interface version mix up the direction asked for: "reads" comes after stores. So
 * both are asked for; what an instruction does is known from its decoding.
 */
void host_on_access(host_insn_t *insn, host_access_fn function, void *data) {
    qemu_plugin_register_vcpu_mem_cb(host_raw(insn), function, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
                                     data);
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
    if (!host_slots_make() || !plugin_start(argc, argv)) {
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    qemu_plugin_register_atexit_cb(id, end, NULL);
    return 0;
}
