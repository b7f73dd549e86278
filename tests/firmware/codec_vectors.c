/*
 * Speaks lines, so that a test can compare this codec with another.
 *   e TYPE FLAGS SEQUENCE NONCE HEX   -> the frame on the wire, in hex
 *   d HEX                             -> one line a result: "ok TYPE FLAGS SEQUENCE NONCE HEX" or "bad
 * STATUS"; then "."
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"

static void print_hex(const uint8_t *data, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; i++) {
        printf("%02x", data[i]);
    }
}

static void write_hex(void *context, const uint8_t *data, uint32_t bytes) {
    (void)context;
    print_hex(data, bytes);
}

static uint32_t parse_hex(const char *text, uint8_t *out, uint32_t room) {
    uint32_t count = 0u;
    unsigned value;

    while (count < room && sscanf(text + 2u * count, "%2x", &value) == 1) {
        out[count++] = (uint8_t)value;
    }
    return count;
}

static char line[1u << 20];
static uint8_t bytes[1u << 19];

static void encode(char *arguments) {
    unsigned long field[4];
    frame_encoder_t encoder = {.write = write_hex};

    for (int i = 0; i < 4; i++) {
        field[i] = strtoul(arguments, &arguments, 10);
    }
    while (*arguments == ' ') {
        arguments++;
    }
    const uint32_t count = parse_hex(arguments, bytes, sizeof(bytes));

    frame_begin(&encoder, (uint8_t)field[0], (uint8_t)field[1], (uint32_t)field[2], (uint32_t)field[3]);
    /* In two pieces, as the app does. */
    frame_put(&encoder, bytes, count / 2u);
    frame_put(&encoder, bytes + count / 2u, count - count / 2u);
    frame_end(&encoder);
    printf("\n");
}

static void decode(const char *hex) {
    static frame_decoder_t decoder;
    const uint32_t count = parse_hex(hex, bytes, sizeof(bytes));
    frame_view_t view;

    frame_decoder_init(&decoder);
    for (uint32_t i = 0; i < count; i++) {
        const frame_status_t status = frame_decoder_push(&decoder, bytes[i], &view);

        if (status == FRAME_OK) {
            printf("ok %u %u %u %u ", view.type, view.flags, view.sequence, view.nonce);
            print_hex(view.payload, view.payload_bytes);
            printf("\n");
        } else if (status != FRAME_NONE) {
            printf("bad %d\n", (int)status);
        }
    }
    printf(".\n");
}

int main(void) {
    while (fgets(line, sizeof(line), stdin) != NULL) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] == 'e') {
            encode(line + 2);
        } else {
            decode(line + 2);
        }
        fflush(stdout);
    }
    return 0;
}
