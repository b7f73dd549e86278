/*
 * Stands in for QEMU: loads a plugin, has it translate one block of Thumb code and runs the block as often as
 * asked. Offers the calls of the interface version it is compiled for, and no others.
 *
 * usage: stand_in PLUGIN TIMES HALFWORDS [OPTION...]    HALFWORDS are hexadecimal, 4 digits each, without
 * spaces
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qemu_plugin.h"

#define INSNS_MAX 64u
#define OPS_MAX 16u

struct qemu_plugin_insn {
    uint8_t bytes[4];
    size_t size, offset, ops;
    uint64_t *counters[OPS_MAX];
    uint64_t adds[OPS_MAX];
};

struct qemu_plugin_tb {
    struct qemu_plugin_insn insns[INSNS_MAX];
    size_t count;
};

#define EXPORT __attribute__((visibility("default")))

static uint8_t code[4u * INSNS_MAX];
static struct qemu_plugin_tb block;
static qemu_plugin_vcpu_tb_trans_cb_t on_translate;
static qemu_plugin_udata_cb_t on_exit_call;
static qemu_plugin_vcpu_udata_cb_t on_block;
static void *block_data;

EXPORT void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_tb_trans_cb_t cb) {
    (void)id;
    on_translate = cb;
}

EXPORT void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, qemu_plugin_vcpu_udata_cb_t cb,
                                                 enum qemu_plugin_cb_flags flags, void *userdata) {
    (void)tb;
    (void)flags;
    on_block = cb;
    block_data = userdata;
}

EXPORT void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
                                                   qemu_plugin_vcpu_udata_cb_t cb,
                                                   enum qemu_plugin_cb_flags flags, void *userdata) {
    (void)insn;
    (void)cb;
    (void)flags;
    (void)userdata;
}

EXPORT void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, qemu_plugin_vcpu_mem_cb_t cb,
                                             enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
                                             void *userdata) {
    (void)insn;
    (void)cb;
    (void)flags;
    (void)rw;
    (void)userdata;
}

EXPORT void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_plugin_udata_cb_t cb, void *userdata) {
    (void)id;
    (void)userdata;
    on_exit_call = cb;
}

static void add(struct qemu_plugin_insn *insn, void *counter, uint64_t imm) {
    if (insn->ops == OPS_MAX) {
        abort();
    }
    insn->counters[insn->ops] = counter;
    insn->adds[insn->ops++] = imm;
}

#if COUNTERS_INTERFACE == 1
EXPORT void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, enum qemu_plugin_op op,
                                                       void *ptr, uint64_t imm) {
    (void)op;
    add(insn, ptr, imm);
}
#else
struct qemu_plugin_scoreboard {
    size_t size;
    uint8_t *records; /* of two cores, so that a record's number matters; not zeroed */
};

EXPORT struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t element_size) {
    struct qemu_plugin_scoreboard *made = malloc(sizeof(*made));

    made->size = element_size;
    made->records = malloc(2u * element_size);
    memset(made->records, 0xA5, 2u * element_size);
    return made;
}

EXPORT void *qemu_plugin_scoreboard_find(struct qemu_plugin_scoreboard *score, unsigned int vcpu) {
    return score->records + vcpu * score->size;
}

EXPORT void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *insn,
                                                                enum qemu_plugin_op op, qemu_plugin_u64 entry,
                                                                uint64_t imm) {
    (void)op;
    add(insn, (uint8_t *)qemu_plugin_scoreboard_find(entry.score, 0u) + entry.offset, imm);
}
#endif

EXPORT size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb) {
    return tb->count;
}

EXPORT struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t idx) {
    return (struct qemu_plugin_insn *)&tb->insns[idx];
}

#if COUNTERS_INTERFACE < 3
EXPORT const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn) {
    return insn->bytes;
}
#else
EXPORT size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *dest, size_t len) {
    const size_t size = len < insn->size ? len : insn->size;

    memcpy(dest, insn->bytes, size);
    return size;
}
#endif

EXPORT size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn) {
    return insn->size;
}

EXPORT uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn) {
    return 0x1000u + insn->offset;
}

EXPORT void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn) {
    return code + 64u + insn->offset;
}

EXPORT void qemu_plugin_outs(const char *string) {
    fputs(string, stderr);
}

static void read_code(const char *text) {
    size_t at = 0;

    while (*text != '\0' && block.count < INSNS_MAX) {
        struct qemu_plugin_insn *insn = &block.insns[block.count++];

        insn->offset = at;
        do {
            unsigned halfword;

            if (sscanf(text, "%4x", &halfword) != 1) {
                exit(2);
            }
            text += 4;
            insn->bytes[insn->size++] = (uint8_t)halfword;
            insn->bytes[insn->size++] = (uint8_t)(halfword >> 8);
        } while (insn->size == 2u && insn->bytes[1] >= 0xE8u);
        memcpy(code + 64u + at, insn->bytes, insn->size);
        at += insn->size;
    }
}

int main(int argc, char **argv) {
    static const qemu_info_t info = {
        .target_name = "arm",
        .version = {.min = COUNTERS_INTERFACE, .cur = COUNTERS_INTERFACE},
        .system_emulation = true,
        .system = {.smp_vcpus = 1, .max_vcpus = 1},
    };
    int (*install)(qemu_plugin_id_t, const qemu_info_t *, int, char **);
    void *plugin;

    if (argc < 4) {
        return 2;
    }
    plugin = dlopen(argv[1], RTLD_NOW);
    if (plugin == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    if (*(const int *)dlsym(plugin, "qemu_plugin_version") != COUNTERS_INTERFACE) {
        fputs("the plugin was built for another version\n", stderr);
        return 4;
    }
    *(void **)&install = dlsym(plugin, "qemu_plugin_install");
    if (install(1u, &info, argc - 4, argv + 4) != 0) {
        return 5;
    }
    read_code(argv[3]);
    on_translate(1u, &block);
    for (unsigned long times = strtoul(argv[2], NULL, 10); times != 0u; times--) {
        on_block(0u, block_data);
        for (size_t i = 0; i < block.count; i++) {
            for (size_t op = 0; op < block.insns[i].ops; op++) {
                *block.insns[i].counters[op] += block.insns[i].adds[op];
            }
        }
    }
    on_exit_call(1u, NULL);
    return 0;
}
