/* Flash download: ELF, Intel HEX and raw files, each part written and read back. */
#define _GNU_SOURCE
#include "vjlink.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_FILE (64u << 20)
#define VERIFY_PART 65536u

enum {
    FLASH_ERASE_FAILED = -5,
    FLASH_VERIFY_FAILED = -267,
    FLASH_OPEN_FAILED = -268,
    FLASH_UNKNOWN_FORMAT = -269,
    FLASH_WRITE_FAILED = -270,
};

static struct {
    bool active;
    int result;
    uint64_t written;
} download;

static int verify(uint32_t address, const uint8_t *data, uint32_t size) {
    static uint8_t copy[VERIFY_PART];
    while (size > 0) {
        uint32_t part = size < VERIFY_PART ? size : VERIFY_PART;
        if (vj_memory_read(address, copy, part) != 0 || memcmp(copy, data, part) != 0) {
            return FLASH_VERIFY_FAILED;
        }
        address += part;
        data += part;
        size -= part;
    }
    return 0;
}

static int put(const vj_region *region, uint32_t address, const uint8_t *data, uint32_t size) {
    return region->kind == REGION_FLASH ? vj_memory_write_flash(address, data, size)
                                        : vj_memory_write(address, data, size);
}

static int program(uint32_t address, const uint8_t *data, uint32_t size) {
    if (size == 0) {
        return 0;
    }
    const vj_region *region = vj_region_of(address, size);
    if (region == NULL) {
        vj_say(vj.error, "0x%08x..0x%08x is outside the device's memory.", address, address + size);
        return FLASH_WRITE_FAILED;
    }
    if (vj_fault_planned(FAULT_WRONG_IMAGE)) {
        return vj_fault_pretend(address, data, size) == 0 ? 0 : FLASH_WRITE_FAILED;
    }
    if (vj_sectors_erase(address, size) != 0) {
        return FLASH_ERASE_FAILED;
    }
    if (region->kind == REGION_FLASH ? vj_sectors_program(address, data, size) != 0
                                     : vj_memory_write(address, data, size) != 0) {
        return FLASH_WRITE_FAILED;
    }
    int result = verify(address, data, size);
    if (result == 0 && vj_fault_within(FAULT_FLASH_MISMATCH, download.written, size)) {
        uint32_t offset = (uint32_t)(vj.board.faults[FAULT_FLASH_MISMATCH].at - download.written);
        const uint8_t wrong = data[offset] ^ 1u;
        result = put(region, address + offset, &wrong, 1);
    }
    if (vj_fault_within(FAULT_FLASH_UNPLUGGED, download.written, size)) {
        vj.lost = true;
        result = FLASH_WRITE_FAILED;
    }
    download.written += size;
    return result;
}

static void report(const char *action, int percent) {
    if (vj.progress != NULL) {
        vj.progress(action, "", percent);
    }
}

static int program_elf(const uint8_t *file, size_t size) {
    Elf32_Ehdr header;
    if (size < sizeof header) {
        return FLASH_UNKNOWN_FORMAT;
    }
    memcpy(&header, file, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS32 ||
        header.e_phentsize != sizeof(Elf32_Phdr) ||
        (uint64_t)header.e_phoff + (uint64_t)header.e_phnum * sizeof(Elf32_Phdr) > size) {
        return FLASH_UNKNOWN_FORMAT;
    }
    for (int i = 0; i < header.e_phnum; i++) {
        Elf32_Phdr segment;
        memcpy(&segment, file + header.e_phoff + (size_t)i * sizeof segment, sizeof segment);
        if (segment.p_type != PT_LOAD || segment.p_filesz == 0) {
            continue;
        }
        if ((uint64_t)segment.p_offset + segment.p_filesz > size) {
            return FLASH_UNKNOWN_FORMAT;
        }
        int result = program(segment.p_paddr, file + segment.p_offset, segment.p_filesz);
        if (result != 0) {
            return result;
        }
        report("Program", 100 * (i + 1) / header.e_phnum);
    }
    return 0;
}

static int hex_byte(const char *text) {
    unsigned value;
    return sscanf(text, "%2x", &value) == 1 ? (int)value : -1;
}

