#include <stdint.h>

#include "arena_guard.h"

#ifdef ENGINE_ARENA_GUARDED

#include <string.h>

void arena_guard_set(void) {
    for (uint32_t side = 0; side < 2u; side++) {
        memset(engine_arena_guards[side], ARENA_GUARD_VALUE, ARENA_GUARD_BYTES);
    }
}

uint32_t arena_guard_damage(void) {
    for (uint32_t side = 0; side < 2u; side++) {
        for (uint32_t i = 0; i < ARENA_GUARD_BYTES; i++) {
            if (engine_arena_guards[side][i] != ARENA_GUARD_VALUE) {
                return side + 1u;
            }
        }
    }
    return 0u;
}

#else

void arena_guard_set(void) {}

uint32_t arena_guard_damage(void) {
    return 0u;
}

#endif
