/* QEMU's machine protocol: run state and reset. */
#define _GNU_SOURCE
#include "vjlink.h"

#include <string.h>

/* One line, without its end, in `out`; 0 when it came in time. */
static int read_line(char *out, size_t size, int64_t end) {
    for (;;) {
        char *newline = memchr(vj.qmp.data, '\n', vj.qmp.used);
        if (newline != NULL) {
            size_t length = (size_t)(newline - vj.qmp.data);
            size_t kept = length < size ? length : size - 1;
            memcpy(out, vj.qmp.data, kept);
            out[kept] = '\0';
            vj_stream_consume(&vj.qmp, length + 1);
            return 0;
        }
        int64_t left = end - vj_now_ms();
        if (left <= 0) {
            vj.lost = true;
        }
        if (left <= 0 || vj_stream_fill(&vj.qmp, (int)left) < 0) {
            return -1;
        }
    }
}

/* Send a command; wait for its answer and, when `event` is given, for that event too. */
static int command(const char *text, char *answer, size_t size, const char *event) {
    char line[8192];
    int64_t end = vj_now_ms() + VJ_TIMEOUT_MS;
    bool answered = false, happened = event == NULL;
    if (vj_stream_send(&vj.qmp, text, strlen(text)) != 0 || vj_stream_send(&vj.qmp, "\n", 1) != 0) {
        return -1;
    }
    while (!answered || !happened) {
        if (read_line(line, sizeof line, end) != 0) {
            return -1;
        }
        if (strstr(line, "\"event\"") != NULL) {
            happened = happened || strstr(line, event) != NULL;
        } else {
            answered = true;
            if (strstr(line, "\"error\"") != NULL) {
                return -1;
            }
            if (answer != NULL) {
                size_t length = strnlen(line, size - 1);
                memcpy(answer, line, length);
                answer[length] = '\0';
            }
        }
    }
    return 0;
}

int vj_qmp_start(void) {
    char greeting[1024];
    if (read_line(greeting, sizeof greeting, vj_now_ms() + VJ_TIMEOUT_MS) != 0) {
        return -1;
    }
    return command("{\"execute\":\"qmp_capabilities\"}", NULL, 0, NULL);
}

int vj_qmp_running(void) {
    char answer[512];
    if (command("{\"execute\":\"query-status\"}", answer, sizeof answer, NULL) != 0) {
        return -1;
    }
    return strstr(answer, "\"running\": true") != NULL;
}

int vj_qmp_reset(void) {
    return command("{\"execute\":\"system_reset\"}", NULL, 0, "\"RESET\"");
}
