/* Flash as its controller treats it: erased by the sector, programmed by clearing bits. */
#define _GNU_SOURCE
#include "vjlink.h"

#include <string.h>

#define PART 4096u

static bool erased[VJ_MAX_SECTORS];

void vj_sectors_begin(void) {
    memset(erased, 0, sizeof erased);
}

static int fill(uint32_t address, uint32_t size) {
    static uint8_t blank[PART];
    memset(blank, 0xff, sizeof blank);
    while (size > 0) {
        uint32_t part = size < sizeof blank ? size : (uint32_t)sizeof blank;
        if (vj_memory_write_flash(address, blank, part) != 0) {
            return -1;
        }
        address += part;
        size -= part;
    }
    return 0;
}

int vj_sectors_erase_all(const vj_region *region) {
    return fill(region->base, region->size);
}

int vj_sectors_erase(uint32_t address, uint32_t size) {
    const vj_region *region = vj_region_of(address, size);
    if (region == NULL || region->kind != REGION_FLASH) {
        return 0;
    }
    uint32_t base = region->base;
    int index = 0;
    for (int group = 0; group < region->sector_groups; group++) {
        const vj_sectors *sectors = &region->sectors[group];
        for (uint32_t i = 0; i < sectors->count && index < VJ_MAX_SECTORS; i++, index++) {
            bool touched = address < base + sectors->size && base < address + size;
            if (touched && !erased[index]) {
                if (fill(base, sectors->size) != 0) {
                    return -1;
                }
                erased[index] = true;
            }
            base += sectors->size;
        }
    }
    return 0;
}

int vj_sectors_program(uint32_t address, const uint8_t *data, uint32_t size) {
    uint8_t old[PART];
    while (size > 0) {
        uint32_t part = size < sizeof old ? size : (uint32_t)sizeof old;
        if (vj_memory_read(address, old, part) != 0) {
            return -1;
        }
        for (uint32_t i = 0; i < part; i++) {
            if ((old[i] & data[i]) != data[i]) {
                vj_say(vj.error, "0x%08x holds 0x%02x and cannot become 0x%02x without erasing.", address + i,
                       old[i], data[i]);
                return -1;
            }
        }
        if (vj_memory_write_flash(address, data, part) != 0) {
            return -1;
        }
        address += part;
        data += part;
        size -= part;
    }
    return 0;
}