static int program_hex_line(const char *line, uint32_t *base) {
    uint8_t bytes[260];
    size_t length = strlen(line);
    if (line[0] != ':' || length < 11 || length % 2 == 0 || length > 1 + 2 * sizeof bytes) {
        return FLASH_UNKNOWN_FORMAT;
    }
    size_t count = (length - 1) / 2;
    uint8_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        int value = hex_byte(line + 1 + 2 * i);
        if (value < 0) {
            return FLASH_UNKNOWN_FORMAT;
        }
        bytes[i] = (uint8_t)value;
        sum = (uint8_t)(sum + value);
    }
    uint32_t size = bytes[0], offset = (uint32_t)bytes[1] << 8 | bytes[2];
    if (sum != 0 || count != size + 5u) {
        return FLASH_UNKNOWN_FORMAT;
    }
    switch (bytes[3]) {
    case 0:
        return program(*base + offset, bytes + 4, size);
    case 2:
        *base = ((uint32_t)bytes[4] << 8 | bytes[5]) << 4;
        return 0;
    case 4:
        *base = ((uint32_t)bytes[4] << 8 | bytes[5]) << 16;
        return 0;
    default:
        return 0; /* end and start records carry no bytes */
    }
}

static int program_hex(char *file) {
    uint32_t base = 0;
    char *rest = file;
    for (char *line = strtok_r(file, "\r\n", &rest); line != NULL; line = strtok_r(NULL, "\r\n", &rest)) {
        int result = program_hex_line(line, &base);
        if (result != 0) {
            return result;
        }
    }
    return 0;
}

static uint8_t *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rbe");
    uint8_t *data = NULL;
    if (file == NULL) {
        return NULL;
    }
    if (fseek(file, 0, SEEK_END) == 0) {
        long length = ftell(file);
        rewind(file);
        if (length >= 0 && (unsigned long)length <= MAX_FILE && (data = malloc((size_t)length + 1)) != NULL) {
            *size = fread(data, 1, (size_t)length, file);
            data[*size] = '\0';
        }
    }
    fclose(file);
    return data;
}

static bool named(const char *path, const char *ending) {
    size_t length = strlen(path), tail = strlen(ending);
    return length >= tail && strcasecmp(path + length - tail, ending) == 0;
}

static int download_file(const char *path, uint32_t address) {
    size_t size = 0;
    uint8_t *file = read_file(path, &size);
    if (file == NULL) {
        return FLASH_OPEN_FAILED;
    }
    int result = FLASH_UNKNOWN_FORMAT;
    vj_sectors_begin();
    report("Erase", 100);
    if (named(path, ".elf") || named(path, ".axf") || named(path, ".out")) {
        result = program_elf(file, size);
    } else if (named(path, ".hex")) {
        result = program_hex((char *)file);
    } else if (named(path, ".bin")) {
        result = program(address, file, (uint32_t)size);
    }
    free(file);
    report("Verify", 100);
    return result < 0 ? result : (int)size;
}

VJ_API int JLINK_DownloadFile(const char *path, uint32_t address) {
    VJ_LOCK();
    int result = vj.connected ? download_file(path, address) : -1;
    VJ_UNLOCK();
    return result;
}

VJ_API int JLINK_EraseChip(void) {
    VJ_LOCK();
    static uint8_t erased[VERIFY_PART];
    memset(erased, 0xff, sizeof erased);
    int result = 0;
    for (int i = 0; i < vj.board.region_count && result == 0; i++) {
        const vj_region *region = &vj.board.regions[i];
        if (region->kind == REGION_FLASH) {
            result = vj_sectors_erase_all(region);
            continue;
        }
        for (uint32_t offset = 0; region->kind != REGION_RAM && offset < region->size && result == 0;) {
            uint32_t part =
                region->size - offset < sizeof erased ? region->size - offset : (uint32_t)sizeof erased;
            result = vj_memory_write(region->base + offset, erased, part);
            offset += part;
        }
    }
    VJ_UNLOCK();
    return result == 0 ? 0 : FLASH_ERASE_FAILED;
}

VJ_API void JLINK_SetFlashProgProgressCallback(vj_progress *callback) {
    vj.progress = callback;
}

VJ_API void JLINKARM_BeginDownload(uint32_t flags) {
    (void)flags;
    VJ_LOCK();
    vj_sectors_begin();
    download.active = true;
    download.result = 0;
    download.written = 0;
    VJ_UNLOCK();
}

VJ_API int JLINKARM_WriteMem(uint32_t address, uint32_t size, const void *data) {
    VJ_LOCK();
    int result = download.active ? program(address, data, size) : vj_memory_write(address, data, size);
    if (result != 0 && download.active) {
        download.result = result;
    }
    VJ_UNLOCK();
    return result == 0 ? (int)size : -1;
}

VJ_API int JLINKARM_EndDownload(void) {
    VJ_LOCK();
    int result = vj_fault_planned(FAULT_FLASH_ERROR) ? FLASH_ERASE_FAILED : download.result;
    download.active = false;
    download.result = 0;
    VJ_UNLOCK();
    return result;
}
