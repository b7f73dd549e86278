/* Serial Wire Output: the trace packets that the emulated board's ITM left in a ring, see counters/itm.h. */
#define _GNU_SOURCE
#include "vjlink.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define RING_BYTES (16u << 20)
#define SPEED_MIN 1000u
#define SPEED_MAX 50000000u
#define BAD_SPEED (-1)

enum {
    SWO_START,
    SWO_STOP,
    SWO_FLUSH,
    SWO_GET_SPEED,
    SWO_GET_COUNT = 10,
    SWO_SET_HOST_BUFFER = 20,
    SWO_SET_EMU_BUFFER
};

typedef struct ring {
    uint64_t written, taken;
    uint8_t reserved[4080];
    uint8_t data[RING_BYTES];
} ring;

typedef struct start_info {
    uint32_t size;
    uint32_t interface;
    uint32_t speed;
} start_info;

static ring *trace;
static bool capturing;

static bool map_ring(void) {
    struct stat state;
    int fd = trace == NULL && vj.board.swo[0] != '\0' ? open(vj.board.swo, O_RDWR | O_CLOEXEC) : -1;
    if (fd >= 0) {
        if (fstat(fd, &state) == 0 && (size_t)state.st_size == sizeof(ring)) {
            void *mapped = mmap(NULL, sizeof(ring), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
            trace = mapped != MAP_FAILED ? mapped : NULL;
        }
        close(fd);
    }
    return trace != NULL;
}

void vj_swo_forget(void) {
    if (trace != NULL) {
        munmap(trace, sizeof(ring));
    }
    trace = NULL;
    capturing = false;
}

static uint32_t available(void) {
    return capturing ? (uint32_t)(__atomic_load_n(&trace->written, __ATOMIC_ACQUIRE) - trace->taken) : 0u;
}

static void take(uint32_t bytes) {
    uint32_t most = available();
    __atomic_store_n(&trace->taken, trace->taken + (bytes < most ? bytes : most), __ATOMIC_RELEASE);
}

/* What was traced before nobody captured. */
static int start(uint32_t speed) {
    if (speed < SPEED_MIN || speed > SPEED_MAX) {
        return BAD_SPEED;
    }
    if (!map_ring()) {
        return VJ_NOT_SUPPORTED;
    }
    capturing = true;
    take(available());
    return 0;
}

VJ_API int JLINKARM_SWO_Control(uint32_t command, void *argument) {
    VJ_LOCK();
    int result = 0;
    switch (command) {
    case SWO_START:
        result = start(((const start_info *)argument)->speed);
        break;
    case SWO_STOP:
        capturing = false;
        break;
    case SWO_FLUSH:
        if (capturing) {
            take(*(const uint32_t *)argument);
        }
        break;
    case SWO_GET_COUNT:
        result = (int)available();
        break;
    case SWO_SET_HOST_BUFFER:
    case SWO_SET_EMU_BUFFER:
        break;
    default:
        result = VJ_NOT_SUPPORTED;
    }
    VJ_UNLOCK();
    return vj.lost ? -1 : result;
}

VJ_API int JLINKARM_SWO_EnableTarget(uint32_t cpu_speed, uint32_t swo_speed, int interface, uint32_t ports) {
    (void)cpu_speed;
    (void)interface;
    (void)ports; /* the firmware enables its port itself */
    VJ_LOCK();
    int result = vj.open ? start(swo_speed) : -1;
    VJ_UNLOCK();
    return result;
}

VJ_API int JLINKARM_SWO_DisableTarget(uint32_t ports) {
    (void)ports;
    VJ_LOCK();
    capturing = false;
    VJ_UNLOCK();
    return 0;
}

VJ_API void JLINKARM_SWO_Read(uint8_t *data, uint32_t offset, uint32_t *size) {
    VJ_LOCK();
    uint32_t have = available();
    uint32_t count = offset < have ? have - offset : 0u;
    count = count < *size ? count : *size;
    for (uint32_t done = 0; done < count;) {
        uint64_t place = (trace->taken + offset + done) % RING_BYTES;
        uint32_t part = (uint32_t)(RING_BYTES - place);
        part = part < count - done ? part : count - done;
        memcpy(data + done, trace->data + place, part);
        done += part;
    }
    *size = count;
    VJ_UNLOCK();
}
