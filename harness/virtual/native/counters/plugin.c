/* What is registered for each instruction, and what happens when it runs. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cache.h"
#include "counters.h"
#include "decode.h"
#include "gatelog.h"
#include "host.h"
#include "itblocks.h"
#include "itm.h"
#include "options.h"
#include "pages.h"

#define HINT_EMPTY_CACHES 0xBF50u

static options_t options;
static bool located;

/* Facts of an instruction that its callbacks need, packed into their pointer. */
#define DATA_ALIGN 0x00FFu
#define DATA_KIND_SHIFT 8
#define DATA_MULTIPLE 0x10000u

static void *pack(const decoded_t *decoded) {
    uintptr_t data = decoded->align_mask | (uintptr_t)decoded->kind << DATA_KIND_SHIFT;

    if ((kind_flags(decoded->kind) & KF_MULTIPLE) != 0u) {
        data |= DATA_MULTIPLE;
    }
    return (void *)data;
}

static kind_t packed_kind(const void *data) {
    return (kind_t)((uintptr_t)data >> DATA_KIND_SHIFT & 0xFFu);
}

static void fail(const char *what, const char *detail) {
    char text[512];

    snprintf(text, sizeof(text), "counters: %s%s%s\n", what, detail != NULL ? ": " : "",
             detail != NULL ? detail : "");
    host_say(text);
    fputs(text, stderr);
}

static void on_block(unsigned cpu, void *data) {
    (void)cpu;
    branch_resolve((uint32_t)(uintptr_t)data);
    gatelog_block();
}

static inline void count_unaligned(uint64_t address, const void *data) {
    counters_slots[SLOT_UNALIGNED] += (address & (uintptr_t)data & DATA_ALIGN) != 0u;
}

static void on_read(unsigned cpu, uint32_t info, uint64_t address, void *data) {
    (void)cpu;
    (void)info;
    count_unaligned(address, data);
    cache_read((uint32_t)address);
}

static void on_write(unsigned cpu, uint32_t info, uint64_t address, void *data) {
    (void)cpu;
    (void)info;
    count_unaligned(address, data);
    cache_write((uint32_t)address);
}

/* Inside IT blocks: an access tells that the condition passed. One instruction may access several words. */
static void count_passed(const void *data, unsigned words_slot) {
    static uint64_t seen[KIND_COUNT];
    const kind_t kind = packed_kind(data);

    if (seen[kind] != counters_slots[SLOT_EXECUTED_IT + kind]) {
        seen[kind] = counters_slots[SLOT_EXECUTED_IT + kind];
        counters_slots[SLOT_PASSED_IT + kind]++;
    }
    counters_slots[words_slot] += ((uintptr_t)data & DATA_MULTIPLE) != 0u;
}

static void on_conditional_read(unsigned cpu, uint32_t info, uint64_t address, void *data) {
    count_passed(data, SLOT_WORDS_LOADED);
    on_read(cpu, info, address, data);
}

static void on_conditional_write(unsigned cpu, uint32_t info, uint64_t address, void *data) {
    count_passed(data, SLOT_WORDS_STORED);
    on_write(cpu, info, address, data);
}

/* Vector accesses come lane by lane; lanes of one instruction that follow each other in one line are one
 * access. */
static bool next_lane(uint64_t address, const void *data) {
    static uint64_t seen[KIND_COUNT];
    static uint32_t last_line;
    const kind_t kind = packed_kind(data);
    const uint32_t line = cache_line((uint32_t)address);

    if (seen[kind] == counters_slots[SLOT_EXECUTED + kind] && line == last_line) {
        return true;
    }
    seen[kind] = counters_slots[SLOT_EXECUTED + kind];
    last_line = line;
    return false;
}

static void on_vector_read(unsigned cpu, uint32_t info, uint64_t address, void *data) {
    (void)cpu;
    (void)info;
    if (!next_lane(address, data)) {
        counters_slots[SLOT_VECTOR_MISSES] += cache_read((uint32_t)address);
    }
}

static void on_vector_write(unsigned cpu, uint32_t info, uint64_t address, void *data) {
    (void)cpu;
    (void)info;
    if (!next_lane(address, data)) {
        counters_slots[SLOT_VECTOR_MISSES] += cache_write((uint32_t)address);
    }
}

static void before_page_access(unsigned cpu, void *data) {
    (void)cpu;
    (void)data;
    pages_refresh();
}

static void on_page_read(unsigned cpu, uint32_t info, uint64_t address, void *data) {
    if (!pages_contain((uint32_t)address)) {
        on_read(cpu, info, address, data);
    }
}

static void on_page_write(unsigned cpu, uint32_t info, uint64_t address, void *data) {
    if (pages_contain((uint32_t)address)) {
        pages_stored((uint32_t)address, ((uint32_t)(uintptr_t)data & DATA_ALIGN) + 1u);
    } else {
        on_write(cpu, info, address, data);
    }
}

static void on_empty_caches(unsigned cpu, void *data) {
    (void)cpu;
    (void)data;
    cache_empty();
}

static void on_gate(unsigned cpu, void *data) {
    (void)cpu;
    gatelog_edge(data != NULL);
    if (data != NULL) {
        pages_gate_rises();
    }
}

static void on_state(unsigned cpu, void *data) {
    (void)cpu;
    gatelog_state(data != NULL);
}

