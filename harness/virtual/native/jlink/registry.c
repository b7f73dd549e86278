/* The directory in which the launcher registers emulated boards: <runtime>/registry/<serial>.board. */
#define _GNU_SOURCE
#include "vjlink.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The same places, in the same order, as Python's tempfile looks for a temporary directory. */
static const char *temporary_directory(void) {
    static const char *const variables[] = {"TMPDIR", "TEMP", "TMP"};
    static const char *const places[] = {"/tmp", "/var/tmp", "/usr/tmp"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = getenv(variables[i]);
        if (value != NULL && *value != '\0' && access(value, W_OK | X_OK) == 0) {
            return value;
        }
    }
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (access(places[i], W_OK | X_OK) == 0) {
            return places[i];
        }
    }
    return ".";
}

static int registry_path(char *out, size_t size, const char *name) {
    const char *override = getenv("HARNESS_RUNTIME_DIR");
    int count;
    if (override != NULL && *override != '\0') {
        count = snprintf(out, size, "%s/registry/%s", override, name);
    } else {
        count = snprintf(out, size, "%s/hil-%u/registry/%s", temporary_directory(), (unsigned)getuid(), name);
    }
    return count > 0 && (size_t)count < size ? 0 : -1;
}

static bool copy(char *out, size_t size, const char *value) {
    if (strlen(value) >= size) {
        return false;
    }
    strcpy(out, value);
    return true;
}

/* `;size,count` for each group of sectors, lowest first; together they must fill the region. */
static bool parse_sectors(vj_region *region, const char *text) {
    uint64_t covered = 0;
    int count = 0;
    for (; (text = strchr(text, ';')) != NULL; text++) {
        if (region->sector_groups == VJ_MAX_SECTOR_GROUPS) {
            return false;
        }
        vj_sectors *group = &region->sectors[region->sector_groups++];
        if (sscanf(text, ";%x,%x", &group->size, &group->count) != 2) {
            return false;
        }
        covered += (uint64_t)group->size * group->count;
        count += (int)group->count;
    }
    return region->kind != REGION_FLASH || (covered == region->size && count <= VJ_MAX_SECTORS);
}

static bool parse_region(vj_board *board, const char *value) {
    char kind[8];
    unsigned base, size;
    unsigned long long hva;
    if (board->region_count == VJ_MAX_REGIONS ||
        sscanf(value, "%7[a-z],%x,%x,%llx", kind, &base, &size, &hva) != 4) {
        return false;
    }
    vj_region *region = &board->regions[board->region_count++];
    region->base = base;
    region->size = size;
    region->hva = hva;
    region->kind = strcmp(kind, "code") == 0    ? REGION_CODE
                   : strcmp(kind, "rom") == 0   ? REGION_ROM
                   : strcmp(kind, "flash") == 0 ? REGION_FLASH
                                                : REGION_RAM;
    return size > 0 && (uint64_t)base + size <= UINT64_C(0x100000000) && parse_sectors(region, value);
}

static bool parse_word(vj_board *board, const char *value) {
    if (board->word_count == VJ_MAX_WORDS) {
        return false;
    }
    vj_word *word = &board->words[board->word_count++];
    return sscanf(value, "%x,%x", &word->address, &word->value) == 2;
}

static bool parse_line(vj_board *board, const char *key, const char *value) {
    if (strcmp(key, "serial") == 0) {
        board->serial = (uint32_t)strtoul(value, NULL, 10);
    } else if (strcmp(key, "device") == 0) {
        return copy(board->device, sizeof board->device, value);
    } else if (strcmp(key, "core") == 0) {
        return copy(board->core, sizeof board->core, value);
    } else if (strcmp(key, "gdb") == 0) {
        return copy(board->gdb, sizeof board->gdb, value);
    } else if (strcmp(key, "qmp") == 0) {
        return copy(board->qmp, sizeof board->qmp, value);
    } else if (strcmp(key, "qtest") == 0) {
        return copy(board->qtest, sizeof board->qtest, value);
    } else if (strcmp(key, "alive") == 0) {
        return copy(board->alive, sizeof board->alive, value);
    } else if (strcmp(key, "lock") == 0) {
        return copy(board->lock, sizeof board->lock, value);
    } else if (strcmp(key, "swo") == 0) {
        return copy(board->swo, sizeof board->swo, value);
    } else if (strcmp(key, "memory") == 0) {
        board->memory = strcmp(value, "gdb") == 0     ? MEMORY_GDB
                        : strcmp(value, "qtest") == 0 ? MEMORY_QTEST
                                                      : MEMORY_AUTO;
    } else if (strcmp(key, "region") == 0) {
        return parse_region(board, value);
    } else if (strcmp(key, "word") == 0) {
        return parse_word(board, value);
    } else if (strcmp(key, "known") == 0 && board->known_count < VJ_MAX_KNOWN) {
        return copy(board->known[board->known_count++], sizeof board->known[0], value);
    } else if (strcmp(key, "fault") == 0) {
        return vj_fault_parse(board, value);
    }
    return true; /* keys of a later launcher are not ours to judge */
}

/* The launcher's guard holds a lock on this file as long as the emulator lives. */
static bool alive(const vj_board *board) {
    int fd = open(board->alive, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    bool held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    return held;
}

int vj_registry_load(uint32_t serial, vj_board *board) {
    char name[32], path[512], line[512];
    snprintf(name, sizeof name, "%u.board", (unsigned)serial);
    if (registry_path(path, sizeof path, name) != 0) {
        return -1;
    }
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return -1;
    }
    memset(board, 0, sizeof *board);
    bool good = true;
    while (good && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *value = strchr(line, '=');
        if (value != NULL) {
            *value++ = '\0';
            good = parse_line(board, line, value);
        }
    }
    fclose(file);
    return good && board->serial == serial && board->gdb[0] && board->qmp[0] && alive(board) ? 0 : -1;
}

static int ascending(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

int vj_registry_list(uint32_t *serials, int max) {
    char path[512];
    DIR *directory = registry_path(path, sizeof path, "") == 0 ? opendir(path) : NULL;
    if (directory == NULL) {
        return 0;
    }
    int count = 0;
    for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        char *end;
        unsigned long serial = strtoul(entry->d_name, &end, 10);
        vj_board board;
        if (end == entry->d_name || strcmp(end, ".board") != 0 ||
            vj_registry_load((uint32_t)serial, &board) != 0) {
            continue;
        }
        if (serials != NULL && count < max) {
            serials[count] = (uint32_t)serial;
        }
        count++;
    }
    closedir(directory);
    if (serials != NULL) {
        qsort(serials, (size_t)(count < max ? count : max), sizeof *serials, ascending);
    }
    return count;
}
