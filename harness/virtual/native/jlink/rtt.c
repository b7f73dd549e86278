/* Real Time Transfer: SEGGER's control block, read and written in the target's memory. */
#define _GNU_SOURCE
#include "vjlink.h"

#include <stdlib.h>
#include <string.h>

#define HEADER 24u
#define SEARCH_LIMIT (1u << 20)
#define MAX_CHANNELS 16
#define NOT_FOUND (-2)
#define BAD_CHANNEL (-1)

enum { CONTROL_START, CONTROL_STOP, CONTROL_DESCRIPTOR, CONTROL_COUNT, CONTROL_STATUS };

/* A channel as it lies in target memory. */
typedef struct channel {
    uint32_t name;
    uint32_t buffer;
    uint32_t size;
    uint32_t write_offset;
    uint32_t read_offset;
    uint32_t flags;
} channel;

typedef struct header {
    char id[16];
    int32_t up_count;
    int32_t down_count;
} header;

typedef struct descriptor {
    int32_t index;
    uint32_t direction;
    char name[32];
    uint32_t size;
    uint32_t flags;
} descriptor;

typedef struct status {
    uint32_t transferred;
    uint32_t read;
    int32_t overflows;
    int32_t running;
    int32_t up_count;
    int32_t down_count;
    uint32_t reserved[2];
} status;

static const char ID[16] = "SEGGER RTT";

static struct {
    bool started;
    uint32_t given;   /* address the host stated, 0 to search */
    uint32_t address; /* of the block once found, 0 before */
    int up_count;
    int down_count;
    uint32_t bytes;
} rtt;

void vj_rtt_forget(void) {
    memset(&rtt, 0, sizeof rtt);
}

static int accept_block(uint32_t address) {
    header found;
    if (vj_memory_read(address, &found, sizeof found) != 0 || memcmp(found.id, ID, sizeof ID) != 0 ||
        found.up_count < 0 || found.up_count > MAX_CHANNELS || found.down_count < 0 ||
        found.down_count > MAX_CHANNELS) {
        return NOT_FOUND;
    }
    rtt.address = address;
    rtt.up_count = found.up_count;
    rtt.down_count = found.down_count;
    return 0;
}

static int search(const vj_region *region) {
    uint32_t size = region->size < SEARCH_LIMIT ? region->size : SEARCH_LIMIT;
    uint8_t *copy = malloc(size);
    int result = NOT_FOUND;
    if (copy != NULL && vj_memory_read(region->base, copy, size) == 0) {
        for (uint32_t offset = 0; offset + sizeof(header) <= size && result != 0; offset += 4) {
            if (memcmp(copy + offset, ID, sizeof ID) == 0) {
                result = accept_block(region->base + offset);
            }
        }
    }
    free(copy);
    return result;
}

static int find_block(void) {
    if (rtt.address != 0) {
        return 0;
    }
    if (rtt.given != 0) {
        return accept_block(rtt.given);
    }
    for (int i = 0; i < vj.board.region_count; i++) {
        if (vj.board.regions[i].kind == REGION_RAM && search(&vj.board.regions[i]) == 0) {
            return 0;
        }
    }
    return NOT_FOUND;
}

static uint32_t channel_address(bool up, int index) {
    return rtt.address + HEADER + (uint32_t)sizeof(channel) * (uint32_t)(up ? index : rtt.up_count + index);
}

/* Offsets that point outside their buffer, or a buffer outside memory, are refused: the block is corrupt. */
static int load_channel(bool up, int index, channel *out) {
    if (index < 0 || index >= (up ? rtt.up_count : rtt.down_count)) {
        return BAD_CHANNEL;
    }
    if (vj_memory_read(channel_address(up, index), out, sizeof *out) != 0) {
        return -1;
    }
    if (out->size == 0) {
        return 0;
    }
    bool good = out->write_offset < out->size && out->read_offset < out->size &&
                vj_region_of(out->buffer, out->size) != NULL;
    return good ? 0 : -1;
}

static int describe(descriptor *out) {
    bool up = out->direction == 0;
    channel found;
    if (find_block() != 0) {
        return NOT_FOUND;
    }
    if (load_channel(up, out->index, &found) != 0) {
        return BAD_CHANNEL;
    }
    memset(out->name, 0, sizeof out->name);
    if (found.name != 0) {
        vj_memory_read(found.name, out->name, sizeof out->name - 1);
    }
    out->size = found.size;
    out->flags = found.flags;
    return 0;
}

