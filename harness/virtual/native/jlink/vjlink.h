/* Virtual J-Link: the part of libjlinkarm's interface that pylink calls, spoken to an emulated board.
 *
 * One loaded copy of the library is one probe session. Its state is `vj`; every exported function takes
 * `vj.mutex`. Control goes through QEMU's gdbstub, reset and death through QMP, flash writes through qtest
 * (they invalidate translated code), RAM through process_vm_readv/writev where the kernel permits it and
 * through qtest elsewhere.
 */
#ifndef VJLINK_H
#define VJLINK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define VJ_API __attribute__((visibility("default")))

#define VJ_DLL_VERSION 79600
#define VJ_PRODUCT "J-Link Virtual (QEMU)"
#define VJ_FIRMWARE "J-Link Virtual V1 compiled Nov 29 2026 00:00:00"
#define VJ_NOT_SUPPORTED (-262)
#define VJ_TIMEOUT_MS 5000
#define VJ_MAX_REGIONS 16
#define VJ_MAX_KNOWN 32
#define VJ_MAX_SECTOR_GROUPS 8
#define VJ_MAX_SECTORS 1024
#define VJ_MAX_WORDS 16
#define VJ_PATH 256

/* Code is RAM that plays flash; flash is what it is called: the target cannot write it, a download erases its
 * sectors first, and programming only clears bits. */
typedef enum vj_region_kind { REGION_CODE, REGION_ROM, REGION_RAM, REGION_FLASH } vj_region_kind;

/* `count` neighbouring sectors of one size. */
typedef struct vj_sectors {
    uint32_t size;
    uint32_t count;
} vj_sectors;

/* Memory of the board. `hva` is the emulator's own address of `base`, 0 when it cannot be told. */
typedef struct vj_region {
    vj_region_kind kind;
    uint32_t base;
    uint32_t size;
    uint64_t hva;
    vj_sectors sectors[VJ_MAX_SECTOR_GROUPS];
    int sector_groups;
} vj_region;

/* A word that a debugger reads on the real chip and the emulated machine lacks. */
typedef struct vj_word {
    uint32_t address;
    uint32_t value;
} vj_word;

typedef enum vj_memory_mode { MEMORY_AUTO, MEMORY_QTEST, MEMORY_GDB } vj_memory_mode;

/* Faults on purpose; see faults.c. Those from FAULT_PASS_UNPLUGGED on strike at a command of the host. */
typedef enum vj_fault {
    FAULT_OPEN,
    FAULT_FLASH_ERROR,
    FAULT_FLASH_MISMATCH,
    FAULT_FLASH_UNPLUGGED,
    FAULT_WRONG_IMAGE,
    FAULT_WRONG_CHIP,
    FAULT_RTT_UNPLUGGED,
    FAULT_RTT_FLIP,
    FAULT_RTT_POINTERS,
    FAULT_PASS_UNPLUGGED,
    FAULT_HARDFAULT,
    FAULT_LOCKUP,
    FAULT_HALTED,
    FAULT_RESET,
    FAULT_BROWN_OUT,
    FAULT_KILLED,
    FAULT_STOPPED,
    FAULT_COUNT,
} vj_fault;

typedef struct vj_fault_plan {
    bool planned;
    uint32_t at;
} vj_fault_plan;

/* What the registry file of a serial states. */
typedef struct vj_board {
    uint32_t serial;
    char device[64];
    char core[32];
    char gdb[VJ_PATH];
    char qmp[VJ_PATH];
    char qtest[VJ_PATH];
    char alive[VJ_PATH];
    char lock[VJ_PATH];
    char swo[VJ_PATH];
    vj_memory_mode memory;
    vj_region regions[VJ_MAX_REGIONS];
    int region_count;
    vj_word words[VJ_MAX_WORDS];
    int word_count;
    char known[VJ_MAX_KNOWN][64];
    int known_count;
    vj_fault_plan faults[FAULT_COUNT];
} vj_board;

/* A socket with what was received and not yet consumed. */
typedef struct vj_stream {
    int fd;
    size_t used;
    size_t capacity;
    char *data;
} vj_stream;

typedef void vj_log(const char *text);
typedef void vj_progress(const char *action, const char *text, int percent);

