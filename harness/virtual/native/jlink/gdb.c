/* GDB remote protocol: run control, registers, breakpoints, and memory as the core itself sees it. */
#define _GNU_SOURCE
#include "vjlink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READ_PART 1920u
#define WRITE_PART 1800u
#define PACKET 8192

/* The content of the next packet; -1 when none comes in time. */
static int receive(char *out, size_t size, int timeout_ms) {
    int64_t end = vj_now_ms() + timeout_ms;
    for (;;) {
        char *start = memchr(vj.gdb.data, '$', vj.gdb.used);
        char *stop = start == NULL ? NULL : memchr(start, '#', vj.gdb.used - (size_t)(start - vj.gdb.data));
        if (stop != NULL && stop + 2 < vj.gdb.data + vj.gdb.used) {
            size_t length = (size_t)(stop - start - 1);
            size_t kept = length < size ? length : size - 1;
            memcpy(out, start + 1, kept);
            out[kept] = '\0';
            vj_stream_consume(&vj.gdb, (size_t)(stop + 3 - vj.gdb.data));
            return vj_stream_send(&vj.gdb, "+", 1) == 0 ? (int)kept : -1;
        }
        int64_t left = end - vj_now_ms();
        if (vj_stream_fill(&vj.gdb, left > 0 ? (int)left : 0) <= 0 && left <= 0) {
            vj.lost = vj.lost || timeout_ms > 0; /* without a limit it was only a look */
            return -1;
        }
        if (vj.lost) {
            return -1;
        }
    }
}

static int transmit(const char *content) {
    char packet[PACKET];
    uint8_t sum = 0;
    for (const char *next = content; *next != '\0'; next++) {
        sum = (uint8_t)(sum + (uint8_t)*next);
    }
    int length = snprintf(packet, sizeof packet, "$%s#%02x", content, sum);
    return length < (int)sizeof packet ? vj_stream_send(&vj.gdb, packet, (size_t)length) : -1;
}

/* Attaching to a running core makes QEMU push a stop reply nobody asked for: any that comes here is stale. */
static int command(const char *content, char *answer, size_t size) {
    if (transmit(content) != 0) {
        return -1;
    }
    for (;;) {
        int length = receive(answer, size, VJ_TIMEOUT_MS);
        bool wanted = strchr("?cs", content[0]) != NULL;
        if (length > 0 && answer[0] == 'T' && !wanted) {
            continue;
        }
        return length;
    }
}

static int simple(const char *content) {
    char answer[64];
    return command(content, answer, sizeof answer) >= 0 && strcmp(answer, "OK") == 0 ? 0 : -1;
}

int vj_gdb_start(bool was_running) {
    char answer[PACKET];
    vj.running = false;
    /* QEMU answers register packets only after the target description was read. */
    if (command("qSupported:swbreak+;hwbreak+", answer, sizeof answer) < 0 ||
        command("qXfer:features:read:target.xml:0,ffb", answer, sizeof answer) < 0 ||
        command("?", answer, sizeof answer) < 0) {
        return -1;
    }
    return was_running ? vj_gdb_go() : 0;
}

void vj_gdb_poll(void) {
    char answer[256];
    while (vj_stream_fill(&vj.gdb, 0) > 0) {
    }
    if (vj.running && !vj.lost && memchr(vj.gdb.data, '#', vj.gdb.used) != NULL &&
        receive(answer, sizeof answer, 0) > 0 && (answer[0] == 'T' || answer[0] == 'S')) {
        vj.running = false;
    }
}

int vj_gdb_halt(void) {
    char answer[256];
    vj_gdb_poll();
    if (vj.lost) {
        return -1;
    }
    if (!vj.running) {
        return 0;
    }
    if (vj_stream_send(&vj.gdb, "\x03", 1) != 0 || receive(answer, sizeof answer, VJ_TIMEOUT_MS) < 0) {
        return -1;
    }
    vj.running = false;
    return 1;
}

int vj_gdb_go(void) {
    if (vj.running) {
        return 0;
    }
    if (transmit("c") != 0) {
        return -1;
    }
    vj.running = true;
    return 0;
}

int vj_gdb_step(void) {
    char answer[256];
    if (vj.running) {
        return -1;
    }
    return command("s", answer, sizeof answer) > 0 ? 0 : -1;
}

static int nibble(char c) {
    return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

int vj_gdb_read(uint32_t address, uint8_t *data, uint32_t size) {
    char answer[PACKET], request[64];
    while (size > 0) {
        uint32_t part = size < READ_PART ? size : READ_PART;
        snprintf(request, sizeof request, "m%x,%x", address, part);
        if (command(request, answer, sizeof answer) != (int)part * 2) {
            return -1;
        }
        for (uint32_t i = 0; i < part; i++) {
            data[i] = (uint8_t)(nibble(answer[2 * i]) << 4 | nibble(answer[2 * i + 1]));
        }
        address += part;
        data += part;
        size -= part;
    }
    return 0;
}

int vj_gdb_write(uint32_t address, const uint8_t *data, uint32_t size) {
    char request[PACKET];
    while (size > 0) {
        uint32_t part = size < WRITE_PART ? size : WRITE_PART;
        int length = snprintf(request, sizeof request, "M%x,%x:", address, part);
        for (uint32_t i = 0; i < part; i++) {
            length += sprintf(request + length, "%02x", data[i]);
        }
        if (simple(request) != 0) {
            return -1;
        }
        address += part;
        data += part;
        size -= part;
    }
    return 0;
}

/* J-Link numbers R0..R15 0..15 and XPSR 16; QEMU numbers XPSR 25. */
static int remote_register(int index) {
    return index >= 0 && index <= 15 ? index : index == 16 ? 25 : -1;
}

int vj_gdb_read_register(int index, uint32_t *value) {
    char request[32], answer[64];
    int remote = remote_register(index);
    if (remote < 0) {
        return -1;
    }
    int halted = vj_gdb_halt();
    if (halted < 0) {
        return -1;
    }
    snprintf(request, sizeof request, "p%x", (unsigned)remote);
    int length = command(request, answer, sizeof answer);
    if (halted == 1) {
        vj_gdb_go();
    }
    if (length != 8) {
        return -1;
    }
    *value = __builtin_bswap32((uint32_t)strtoul(answer, NULL, 16));
    return 0;
}

int vj_gdb_write_register(int index, uint32_t value) {
    char request[64];
    int remote = remote_register(index);
    if (remote < 0 || vj.running) {
        return -1;
    }
    snprintf(request, sizeof request, "P%x=%08x", (unsigned)remote, __builtin_bswap32(value));
    return simple(request);
}

int vj_gdb_breakpoint(bool insert, uint32_t address) {
    char request[64];
    int halted = vj_gdb_halt();
    if (halted < 0) {
        return -1;
    }
    snprintf(request, sizeof request, "%c1,%x,2", insert ? 'Z' : 'z', address & ~1u);
    int result = simple(request);
    if (halted == 1) {
        vj_gdb_go();
    }
    return result;
}