/* Hints by which firmware tells of itself; they do nothing on silicon. */
static void watch_hint(host_insn_t *insn, uint16_t halfword) {
    switch (halfword) {
    case HINT_EMPTY_CACHES:
        host_on_exec(insn, on_empty_caches, NULL);
        break;
    case HINT_GATE_HIGH:
    case HINT_GATE_LOW:
        host_on_exec(insn, on_gate, halfword == HINT_GATE_HIGH ? &options : NULL);
        break;
    case HINT_STATE_HIGH:
    case HINT_STATE_LOW:
        host_on_exec(insn, on_state, halfword == HINT_STATE_HIGH ? &options : NULL);
        break;
    default:
        break;
    }
}

static void watch_memory(host_insn_t *insn, const decoded_t *decoded, bool conditional, bool access_code) {
    const uint32_t flags = kind_flags(decoded->kind);
    host_access_fn read = on_read, write = on_write;

    if ((flags & (KF_LOAD | KF_STORE)) == 0u) {
        return;
    }
    if (access_code) {
        host_on_exec(insn, before_page_access, NULL);
        read = on_page_read;
        write = on_page_write;
    } else if ((flags & KF_MVE) != 0u) {
        read = on_vector_read;
        write = on_vector_write;
    } else if (conditional) {
        read = on_conditional_read;
        write = on_conditional_write;
    }
    host_on_access(insn, (flags & KF_LOAD) != 0u ? read : write, pack(decoded));
}

static void count(host_insn_t *insn, const decoded_t *decoded, bool conditional, uint32_t behind) {
    const uint32_t flags = kind_flags(decoded->kind);
    const bool outcome = (flags & KF_OUTCOME) != 0u;

    host_count(insn, (conditional ? SLOT_EXECUTED_IT : SLOT_EXECUTED) + decoded->kind, 1);
    if (decoded->words > 0u && !conditional) {
        host_count(insn, (flags & KF_LOAD) != 0u ? SLOT_WORDS_LOADED : SLOT_WORDS_STORED, decoded->words);
    }
    if (outcome || (conditional && (flags & KF_BRANCH) != 0u)) {
        const unsigned taken = (outcome ? SLOT_TAKEN : SLOT_TAKEN_IT) + decoded->kind;

        host_count(insn, SLOT_PENDING, branch_note(taken, behind));
    }
}

static void locate_pages(void) {
    const char *wrong = pages_locate(options.pages_file);

    if (wrong != NULL) {
        fail(wrong, options.pages_file);
        exit(1);
    }
    pages_refresh();
}

void plugin_translate(host_block_t *block) {
    const size_t size = host_block_size(block);
    host_insn_t *insn = host_block_insn(block, 0);
    uint32_t address = host_insn_address(insn);
    it_walk_t walk;

    if (!located && options.pages_file != NULL) {
        locate_pages();
        located = true;
    }
    host_on_block(block, on_block, (void *)(uintptr_t)address);
    it_begin(&walk, address, host_insn_memory(insn));
    for (size_t i = 0; i < size; i++) {
        uint16_t halfwords[2];
        decoded_t decoded;
        bool conditional;

        insn = host_block_insn(block, i);
        address = host_insn_address(insn);
        const uint32_t behind = address + (uint32_t)host_insn_read(insn, halfwords);

        decoded = decode(halfwords[0], halfwords[1]);
        conditional = it_next(&walk, address, halfwords[0]);
        count(insn, &decoded, conditional, behind);
        watch_memory(insn, &decoded, conditional,
                     address >= options.access.first && address <= options.access.last);
        if (decoded.kind == KIND_HINT) {
            watch_hint(insn, halfwords[0]);
        }
        address = behind;
    }
    it_end(&walk, address);
}

bool plugin_start(int argc, char **argv) {
    const char *wrong = options_read(&options, argc, argv);

    if (wrong != NULL) {
        fail("this option cannot be used", wrong);
        return false;
    }
    if (pages_placed() && options.pages_file == NULL) {
        fail("pages are placed, but no file tells where they lie (option pages)", NULL);
        return false;
    }
    if (options.events_file != NULL && !gatelog_open(options.events_file)) {
        fail("the gate log cannot be written", options.events_file);
        return false;
    }
    if (options.swo_file != NULL && !itm_open(options.swo_file)) {
        fail("the trace ring cannot be made", options.swo_file);
        return false;
    }
    counters_prepare(&options.cycles, &options.energy, options.cache_line / options.bus_bytes);
    pages_fail(&options.faults);
    pmu_prepare(options.pmu_counters, options.cache_size != 0u, options.tcm);
    if (options.cache_size == 0u) {
        cache_empty();
    }
    return true;
}

void plugin_end(void) {
    static const char *const banks[] = {"executed", "executed_it", "passed_it", "taken", "taken_it"};
    FILE *stream;

    if (options.summary_file == NULL) {
        return;
    }
    stream = fopen(options.summary_file, "w");
    if (stream == NULL) {
        fail("the summary cannot be written", options.summary_file);
        return;
    }
    for (unsigned slot = 0; slot < SLOT_WORDS_LOADED; slot++) {
        if (counters_slots[slot] != 0u) {
            fprintf(stream, "%s.%s=%" PRIu64 "\n", banks[slot / KIND_COUNT], kind_name(slot % KIND_COUNT),
                    counters_slots[slot]);
        }
    }
    for (quantity_t quantity = 0; quantity < Q_COUNT; quantity++) {
        fprintf(stream, "%s=%" PRIu64 "\n", quantity_name(quantity), counters_value(quantity));
    }
    fclose(stream);
}