typedef struct vj_session {
    pthread_mutex_t mutex;
    vj_board board;
    bool selected;
    bool open;
    bool connected;
    bool running;
    bool lost;
    bool process_vm_denied;
    pid_t pid;
    int lock_fd;
    vj_stream gdb;
    vj_stream qmp;
    vj_stream qtest;
    vj_log *log;
    vj_log *error;
    vj_log *warning;
    vj_progress *progress;
    int speed_khz;
} vj_session;

extern vj_session vj;

#define VJ_LOCK() pthread_mutex_lock(&vj.mutex)
#define VJ_UNLOCK() pthread_mutex_unlock(&vj.mutex)

/* session.c */
void vj_say(vj_log *sink, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *vj_session_open(void);
int vj_session_connect(void);
void vj_session_close(void);
/* Notice, without waiting, that the emulator ended. */
void vj_session_poll(void);

/* registry.c */
int vj_registry_load(uint32_t serial, vj_board *board);
/* Serials of the boards alive, ascending; returns how many there are, filling at most `max`. */
int vj_registry_list(uint32_t *serials, int max);

/* faults.c */
bool vj_fault_parse(vj_board *board, const char *value);
bool vj_fault_planned(vj_fault fault);
/* Whether this fault strikes one of the `size` bytes after the first `done`. */
bool vj_fault_within(vj_fault fault, uint64_t done, uint64_t size);
/* Keep bytes that never reach the flash, and read them back instead of it until they are forgotten. */
int vj_fault_pretend(uint32_t address, const uint8_t *data, uint32_t size);
void vj_fault_forget(void);
/* What the debugger reads, and what the host has handed to the target. */
void vj_fault_on_read(uint32_t address, uint8_t *data, uint32_t size);
void vj_fault_on_sent(const uint8_t *data, uint32_t size);
/* A conversation begins. */
void vj_fault_rewind(void);

/* stream.c: all waits end; a peer that went away, or that does not answer in time, sets vj.lost. */
int64_t vj_now_ms(void);
int vj_stream_connect(vj_stream *stream, const char *path);
void vj_stream_close(vj_stream *stream);
int vj_stream_fill(vj_stream *stream, int timeout_ms); /* 1 got bytes, 0 timeout, -1 lost */
int vj_stream_send(vj_stream *stream, const void *data, size_t size);
void vj_stream_consume(vj_stream *stream, size_t size);

/* qmp.c */
int vj_qmp_start(void);
int vj_qmp_running(void); /* 1, 0, or -1 */
int vj_qmp_reset(void);

/* gdb.c */
int vj_gdb_start(bool was_running);
void vj_gdb_poll(void);
int vj_gdb_halt(void); /* 1 it was running, 0 it was halted, -1 failed */
int vj_gdb_go(void);
int vj_gdb_step(void);
int vj_gdb_read(uint32_t address, uint8_t *data, uint32_t size);
int vj_gdb_write(uint32_t address, const uint8_t *data, uint32_t size);
int vj_gdb_read_register(int index, uint32_t *value);
int vj_gdb_write_register(int index, uint32_t value);
int vj_gdb_breakpoint(bool insert, uint32_t address);

/* qtest.c */
int vj_qtest_read(uint32_t address, uint8_t *data, uint32_t size);
int vj_qtest_write(uint32_t address, const uint8_t *data, uint32_t size);

/* memory.c */
const vj_region *vj_region_of(uint32_t address, uint32_t size);
int vj_memory_read(uint32_t address, void *data, uint32_t size);
/* Any write a debugger may make; code that the emulator has translated is translated again. */
int vj_memory_write(uint32_t address, const void *data, uint32_t size);
/* Data in RAM that is never executed: the fast path of RTT. */
int vj_memory_write_data(uint32_t address, const void *data, uint32_t size);
/* Flash, as the chip's controller writes it. The core is halted for it. */
int vj_memory_write_flash(uint32_t address, const void *data, uint32_t size);
const char *vj_memory_path(void);

/* sectors.c: what a download has to erase. */
void vj_sectors_begin(void);
/* Erase the sectors of a span that this download has not erased yet; nothing elsewhere than in flash. */
int vj_sectors_erase(uint32_t address, uint32_t size);
int vj_sectors_erase_all(const vj_region *region);
/* Program bytes of flash: fails where that would have to set a bit. */
int vj_sectors_program(uint32_t address, const uint8_t *data, uint32_t size);

/* rtt.c */
void vj_rtt_forget(void);

/* swo.c */
void vj_swo_forget(void);

#endif
