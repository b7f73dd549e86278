/* Master copy of the model's inputs: an inference may overwrite the engine's own. */
#ifndef HARNESS_INPUTS_H
#define HARNESS_INPUTS_H

#include <stdbool.h>
#include <stdint.h>

bool inputs_set(uint32_t index, uint32_t offset, const uint8_t *data, uint32_t bytes);
uint8_t *inputs_master(uint32_t index);
void inputs_restore(void);

#endif
