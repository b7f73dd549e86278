/* A QEMU plugin that only says which plugin interface versions its host takes, and then asks not to be
 * loaded. */
#include <stdint.h>
#include <stdio.h>

/* The beginning of what QEMU hands to a plugin, unchanged since interface version 0. */
typedef struct plugin_host {
    const char *target_name;
    struct {
        int min;
        int cur;
    } version;
} plugin_host;

/* An emulator that has left this version behind says which is its oldest, without calling what is below. */
#ifndef DECLARED_VERSION
#define DECLARED_VERSION 1
#endif

__attribute__((visibility("default"))) int qemu_plugin_version = DECLARED_VERSION;

__attribute__((visibility("default"))) int qemu_plugin_install(uint64_t id, const plugin_host *host, int argc,
                                                               char **argv);

int qemu_plugin_install(uint64_t id, const plugin_host *host, int argc, char **argv) {
    (void)id;
    (void)argc;
    (void)argv;
    fprintf(stderr, "plugin interface versions %d to %d\n", host->version.min, host->version.cur);
    return 1;
}
