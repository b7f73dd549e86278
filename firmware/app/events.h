/* Whether the events that an engine reports around its operators follow its table: every operator begins and
 * ends once, in order. Nothing here runs between the two counter reads of an operator. */
#ifndef EVENTS_H
#define EVENTS_H

#include <stdbool.h>
#include <stdint.h>

/* Before an observed inference. */
void events_open(void);

/* Before and after an operator. `events_end` returns whether all events so far were in order. */
void events_begin(uint32_t op);
bool events_end(uint32_t op);

/* The operator that is due, always one of the table. */
uint32_t events_due(void);

/* After an observed inference: sends an ERROR when the events did not follow the table. */
bool events_failed(void);

#endif
