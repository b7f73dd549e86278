/* Opening, connecting and closing the one session of this loaded copy. */
#define _GNU_SOURCE
#include "vjlink.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

vj_session vj = {
    .mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
    .lock_fd = -1,
    .gdb = {.fd = -1, .capacity = 16384},
    .qmp = {.fd = -1, .capacity = 65536},
    .qtest = {.fd = -1, .capacity = 131072},
    .speed_khz = 4000,
};

void vj_say(vj_log *sink, const char *format, ...) {
    if (sink == NULL) {
        return;
    }
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sink(text);
}

static void describe_self(char *out, size_t size) {
    char command[96] = "";
    FILE *file = fopen("/proc/self/cmdline", "re");
    if (file != NULL) {
        size_t count = fread(command, 1, sizeof command - 1, file);
        for (size_t i = 0; i < count; i++) {
            command[i] = command[i] == '\0' || command[i] == '\n' ? ' ' : command[i];
        }
        fclose(file);
    }
    snprintf(out, size, "process %d (%s)", (int)getpid(), command);
}

/* A kernel lock: it goes with the process that holds it, however that ends. */
static const char *take_lock(void) {
    static char message[256];
    char holder[160] = "";
    int fd = open(vj.board.lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return "The lock file of this J-Link cannot be opened.";
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        ssize_t count = pread(fd, holder, sizeof holder - 1, 0);
        close(fd);
        snprintf(message, sizeof message, "J-Link %u is already open in %s.", (unsigned)vj.board.serial,
                 count > 0 ? holder : "another process");
        return message;
    }
    describe_self(holder, sizeof holder);
    if (ftruncate(fd, 0) != 0 || pwrite(fd, holder, strlen(holder), 0) < 0) {
        vj_say(vj.warning, "The holder of J-Link %u could not be recorded.", (unsigned)vj.board.serial);
    }
    vj.lock_fd = fd;
    return NULL;
}

static pid_t peer_of(int fd) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

const char *vj_session_open(void) {
    if (vj.open) {
        return "This J-Link session is open already.";
    }
    if (!vj.selected) {
        return "No J-Link selected.";
    }
    const char *refused = take_lock();
    if (refused != NULL) {
        return refused;
    }
    vj.lost = false;
    vj.process_vm_denied = false;
    if (vj_stream_connect(&vj.qmp, vj.board.qmp) != 0 || vj_qmp_start() != 0) {
        vj_session_close();
        return "Cannot connect to J-Link: the emulator does not answer.";
    }
    vj.pid = peer_of(vj.qmp.fd);
    if (vj.board.qtest[0] != '\0' && vj.board.memory != MEMORY_GDB &&
        vj_stream_connect(&vj.qtest, vj.board.qtest) != 0) {
        vj_session_close();
        return "Cannot connect to J-Link: the emulator's memory port does not answer.";
    }
    vj.open = true;
    vj_say(vj.log, "Virtual J-Link %u open, memory by %s.", (unsigned)vj.board.serial, vj_memory_path());
    return NULL;
}

int vj_session_connect(void) {
    if (vj.connected) {
        return 0;
    }
    if (!vj.open) {
        return -1;
    }
    int running = vj_qmp_running();
    if (running < 0 || vj_stream_connect(&vj.gdb, vj.board.gdb) != 0) {
        return -259;
    }
    /* QEMU stops the machine for a new debugger; a core that ran is let go on. */
    if (vj_gdb_start(running == 1) != 0) {
        vj_stream_close(&vj.gdb);
        return -259;
    }
    vj.connected = true;
    return 0;
}

void vj_session_close(void) {
    /* Without a detach packet: that would resume a halted core, and a core without code locks up. */
    vj_stream_close(&vj.gdb);
    vj_stream_close(&vj.qmp);
    vj_stream_close(&vj.qtest);
    if (vj.lock_fd >= 0) {
        close(vj.lock_fd);
        vj.lock_fd = -1;
    }
    vj_rtt_forget();
    vj_swo_forget();
    vj_fault_forget();
    vj.open = vj.connected = vj.running = vj.selected = false;
    vj.pid = 0;
}

void vj_session_poll(void) {
    if (vj.open && !vj.lost && vj.qmp.used < vj.qmp.capacity) {
        vj_stream_fill(&vj.qmp, 0);
        /* Events nobody waits for. */
        char *newline;
        while ((newline = memchr(vj.qmp.data, '\n', vj.qmp.used)) != NULL) {
            vj_stream_consume(&vj.qmp, (size_t)(newline - vj.qmp.data) + 1);
        }
    }
    if (vj.connected && !vj.lost) {
        vj_gdb_poll();
    }
}
