/* Unix sockets with time limits. */
#define _GNU_SOURCE
#include "vjlink.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int64_t vj_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int connect_until(int fd, const struct sockaddr_un *address, int64_t end) {
    /* A Unix socket whose backlog is full blocks connect() for ever; without blocking it says EAGAIN. */
    while (connect(fd, (const struct sockaddr *)address, sizeof *address) != 0) {
        if (errno != EAGAIN && errno != EINTR) {
            return -1;
        }
        if (vj_now_ms() >= end) {
            return -1;
        }
        poll(NULL, 0, 2);
    }
    return 0;
}

int vj_stream_connect(vj_stream *stream, const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        return -1;
    }
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -1;
    }
    char *data = malloc(stream->capacity);
    if (data == NULL || connect_until(fd, &address, vj_now_ms() + VJ_TIMEOUT_MS) != 0) {
        free(data);
        close(fd);
        return -1;
    }
    stream->fd = fd;
    stream->used = 0;
    stream->data = data;
    return 0;
}

void vj_stream_close(vj_stream *stream) {
    if (stream->fd >= 0) {
        close(stream->fd);
    }
    free(stream->data);
    stream->fd = -1;
    stream->used = 0;
    stream->data = NULL;
}

int vj_stream_fill(vj_stream *stream, int timeout_ms) {
    if (stream->fd < 0 || stream->used == stream->capacity) {
        return -1;
    }
    struct pollfd waiting = {.fd = stream->fd, .events = POLLIN};
    int ready = poll(&waiting, 1, timeout_ms);
    if (ready < 0 && errno == EINTR) {
        return 0;
    }
    if (ready <= 0) {
        return 0;
    }
    ssize_t count = read(stream->fd, stream->data + stream->used, stream->capacity - stream->used);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    if (count <= 0) {
        vj.lost = true;
        return -1;
    }
    stream->used += (size_t)count;
    return 1;
}

int vj_stream_send(vj_stream *stream, const void *data, size_t size) {
    const char *next = data;
    int64_t end = vj_now_ms() + VJ_TIMEOUT_MS;
    while (size > 0) {
        ssize_t count = send(stream->fd, next, size, MSG_NOSIGNAL);
        if (count > 0) {
            next += count;
            size -= (size_t)count;
            continue;
        }
        if (count < 0 && (errno == EAGAIN || errno == EINTR) && vj_now_ms() < end) {
            struct pollfd waiting = {.fd = stream->fd, .events = POLLOUT};
            poll(&waiting, 1, 100);
            continue;
        }
        vj.lost = true;
        return -1;
    }
    return 0;
}

void vj_stream_consume(vj_stream *stream, size_t size) {
    memmove(stream->data, stream->data + size, stream->used - size);
    stream->used -= size;
}