VJ_API int JLINK_RTTERMINAL_Control(uint32_t command, void *argument) {
    VJ_LOCK();
    int result = 0;
    switch (command) {
    case CONTROL_START:
        vj_rtt_forget();
        vj_fault_rewind();
        rtt.given = argument == NULL ? 0 : *(const uint32_t *)argument;
        rtt.started = true;
        break;
    case CONTROL_STOP:
        vj_rtt_forget();
        break;
    case CONTROL_DESCRIPTOR:
        result = describe(argument);
        break;
    case CONTROL_COUNT:
        result = !rtt.started                       ? NOT_FOUND
                 : find_block() != 0                ? NOT_FOUND
                 : *(const uint32_t *)argument == 0 ? rtt.up_count
                                                    : rtt.down_count;
        break;
    case CONTROL_STATUS: {
        status *out = argument;
        memset(out, 0, sizeof *out);
        out->transferred = out->read = rtt.bytes;
        out->running = rtt.started;
        if (rtt.started && find_block() == 0) {
            out->up_count = rtt.up_count;
            out->down_count = rtt.down_count;
        }
        break;
    }
    default:
        result = VJ_NOT_SUPPORTED;
    }
    VJ_UNLOCK();
    return result;
}

static int drain(int index, uint8_t *out, uint32_t size) {
    channel from;
    uint32_t got = 0;
    if (load_channel(true, index, &from) != 0) {
        return -1;
    }
    while (got < size && from.read_offset != from.write_offset) {
        uint32_t end = from.write_offset > from.read_offset ? from.write_offset : from.size;
        uint32_t part = end - from.read_offset;
        part = part < size - got ? part : size - got;
        if (vj_memory_read(from.buffer + from.read_offset, out + got, part) != 0) {
            return -1;
        }
        got += part;
        from.read_offset = (from.read_offset + part) % from.size;
    }
    uint32_t where = channel_address(true, index) + (uint32_t)offsetof(channel, read_offset);
    if (got > 0 && vj_memory_write_data(where, &from.read_offset, 4) != 0) {
        return -1;
    }
    if (vj_fault_within(FAULT_RTT_FLIP, rtt.bytes, got)) {
        out[vj.board.faults[FAULT_RTT_FLIP].at - rtt.bytes] ^= 1u;
    }
    if (vj_fault_within(FAULT_RTT_POINTERS, rtt.bytes, got)) {
        static const uint32_t outside = UINT32_MAX;
        vj_memory_write_data(where, &outside, 4);
    }
    if (vj_fault_within(FAULT_RTT_UNPLUGGED, rtt.bytes, got)) {
        vj.lost = true;
        return -1;
    }
    rtt.bytes += got;
    return (int)got;
}

static int feed(int index, const uint8_t *data, uint32_t size) {
    channel to;
    uint32_t put = 0;
    if (load_channel(false, index, &to) != 0) {
        return -1;
    }
    while (put < size && to.size > 0) {
        bool wrapped = to.read_offset > to.write_offset;
        uint32_t room = wrapped ? to.read_offset - to.write_offset - 1
                                : to.size - to.write_offset - (to.read_offset == 0);
        uint32_t part = room < size - put ? room : size - put;
        if (part == 0) {
            break;
        }
        if (vj_memory_write_data(to.buffer + to.write_offset, data + put, part) != 0) {
            return -1;
        }
        put += part;
        to.write_offset = (to.write_offset + part) % to.size;
    }
    uint32_t where = channel_address(false, index) + (uint32_t)offsetof(channel, write_offset);
    if (put > 0 && vj_memory_write_data(where, &to.write_offset, 4) != 0) {
        return -1;
    }
    vj_fault_on_sent(data, put);
    return (int)put;
}

/* Where memory is reached through the debugger, one halt serves the whole transfer. */
static int transfer(int index, uint8_t *in, const uint8_t *out, uint32_t size) {
    int halted = 0;
    if (vj.lost) {
        return -1;
    }
    if (!rtt.started) {
        return 0;
    }
    if (vj.qtest.fd < 0) {
        halted = vj_gdb_halt();
    }
    int result = halted < 0          ? -1
                 : find_block() != 0 ? (vj.lost ? -1 : 0)
                 : in != NULL        ? drain(index, in, size)
                                     : feed(index, out, size);
    if (halted == 1 && vj_gdb_go() != 0) {
        result = -1;
    }
    return result;
}

VJ_API int JLINK_RTTERMINAL_Read(uint32_t index, uint8_t *data, uint32_t size) {
    VJ_LOCK();
    int result = transfer((int)index, data, NULL, size);
    VJ_UNLOCK();
    return result;
}

VJ_API int JLINK_RTTERMINAL_Write(uint32_t index, const uint8_t *data, uint32_t size) {
    VJ_LOCK();
    int result = transfer((int)index, NULL, data, size);
    VJ_UNLOCK();
    return result;
}
