/*
 * What the plugin needs of the emulator. One file for each version of the emulator's interface implements it;
 * nothing else in this directory knows that interface.
 */
#ifndef COUNTERS_HOST_H
#define COUNTERS_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct host_block host_block_t; /* a straight run of instructions being translated */
typedef struct host_insn host_insn_t;   /* one of them */

typedef void (*host_exec_fn)(unsigned cpu, void *data);
typedef void (*host_access_fn)(unsigned cpu, uint32_t info, uint64_t address, void *data);

size_t host_block_size(const host_block_t *block);
host_insn_t *host_block_insn(const host_block_t *block, size_t index);
uint32_t host_insn_address(const host_insn_t *insn);
/* Reads the instruction's halfwords; returns its size in bytes, 2 or 4. */
size_t host_insn_read(const host_insn_t *insn, uint16_t halfwords[2]);
/* Where the instruction lies in the emulator's memory, or NULL. What lies just before it may be read too. */
const uint8_t *host_insn_memory(const host_insn_t *insn);

/* The plugin's counters, which `host_count` adds to without a call whenever an instruction executes. */
uint64_t *host_slots(void);
void host_count(host_insn_t *insn, unsigned slot, uint64_t add);

/* Calls at run time: before a block, before an instruction, after each of its accesses to memory. */
void host_on_block(host_block_t *block, host_exec_fn function, void *data);
void host_on_exec(host_insn_t *insn, host_exec_fn function, void *data);
void host_on_access(host_insn_t *insn, host_access_fn function, void *data);

void host_say(const char *text);

/* Called by the host. `plugin_start` says what is wrong and returns false when its options cannot be used. */
bool plugin_start(int argc, char **argv);
void plugin_translate(host_block_t *block);
void plugin_end(void);

#endif
