/* QEMU's qtest protocol beside TCG: physical memory access that stops nothing and invalidates translated
 * code. */
#define _GNU_SOURCE
#include "vjlink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 65536u

static const char ALPHABET[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int digit(char c) {
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '+' ? 62 : c == '/' ? 63 : 0;
}

static void decode(const char *text, uint8_t *data, uint32_t size) {
    for (uint32_t done = 0; done < size; text += 4) {
        uint32_t word =
            (uint32_t)(digit(text[0]) << 18 | digit(text[1]) << 12 | digit(text[2]) << 6 | digit(text[3]));
        data[done++] = (uint8_t)(word >> 16);
        if (done < size) {
            data[done++] = (uint8_t)(word >> 8);
        }
        if (done < size) {
            data[done++] = (uint8_t)word;
        }
    }
}

static size_t encode(const uint8_t *data, uint32_t size, char *out) {
    char *next = out;
    for (uint32_t i = 0; i < size; i += 3) {
        uint32_t left = size - i;
        uint32_t word = (uint32_t)data[i] << 16 | (left > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
                        (left > 2 ? data[i + 2] : 0);
        *next++ = ALPHABET[word >> 18];
        *next++ = ALPHABET[word >> 12 & 63];
        *next++ = left > 1 ? ALPHABET[word >> 6 & 63] : '=';
        *next++ = left > 2 ? ALPHABET[word & 63] : '=';
    }
    return (size_t)(next - out);
}

/* Send a request and wait for its line; the line, ended by a zero, stays in the buffer until the next
 * request. */
static const char *ask(const char *request, size_t size) {
    int64_t end = vj_now_ms() + VJ_TIMEOUT_MS;
    vj.qtest.used = 0;
    if (vj.qtest.fd < 0 || vj_stream_send(&vj.qtest, request, size) != 0) {
        return NULL;
    }
    size_t seen = 0;
    for (;;) {
        char *newline = memchr(vj.qtest.data + seen, '\n', vj.qtest.used - seen);
        if (newline != NULL) {
            *newline = '\0';
            return strncmp(vj.qtest.data, "OK", 2) == 0 ? vj.qtest.data : NULL;
        }
        seen = vj.qtest.used;
        int64_t left = end - vj_now_ms();
        if (left <= 0) {
            vj.lost = true;
        }
        if (left <= 0 || vj_stream_fill(&vj.qtest, (int)left) < 0) {
            return NULL;
        }
    }
}

int vj_qtest_read(uint32_t address, uint8_t *data, uint32_t size) {
    while (size > 0) {
        uint32_t part = size < CHUNK ? size : CHUNK;
        char request[64];
        int length = snprintf(request, sizeof request, "b64read 0x%x 0x%x\n", address, part);
        const char *answer = ask(request, (size_t)length);
        if (answer == NULL || strlen(answer) < 3 + (size_t)(part + 2) / 3 * 4) {
            return -1;
        }
        decode(answer + 3, data, part);
        address += part;
        data += part;
        size -= part;
    }
    return 0;
}

int vj_qtest_write(uint32_t address, const uint8_t *data, uint32_t size) {
    char *request = malloc(64 + (CHUNK + 2) / 3 * 4);
    if (request == NULL) {
        return -1;
    }
    int result = 0;
    while (size > 0 && result == 0) {
        uint32_t part = size < CHUNK ? size : CHUNK;
        size_t length = (size_t)sprintf(request, "b64write 0x%x 0x%x ", address, part);
        length += encode(data, part, request + length);
        request[length++] = '\n';
        result = ask(request, length) != NULL ? 0 : -1;
        address += part;
        data += part;
        size -= part;
    }
    free(request);
    return result;
}
