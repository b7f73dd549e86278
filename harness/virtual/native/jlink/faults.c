/* Faults on purpose: what the registry's lines `fault=<name>,<at>` ask for. */
#define _GNU_SOURCE
#include "vjlink.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define NOWHERE 0xF0000000u /* no code may run there, and nothing can be read */
#define SCB_VTOR 0xE000ED08u
#define VECTOR_HARDFAULT 12u
#define COMMAND_HELLO 0x81u
#define RAM_LOST 0x40000u /* how much of each RAM a brown-out spoils: more than an image's data and stack */
#define PC 15

static const char *const names[] = {
    [FAULT_OPEN] = "open-fails",
    [FAULT_FLASH_ERROR] = "flash-error",
    [FAULT_FLASH_MISMATCH] = "flash-mismatch",
    [FAULT_FLASH_UNPLUGGED] = "flash-unplugged",
    [FAULT_WRONG_IMAGE] = "wrong-image",
    [FAULT_WRONG_CHIP] = "wrong-chip",
    [FAULT_RTT_UNPLUGGED] = "rtt-unplugged",
    [FAULT_RTT_FLIP] = "rtt-flip",
    [FAULT_RTT_POINTERS] = "rtt-pointers",
    [FAULT_PASS_UNPLUGGED] = "pass-unplugged",
    [FAULT_HARDFAULT] = "core-hardfault",
    [FAULT_LOCKUP] = "core-lockup",
    [FAULT_HALTED] = "core-halted",
    [FAULT_RESET] = "watchdog-reset",
    [FAULT_BROWN_OUT] = "brown-out",
    [FAULT_KILLED] = "emulator-killed",
    [FAULT_STOPPED] = "emulator-stopped",
};

bool vj_fault_parse(vj_board *board, const char *value) {
    char name[32];
    unsigned at;
    if (sscanf(value, "%31[a-z-],%u", name, &at) != 2) {
        return false;
    }
    for (int i = 0; i < FAULT_COUNT; i++) {
        if (strcmp(name, names[i]) == 0) {
            board->faults[i] = (vj_fault_plan){.planned = true, .at = at};
            return true;
        }
    }
    return false;
}

bool vj_fault_planned(vj_fault fault) {
    return vj.board.faults[fault].planned;
}

bool vj_fault_within(vj_fault fault, uint64_t done, uint64_t size) {
    const vj_fault_plan *plan = &vj.board.faults[fault];
    return plan->planned && plan->at >= done && plan->at - done < size;
}

/* -- an image that never reached the flash -----------------------------------------------------------------
 */

typedef struct pretended {
    struct pretended *next;
    uint32_t address;
    uint32_t size;
    uint8_t data[];
} pretended;

static pretended *pretences;

int vj_fault_pretend(uint32_t address, const uint8_t *data, uint32_t size) {
    pretended *piece = malloc(sizeof *piece + size);
    if (piece == NULL) {
        return -1;
    }
    *piece = (pretended){.next = pretences, .address = address, .size = size};
    memcpy(piece->data, data, size);
    pretences = piece;
    return 0;
}

void vj_fault_forget(void) {
    while (pretences != NULL) {
        pretended *next = pretences->next;
        free(pretences);
        pretences = next;
    }
}

void vj_fault_on_read(uint32_t address, uint8_t *data, uint32_t size) {
    for (const pretended *piece = pretences; piece != NULL; piece = piece->next) {
        for (uint32_t i = 0; i < size; i++) {
            if (address + i - piece->address < piece->size) {
                data[i] = piece->data[address + i - piece->address];
            }
        }
    }
    if (vj_fault_within(FAULT_WRONG_CHIP, address, size)) {
        data[vj.board.faults[FAULT_WRONG_CHIP].at - address] ^= 1u;
    }
}

/* -- at a command of the host ------------------------------------------------------------------------------
 */

static struct {
    uint32_t length; /* of the unfinished frame */
    uint32_t commands;
    uint8_t type;
} down;

void vj_fault_rewind(void) {
    memset(&down, 0, sizeof down);
}

static void jump_to_nowhere(void) {
    vj_gdb_halt();
    vj_gdb_write_register(PC, NOWHERE);
    vj_gdb_go();
}

/* The handlers of the fault lie where no code may run, so that the fault's handler faults. */
static void lock_up(void) {
    static const uint8_t handlers[8] = {1u, 0u, 0u, NOWHERE >> 24, 1u, 0u, 0u, NOWHERE >> 24};
    uint32_t table = 0;
    vj_gdb_halt();
    vj_gdb_read(SCB_VTOR, (uint8_t *)&table, sizeof table);
    vj_memory_write(table + VECTOR_HARDFAULT, handlers, sizeof handlers);
    jump_to_nowhere();
}

static void restart(bool ram_lost) {
    static uint8_t noise[RAM_LOST];
    vj_gdb_halt();
    memset(noise, 0xA5, sizeof noise);
    for (int i = 0; ram_lost && i < vj.board.region_count; i++) {
        const vj_region *region = &vj.board.regions[i];
        if (region->kind == REGION_RAM) {
            vj_memory_write(region->base, noise, region->size < RAM_LOST ? region->size : RAM_LOST);
        }
    }
    vj_qmp_reset();
    vj_gdb_go();
}

static void at_command(uint32_t number) {
    for (vj_fault fault = FAULT_PASS_UNPLUGGED; fault < FAULT_COUNT; fault++) {
        vj_fault_plan *plan = &vj.board.faults[fault];
        if (!plan->planned || plan->at != number) {
            continue;
        }
        switch (fault) {
        case FAULT_PASS_UNPLUGGED:
            vj.lost = true;
            break;
        case FAULT_HARDFAULT:
            jump_to_nowhere();
            break;
        case FAULT_LOCKUP:
            lock_up();
            break;
        case FAULT_HALTED:
            vj_gdb_halt();
            break;
        case FAULT_RESET:
        case FAULT_BROWN_OUT:
            restart(fault == FAULT_BROWN_OUT);
            break;
        case FAULT_KILLED:
            kill(vj.pid, SIGKILL);
            break;
        case FAULT_STOPPED:
            kill(vj.pid, SIGSTOP);
            break;
        default:
            break;
        }
        plan->planned = false; /* the board that boots anew is not struck again */
    }
}

/* Counts commands by their ends; a hello, which the host repeats until it is answered, is none. */
void vj_fault_on_sent(const uint8_t *data, uint32_t size) {
    for (uint32_t i = 0; i < size; i++) {
        if (data[i] == 0u) {
            bool counted = down.length > 1u && down.type != COMMAND_HELLO;
            down.length = 0;
            if (counted) {
                at_command(down.commands++);
            }
            continue;
        }
        if (down.length == 1u) {
            down.type = data[i]; /* what follows the first byte of COBS */
        }
        down.length++;
    }
}
