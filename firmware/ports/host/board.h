/* The app as a process of the build machine, talking over standard input and output. For tests; nothing is
 * measured. */
#ifndef HARNESS_BOARD_H
#define HARNESS_BOARD_H

/* Small, so that a few iterations already need several segments. */
#define BOARD_SAMPLE_WORDS 256u

/* Standard input and output. */
extern const struct hal_transport hal_pipe;

/* Report a made-up fault and stop. */
void hal_test_fault(void);

#endif
