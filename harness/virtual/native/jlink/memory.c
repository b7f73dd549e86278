/* Which way each access goes. */
#define _GNU_SOURCE
#include "vjlink.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#define SCS_DHCSR 0xE000EDF0u

const vj_region *vj_region_of(uint32_t address, uint32_t size) {
    for (int i = 0; i < vj.board.region_count; i++) {
        const vj_region *region = &vj.board.regions[i];
        if (address >= region->base && (uint64_t)address + size <= (uint64_t)region->base + region->size) {
            return region;
        }
    }
    return NULL;
}

static bool process_vm_usable(const vj_region *region) {
    return region != NULL && region->hva != 0 && vj.pid > 0 && vj.board.memory == MEMORY_AUTO &&
           !vj.process_vm_denied;
}

static int process_vm(const vj_region *region, uint32_t address, void *data, uint32_t size, bool write) {
    struct iovec local = {data, size};
    struct iovec remote = {(void *)(uintptr_t)(region->hva + (address - region->base)), size};
    ssize_t count = write ? process_vm_writev(vj.pid, &local, 1, &remote, 1, 0)
                          : process_vm_readv(vj.pid, &local, 1, &remote, 1, 0);
    if (count == (ssize_t)size) {
        return 0;
    }
    if (count < 0 && errno == ESRCH) {
        vj.lost = true;
    } else {
        vj.process_vm_denied = true;
    }
    return -1;
}

/* The debugger's view needs a halted core; it goes on afterwards if it ran. */
static int through_gdb(uint32_t address, void *data, uint32_t size, bool write) {
    if (!vj.connected) {
        return -1;
    }
    int halted = vj_gdb_halt();
    if (halted < 0) {
        return -1;
    }
    int result = write ? vj_gdb_write(address, data, size) : vj_gdb_read(address, data, size);
    if (halted == 1 && vj_gdb_go() != 0) {
        return -1;
    }
    return result;
}

/* Registers that QEMU lacks: those the board's entry states, and Debug Halting Control and Status, whose
 * status bits are told from the run state. */
static int synthesised(uint32_t address, void *data, uint32_t size) {
    for (int i = 0; i < vj.board.word_count && size == 4; i++) {
        if (vj.board.words[i].address == address) {
            memcpy(data, &vj.board.words[i].value, 4);
            return 0;
        }
    }
    if (address != SCS_DHCSR || size != 4) {
        return -1;
    }
    uint32_t value = 1u << 16 | (vj.running ? 0 : 3u << 16) | 1u;
    memcpy(data, &value, 4);
    return 0;
}

int vj_memory_read(uint32_t address, void *data, uint32_t size) {
    if (size == 0) {
        return 0;
    }
    if (vj.lost) {
        return -1;
    }
    const vj_region *region = vj_region_of(address, size);
    if (process_vm_usable(region) && process_vm(region, address, data, size, false) == 0) {
        return 0;
    }
    if (vj.lost) {
        return -1;
    }
    if (synthesised(address, data, size) == 0) {
        return 0;
    }
    /* Registers are read as the halted core sees them; while it runs, as a Non-secure bus master does,
     * without stopping it. */
    bool stops_nothing = region != NULL || vj.running;
    if (stops_nothing && vj.qtest.fd >= 0) {
        return vj_qtest_read(address, data, size);
    }
    return through_gdb(address, data, size, false);
}

int vj_memory_write(uint32_t address, const void *data, uint32_t size) {
    if (size == 0) {
        return 0;
    }
    if (vj.lost) {
        return -1;
    }
    const vj_region *region = vj_region_of(address, size);
    if (region != NULL && region->kind == REGION_FLASH) {
        vj_say(vj.error, "0x%08x is in flash, which only a download writes.", address);
        return -1;
    }
    if (region != NULL && region->kind != REGION_ROM && vj.qtest.fd >= 0) {
        return vj_qtest_write(address, data, size);
    }
    return through_gdb(address, (void *)data, size, true);
}

int vj_memory_write_flash(uint32_t address, const void *data, uint32_t size) {
    return size == 0 ? 0 : through_gdb(address, (void *)data, size, true);
}

int vj_memory_write_data(uint32_t address, const void *data, uint32_t size) {
    const vj_region *region = vj_region_of(address, size);
    if (size > 0 && !vj.lost && region != NULL && region->kind == REGION_RAM && process_vm_usable(region) &&
        process_vm(region, address, (void *)data, size, true) == 0) {
        return 0;
    }
    return vj_memory_write(address, data, size);
}

const char *vj_memory_path(void) {
    if (vj.board.memory == MEMORY_GDB || vj.qtest.fd < 0) {
        return "gdb";
    }
    if (vj.board.memory == MEMORY_QTEST || vj.pid <= 0) {
        return "qtest";
    }
    for (int i = 0; i < vj.board.region_count && !vj.process_vm_denied; i++) {
        uint8_t byte;
        const vj_region *region = &vj.board.regions[i];
        if (region->hva != 0 && process_vm(region, region->base, &byte, 1, false) == 0) {
            return "process_vm";
        }
    }
    return "qtest";
}
