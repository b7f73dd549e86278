/* The conversation with the host: one command at a time, in order, within a session. */
#ifndef HARNESS_CONVERSATION_H
#define HARNESS_CONVERSATION_H

/* Serve the host for ever. `init_code` is what engine_init returned; it is told in the answer to the hello.
 */
void conversation_run(int init_code);

#endif
