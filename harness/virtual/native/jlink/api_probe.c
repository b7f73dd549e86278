/* The probe itself: listing, selecting, opening, what it says of itself. */
#define _GNU_SOURCE
#include "vjlink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HOST_USB 1
#define CORE_M4 0x0E0000FFu
#define CORE_M7 0x0E0100FFu
#define CORE_V8M_MAINLINE 0x0E0200FFu
#define DP_ID 0x2BA01477

/* Structures as pylink declares them. */
typedef struct connect_info {
    uint32_t serial;
    uint8_t connection;
    uint32_t usb_address;
    uint8_t ip_address[16];
    int time_ms;
    uint64_t time_us;
    uint32_t hardware_version;
    uint8_t mac_address[6];
    char product[32];
    char nickname[32];
    char firmware[112];
    char flags[4];
    uint8_t padding[34];
} connect_info;

typedef struct area {
    uint32_t address;
    uint32_t size;
} area;

typedef struct device_info {
    uint32_t size_of_struct;
    const char *name;
    uint32_t core_id;
    uint32_t flash_address;
    uint32_t ram_address;
    char endian_mode;
    uint32_t flash_size;
    uint32_t ram_size;
    const char *manufacturer;
    area flash[32];
    area ram[32];
    uint32_t core;
} device_info;

VJ_API int JLINKARM_EMU_GetNumDevices(void) {
    return vj_registry_list(NULL, 0);
}

VJ_API int JLINKARM_EMU_GetList(int host, connect_info *list, int max) {
    if ((host & HOST_USB) == 0) {
        return 0;
    }
    if (max <= 0) {
        return vj_registry_list(NULL, 0);
    }
    uint32_t *serials = calloc((size_t)max, sizeof *serials);
    if (serials == NULL) {
        return -1;
    }
    int found = vj_registry_list(serials, max);
    for (int i = 0; i < found && i < max; i++) {
        memset(&list[i], 0, sizeof list[i]);
        list[i].serial = serials[i];
        list[i].connection = HOST_USB;
        strcpy(list[i].product, VJ_PRODUCT);
    }
    free(serials);
    return found;
}

static int select_serial(uint32_t serial) {
    VJ_LOCK();
    if (!vj.open) {
        vj.selected = vj_registry_load(serial, &vj.board) == 0;
    }
    int result = vj.selected && vj.board.serial == serial ? 0 : -1;
    VJ_UNLOCK();
    return result;
}

VJ_API int JLINKARM_EMU_SelectByUSBSN(uint32_t serial) {
    return select_serial(serial);
}

VJ_API void JLINKARM_EMU_SelectIPBySN(uint32_t serial) {
    select_serial(serial);
}

/* Never guess a board: without a serial only a lone one will do. */
VJ_API int JLINKARM_SelectUSB(int port) {
    uint32_t serial;
    return port == 0 && vj_registry_list(&serial, 1) == 1 ? select_serial(serial) : 1;
}

VJ_API int JLINKARM_SelectIP(const char *host, int port) {
    (void)host;
    (void)port;
    return 1;
}

VJ_API const char *JLINKARM_OpenEx(vj_log *log, vj_log *error) {
    VJ_LOCK();
    vj.log = log;
    vj.error = error;
    const char *refused = vj_fault_planned(FAULT_OPEN) ? "Cannot connect to the probe." : vj_session_open();
    VJ_UNLOCK();
    return refused;
}

VJ_API void JLINKARM_Close(void) {
    VJ_LOCK();
    vj_session_close();
    VJ_UNLOCK();
}

VJ_API int JLINKARM_IsOpen(void) {
    return vj.open;
}

VJ_API int JLINKARM_EMU_IsConnected(void) {
    VJ_LOCK();
    vj_session_poll();
    int result = vj.open && !vj.lost;
    VJ_UNLOCK();
    return result;
}

VJ_API int JLINKARM_IsConnected(void) {
    VJ_LOCK();
    int result = vj.connected && !vj.lost;
    VJ_UNLOCK();
    return result;
}

VJ_API int JLINKARM_Connect(void) {
    VJ_LOCK();
    int result = vj_session_connect();
    VJ_UNLOCK();
    return result;
}

/* "Device = NAME" is how pylink states the target; it connects at once. Other commands have nothing to change
 * here. */
VJ_API int JLINKARM_ExecCommand(const char *command, char *error, int size) {
    VJ_LOCK();
    int result = 0;
    if (size > 0) {
        error[0] = '\0';
    }
    if (strncasecmp(command, "Device =", 8) == 0) {
        result = vj_session_connect();
        if (result < 0 && size > 0) {
            snprintf(error, (size_t)size, "Could not connect to target.");
        }
    }
    VJ_UNLOCK();
    return result;
}

VJ_API void JLINKARM_EnableLog(vj_log *log) {
    vj.log = log;
}

VJ_API void JLINKARM_EnableLogCom(vj_log *log) {
    (void)log;
}

VJ_API void JLINKARM_SetErrorOutHandler(vj_log *log) {
    vj.error = log;
}

VJ_API void JLINKARM_SetWarnOutHandler(vj_log *log) {
    vj.warning = log;
}

