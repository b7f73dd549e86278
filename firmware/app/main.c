/* Boot: counters, engine, transport; then serve the host. */

#include "arena_guard.h"
#include "conversation.h"
#include "counters.h"
#include "engine.h"
#include "engine_config.h"
#include "hal.h"
#include "harness_build.h"
#include "records.h"

/* The linker script keeps it: the build record and the probe find the image's identity in the ELF. */
__attribute__((used, section(".rodata.harness_build_id"))) const char harness_build_id[] = HARNESS_BUILD_ID;

_Static_assert(ENGINE_INPUT_COUNT > 0, "a model without inputs cannot be run");

int main(void) {
    int code;

    arena_guard_set();
    code = engine_init();
    (void)counters_self_test();
    hal_wires_init();
    hal_transport_init(&HARNESS_TRANSPORT);
    records_boot();
    conversation_run(code);
    return 0;
}
