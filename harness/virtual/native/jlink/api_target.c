/* The target: run control, memory, registers, breakpoints. */
#define _GNU_SOURCE
#include "vjlink.h"

#define REGISTERS 17
#define BREAKPOINTS 32

VJ_API int JLINKARM_Halt(void) {
    VJ_LOCK();
    int result = vj.connected ? vj_gdb_halt() : -1;
    VJ_UNLOCK();
    return result < 0 ? 1 : 0;
}

VJ_API int JLINKARM_IsHalted(void) {
    VJ_LOCK();
    vj_session_poll();
    int result = vj.lost || !vj.connected ? -1 : !vj.running;
    VJ_UNLOCK();
    return result;
}

VJ_API void JLINKARM_Go(void) {
    VJ_LOCK();
    vj_fault_forget();
    if (vj.connected) {
        vj_gdb_go();
    }
    VJ_UNLOCK();
}

VJ_API void JLINKARM_GoEx(int count, int flags) {
    (void)count;
    (void)flags;
    JLINKARM_Go();
}

VJ_API int JLINKARM_Step(void) {
    VJ_LOCK();
    int result = vj.connected ? vj_gdb_step() : -1;
    VJ_UNLOCK();
    return result;
}

VJ_API int JLINKARM_StepComposite(void) {
    return JLINKARM_Step();
}

VJ_API void JLINKARM_SetResetDelay(int ms) {
    (void)ms;
}

VJ_API int JLINKARM_SetResetType(int type) {
    (void)type;
    return 0;
}

VJ_API void JLINKARM_SetRESET(void) {}

VJ_API void JLINKARM_ClrRESET(void) {}

VJ_API int JLINKARM_Reset(void) {
    VJ_LOCK();
    int result = !vj.connected || vj_gdb_halt() < 0 || vj_qmp_reset() != 0 ? -1 : 0;
    VJ_UNLOCK();
    return result;
}

static int units(int result, uint32_t size, uint32_t access) {
    return result != 0 ? -1 : (int)(size / (access == 0 ? 1 : access));
}

VJ_API int JLINKARM_ReadMemEx(uint32_t address, uint32_t size, void *data, uint32_t access) {
    VJ_LOCK();
    int result = vj.connected ? vj_memory_read(address, data, size) : -1;
    if (result == 0) {
        vj_fault_on_read(address, data, size);
    }
    VJ_UNLOCK();
    return units(result, size, access);
}

VJ_API int JLINKARM_ReadMemU64(uint32_t address, uint32_t count, void *data, uint8_t *status) {
    (void)status;
    return JLINKARM_ReadMemEx(address, count * 8, data, 8);
}

VJ_API int JLINKARM_ReadCodeMem(uint32_t address, uint32_t size, void *data) {
    return JLINKARM_ReadMemEx(address, size, data, 1);
}

VJ_API int JLINKARM_WriteMemEx(uint32_t address, uint32_t size, const void *data, uint32_t access) {
    VJ_LOCK();
    int result = vj.connected ? vj_memory_write(address, data, size) : -1;
    VJ_UNLOCK();
    return units(result, size, access);
}

VJ_API int JLINKARM_WriteU8(uint32_t address, uint8_t value) {
    return JLINKARM_WriteMemEx(address, 1, &value, 1) == 1 ? 0 : 1;
}

VJ_API int JLINKARM_WriteU16(uint32_t address, uint16_t value) {
    return JLINKARM_WriteMemEx(address, 2, &value, 2) == 1 ? 0 : 1;
}

VJ_API int JLINKARM_WriteU32(uint32_t address, uint32_t value) {
    return JLINKARM_WriteMemEx(address, 4, &value, 4) == 1 ? 0 : 1;
}

VJ_API uint32_t JLINKARM_ReadReg(int index) {
    uint32_t value = 0;
    VJ_LOCK();
    if (vj.connected && vj_gdb_read_register(index, &value) != 0) {
        value = 0;
    }
    VJ_UNLOCK();
    return value;
}

VJ_API int JLINKARM_ReadRegs(const uint32_t *indices, uint32_t *values, uint8_t *states, uint32_t count) {
    int result = 0;
    VJ_LOCK();
    for (uint32_t i = 0; i < count; i++) {
        int failed = vj.connected ? vj_gdb_read_register((int)indices[i], &values[i]) : -1;
        if (states != NULL) {
            states[i] = failed != 0;
        }
        result = failed != 0 ? -1 : result;
    }
    VJ_UNLOCK();
    return result;
}

VJ_API int JLINKARM_WriteReg(int index, uint32_t value) {
    VJ_LOCK();
    int result = vj.connected ? vj_gdb_write_register(index, value) : -1;
    VJ_UNLOCK();
    return result == 0 ? 0 : 1;
}

VJ_API int JLINKARM_GetRegisterList(uint32_t *list, int max) {
    int count = 0;
    while (count < REGISTERS && count < max) {
        list[count] = (uint32_t)count;
        count++;
    }
    return count;
}

VJ_API const char *JLINKARM_GetRegisterName(int index) {
    static const char *const names[REGISTERS] = {"R0",  "R1",       "R2",  "R3",       "R4",  "R5",
                                                 "R6",  "R7",       "R8",  "R9",       "R10", "R11",
                                                 "R12", "R13 (SP)", "R14", "R15 (PC)", "XPSR"};
    return index >= 0 && index < REGISTERS ? names[index] : "";
}

/* Handles are slot numbers from 1; a slot holds the address with its lowest bit set, 0 when free. */
static uint32_t breakpoints[BREAKPOINTS];

VJ_API int JLINKARM_SetBPEx(uint32_t address, uint32_t flags) {
    (void)flags;
    int handle = 0;
    VJ_LOCK();
    for (int i = 0; i < BREAKPOINTS && handle == 0 && vj.connected; i++) {
        if (breakpoints[i] == 0) {
            if (vj_gdb_breakpoint(true, address) != 0) {
                break;
            }
            breakpoints[i] = address | 1u;
            handle = i + 1;
        }
    }
    VJ_UNLOCK();
    return handle;
}

VJ_API int JLINKARM_ClrBPEx(uint32_t handle) {
    int result = 0;
    VJ_LOCK();
    for (uint32_t i = 0; i < BREAKPOINTS && vj.connected; i++) {
        if (breakpoints[i] != 0 && (handle == 0xffffffffu || handle == i + 1)) {
            result |= vj_gdb_breakpoint(false, breakpoints[i]);
            breakpoints[i] = 0;
        }
    }
    VJ_UNLOCK();
    return result == 0 ? 0 : 1;
}

VJ_API int JLINKARM_GetNumBPs(void) {
    int count = 0;
    for (int i = 0; i < BREAKPOINTS; i++) {
        count += breakpoints[i] != 0;
    }
    return count;
}

VJ_API int JLINKARM_GetNumBPUnits(int type) {
    (void)type;
    return BREAKPOINTS;
}

VJ_API int JLINKARM_FindBP(uint32_t address) {
    for (int i = 0; i < BREAKPOINTS; i++) {
        if (breakpoints[i] == (address | 1u)) {
            return i + 1;
        }
    }
    return 0;
}
