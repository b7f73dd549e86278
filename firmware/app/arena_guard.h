/* Bytes around the arena of an external engine that it must leave alone. Generated engines know what they
 * write and have none: they do not define ENGINE_ARENA_GUARDED in engine_config.h. */
#ifndef ARENA_GUARD_H
#define ARENA_GUARD_H

#include <stdint.h>

#include "engine_config.h"

#define ARENA_GUARD_BYTES 32u
#define ARENA_GUARD_VALUE 0xA5u

#ifdef ENGINE_ARENA_GUARDED
/* Defined by the generated engine_resources.c. */
extern uint8_t *const engine_arena_guards[2];
#endif

/* Before engine_init(). */
void arena_guard_set(void);

/* 0: whole. 1: a byte before the arena was written. 2: one behind it. */
uint32_t arena_guard_damage(void);

#endif
