/* Faults on purpose: what the registry line `fault=<name>,<at>` asks for. */
#include "vjlink.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {
    [FAULT_OPEN] = "open-fails",
    [FAULT_FLASH_ERROR] = "flash-error",
    [FAULT_FLASH_MISMATCH] = "flash-mismatch",
    [FAULT_FLASH_UNPLUGGED] = "flash-unplugged",
    [FAULT_RTT_UNPLUGGED] = "rtt-unplugged",
    [FAULT_RTT_FLIP] = "rtt-flip",
};

bool vj_fault_parse(vj_board *board, const char *value) {
    char name[32];
    unsigned at;
    if (sscanf(value, "%31[a-z-],%u", name, &at) != 2) {
        return false;
    }
    for (int i = 1; i < (int)(sizeof names / sizeof names[0]); i++) {
        if (strcmp(name, names[i]) == 0) {
            board->fault = (vj_fault)i;
            board->fault_at = at;
            return true;
        }
    }
    return false;
}

bool vj_fault_within(vj_fault fault, uint64_t done, uint64_t size) {
    return vj.board.fault == fault && vj.board.fault_at >= done && vj.board.fault_at - done < size;
}
