/*
 * Random and mutated frames through the codec, under sanitizers.
 *   codec_fuzz COUNT SEED [stream]
 * Each round encodes a random frame, damages it (or not), and decodes it. A frame that was not damaged must
 * come back equal; a damaged one must not come back as another frame, which is judged by content, not by CRC
 * alone. With `stream`, standard output carries what was decoded and what came of it, for another codec to
 * judge: batches of wire size u32, result size u32, wire bytes, results of RESULT_BYTES each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"

typedef struct sink {
    uint8_t data[2u * FRAME_MAX_BYTES];
    uint32_t used;
} sink_t;

static uint64_t state;

static uint32_t next(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

static void collect(void *context, const uint8_t *data, uint32_t bytes) {
    sink_t *sink = context;

    memcpy(&sink->data[sink->used], data, bytes);
    sink->used += bytes;
}

static uint32_t random_payload(uint8_t *payload) {
    const uint32_t shape = next() % 4u;
    const uint32_t most = shape == 0u ? 8u : shape == 1u ? 300u : FRAME_MAX_PAYLOAD;
    const uint32_t bytes = next() % (most + 1u);
    const uint32_t zeros = next() % 3u;

    for (uint32_t i = 0; i < bytes; i++) {
        payload[i] = zeros == 0u   ? (uint8_t)(next() | 1u)
                     : zeros == 1u ? (uint8_t)(next() % 2u)
                                   : (uint8_t)next();
    }
    return bytes;
}

/* Returns whether the bytes differ from what was sent. */
static int damage(sink_t *wire) {
    const uint32_t at = next() % wire->used;
    const uint32_t kind = next() % 8u;

    switch (kind) {
    case 0:
        return 0;
    case 1:
        wire->data[at] ^= (uint8_t)(1u << next() % 8u);
        return 1;
    case 2:
        memmove(&wire->data[at], &wire->data[at + 1u], wire->used - at - 1u);
        wire->used--;
        return 1;
    case 3:
        memmove(&wire->data[at + 1u], &wire->data[at], wire->used - at);
        wire->data[at] = (uint8_t)next();
        wire->used++;
        return 1;
    case 4:
        wire->used = at;
        return 1;
    case 5: {
        /* A stretch comes twice, as when a buffer is sent again. */
        const uint32_t rest = wire->used - at, most = rest < 64u ? rest : 64u, again = 1u + next() % most;

        memmove(&wire->data[at + again], &wire->data[at], rest);
        wire->used += again;
        return 1;
    }
    case 6: {
        const uint32_t other = next() % wire->used;
        const uint8_t kept = wire->data[at];

        wire->data[at] = wire->data[other];
        wire->data[other] = kept;
        return kept != wire->data[at];
    }
    default:
        for (uint32_t i = 0; i < 1u + next() % 8u; i++) {
            wire->data[next() % wire->used] = (uint8_t)next();
        }
        return 1;
    }
}

static void fail(const char *what, unsigned long round) {
    fprintf(stderr, "%s in round %lu\n", what, round);
    exit(1);
}

#define RESULT_BYTES 19u
#define BATCH_ROUNDS 256u

static struct {
    uint8_t wire[BATCH_ROUNDS * sizeof(((sink_t *)0)->data)];
    uint8_t results[BATCH_ROUNDS * 64u * RESULT_BYTES];
    uint32_t wire_used, results_used;
} batch;

static void put(uint32_t value, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; i++) {
        batch.results[batch.results_used++] = (uint8_t)(value >> (8u * i));
    }
}

/* Status, with bit 7 for a frame that came whole out of damaged bytes; then the frame, its payload by CRC. */
static void note(frame_status_t status, const frame_view_t *view, int damaged) {
    const frame_view_t none = {0};
    const frame_view_t *seen = status == FRAME_OK ? view : &none;

    put((uint32_t)status | (status == FRAME_OK && damaged ? 0x80u : 0u), 1u);
    put(seen->type, 1u);
    put(seen->flags, 1u);
    put(seen->sequence, 4u);
    put(seen->nonce, 4u);
    put(seen->payload_bytes, 4u);
    put(seen->payload_bytes != 0u ? frame_crc32(0u, seen->payload, seen->payload_bytes) : 0u, 4u);
}

static void flush_batch(void) {
    const uint32_t sizes[2] = {batch.wire_used, batch.results_used};

    fwrite(sizes, sizeof(sizes), 1u, stdout);
    fwrite(batch.wire, 1u, batch.wire_used, stdout);
    fwrite(batch.results, 1u, batch.results_used, stdout);
    batch.wire_used = batch.results_used = 0u;
}

int main(int argc, char **argv) {
    static frame_decoder_t decoder;
    static uint8_t payload[FRAME_MAX_PAYLOAD];
    static sink_t wire;
    const unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000u;
    const int stream = argc > 3 && strcmp(argv[3], "stream") == 0;
    unsigned long whole = 0u, refused = 0u;

    state = argc > 2 ? strtoull(argv[2], NULL, 10) : 88172645463325252ull;
    frame_decoder_init(&decoder);
    for (unsigned long round = 0; round < rounds; round++) {
        frame_encoder_t encoder = {.write = collect, .context = &wire};
        const uint8_t type = (uint8_t)next(), flags = (uint8_t)next();
        const uint32_t sequence = next(), nonce = next();
        const uint32_t bytes = random_payload(payload);
        const uint32_t cut = bytes != 0u ? next() % bytes : 0u;
        unsigned long came = 0u;

        wire.used = 0u;
        frame_begin(&encoder, type, flags, sequence, nonce);
        frame_put(&encoder, payload, cut);
        frame_put(&encoder, &payload[cut], bytes - cut);
        frame_end(&encoder);
        if (memchr(wire.data, 0, wire.used) != &wire.data[wire.used - 1u]) {
            fail("a zero inside a frame", round);
        }
        const int damaged = damage(&wire);

        /* Damage may have taken the delimiter: the next frame must not suffer for it. */
        collect(&wire, (const uint8_t[]){0}, 1u);
        for (uint32_t i = 0; i < wire.used; i++) {
            frame_view_t view;
            const frame_status_t status = frame_decoder_push(&decoder, wire.data[i], &view);

            refused += status != FRAME_NONE && status != FRAME_OK;
            if (stream && status != FRAME_NONE) {
                note(status, &view, damaged);
            }
            if (status != FRAME_OK) {
                continue;
            }
            came++;
            if (view.type != type || view.flags != flags || view.sequence != sequence ||
                view.nonce != nonce || view.payload_bytes != bytes ||
                memcmp(view.payload, payload, bytes) != 0) {
                fail("a damaged frame came back as another", round);
            }
        }
        if (!damaged && came != 1u) {
            fail("a whole frame did not come back", round);
        }
        whole += came;
        if (stream) {
            memcpy(&batch.wire[batch.wire_used], wire.data, wire.used);
            batch.wire_used += wire.used;
            if ((round + 1u) % BATCH_ROUNDS == 0u || round + 1u == rounds) {
                flush_batch();
            }
        }
    }
    fprintf(stream ? stderr : stdout, "rounds %lu whole %lu refused %lu\n", rounds, whole, refused);
    return 0;
}