VJ_API int JLINKARM_SetLogFile(const char *path) {
    (void)path;
    return 0;
}

VJ_API void JLINK_SetHookUnsecureDialog(void *hook) {
    (void)hook;
}

VJ_API int JLINKARM_HasError(void) {
    return vj.lost;
}

VJ_API void JLINKARM_ClrError(void) {}

VJ_API int JLINKARM_GetDLLVersion(void) {
    return VJ_DLL_VERSION;
}

VJ_API const char *JLINKARM_GetCompileDateTime(void) {
    return "Nov 29 2026 00:00:00";
}

VJ_API int JLINKARM_GetSN(void) {
    return (int)vj.board.serial;
}

VJ_API int JLINKARM_GetHardwareVersion(void) {
    return 110000;
}

VJ_API void JLINKARM_GetFirmwareString(char *out, int size) {
    snprintf(out, (size_t)size, "%s", VJ_FIRMWARE);
}

VJ_API int JLINKARM_GetEmbeddedFWString(const char *name, char *out, int size) {
    (void)name;
    snprintf(out, (size_t)size, "%s", VJ_FIRMWARE);
    return 0;
}

VJ_API void JLINKARM_EMU_GetProductName(char *out, int size) {
    snprintf(out, (size_t)size, "%s", VJ_PRODUCT);
}

/* States, for evidence and tests, which way target memory is reached. */
VJ_API void JLINKARM_GetFeatureString(char *out) {
    VJ_LOCK();
    sprintf(out, "RTT, memory:%s", vj.open ? vj_memory_path() : "closed");
    VJ_UNLOCK();
}

VJ_API int JLINKARM_GetOEMString(char *out) {
    out[0] = '\0';
    return 0;
}

VJ_API uint32_t JLINKARM_GetEmuCaps(void) {
    return 0xB9FF7BBFu;
}

VJ_API int JLINKARM_EMU_HasCapEx(int capability) {
    (void)capability;
    return 0;
}

VJ_API int JLINKARM_GetHWStatus(uint8_t *status) {
    const uint16_t millivolts = vj.open && !vj.lost ? 3300 : 0;
    memcpy(status, &millivolts, sizeof millivolts);
    memset(status + 2, 1, 6);
    return 0;
}

/* Devices: 1 is the selected board's own, then the names its registry entry knows. */
static const char *device_name(int index) {
    return index == 1                                       ? vj.board.device
           : index >= 2 && index - 2 < vj.board.known_count ? vj.board.known[index - 2]
                                                            : NULL;
}

VJ_API int JLINKARM_DEVICE_GetIndex(const char *name) {
    for (int i = 1; device_name(i) != NULL; i++) {
        if (strcasecmp(device_name(i), name) == 0) {
            return i;
        }
    }
    return 0;
}

static uint32_t core_number(void) {
    return strcmp(vj.board.core, "Cortex-M4") == 0   ? CORE_M4
           : strcmp(vj.board.core, "Cortex-M7") == 0 ? CORE_M7
                                                     : CORE_V8M_MAINLINE;
}

VJ_API int JLINKARM_DEVICE_GetInfo(int index, device_info *out) {
    if (index == -1) {
        return 2 + vj.board.known_count;
    }
    const char *name = device_name(index);
    if (name == NULL) {
        return -1;
    }
    device_info info = {.size_of_struct = out->size_of_struct,
                        .name = name,
                        .manufacturer = "Arm",
                        .core_id = DP_ID,
                        .core = core_number()};
    int flash = 0, ram = 0;
    for (int i = 0; index == 1 && i < vj.board.region_count; i++) {
        area here = {vj.board.regions[i].base, vj.board.regions[i].size};
        if (vj.board.regions[i].kind == REGION_RAM) {
            info.ram[ram++] = here;
        } else {
            info.flash[flash++] = here;
        }
    }
    info.flash_address = info.flash[0].address;
    info.flash_size = info.flash[0].size;
    info.ram_address = info.ram[0].address;
    info.ram_size = info.ram[0].size;
    memcpy(out, &info, out->size_of_struct < sizeof info ? out->size_of_struct : sizeof info);
    return 0;
}

VJ_API void JLINKARM_TIF_GetAvailable(uint32_t *mask) {
    *mask = 3;
}

VJ_API int JLINKARM_TIF_Select(int interface) {
    return interface > 1;
}

VJ_API void JLINKARM_SetSpeed(int khz) {
    vj.speed_khz = khz > 0 && khz < 0xfffe ? khz : 4000;
}

VJ_API void JLINKARM_SetMaxSpeed(void) {
    vj.speed_khz = 50000;
}

VJ_API int JLINKARM_GetSpeed(void) {
    return vj.speed_khz;
}

VJ_API int JLINKARM_GetId(void) {
    return DP_ID;
}

VJ_API uint32_t JLINKARM_CORE_GetFound(void) {
    return core_number();
}

VJ_API void JLINKARM_Core2CoreName(uint32_t core, char *out, int size) {
    (void)core;
    snprintf(out, (size_t)size, "%s", vj.board.core);
}

VJ_API int JLINKARM_GetDeviceFamily(void) {
    return 14;
}
