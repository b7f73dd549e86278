/*
 * What the app needs of a chip: one interface, small implementations chosen by macros of the port's board.h.
 *
 * board.h states
 *
 * - BOARD_CORTEX_M: the core is a Cortex-M (else the port brings its own implementation)
 * - BOARD_RESET_CAUSE: what the chip says of its last reset, as one word; absent where it says nothing
 * - BOARD_HAS_CACHES: L1 caches need maintenance before a window
 * - BOARD_GATE_SET_ADDRESS, BOARD_GATE_CLEAR_ADDRESS, BOARD_GATE_MASK: a pin that shows measured windows
 *
 * and includes board_map.h, which is written from the descriptor and states
 *
 * - BOARD_DWT_BASE: address of the DWT registers
 * - BOARD_PMU_BASE: address of the Armv8.1-M PMU registers; absent where the core has none
 * - BOARD_OBSERVER_BASE: address of the emulator's observer page; absent on silicon
 * - BOARD_ITM_BASE: address of the ITM registers, for the transport `swo`
 * - BOARD_ICOUNT_INSNS, BOARD_ICOUNT_TICKS: instructions in so many ticks of SysTick at an emulator's fixed
 *   instruction count; absent on silicon
 * - BOARD_SAMPLE_WORDS: 32-bit words of sample memory
 * - BOARD_RTT_UP_BYTES, BOARD_RTT_DOWN_BYTES: sizes of the buffers
 * - BOARD_UART_BASE, BOARD_CDC_BASE, BOARD_UART_CLOCK_HZ: CMSDK UARTs of the transports `serial` and `cdc`;
 *   absent where the port has none of that kind
 * - the descriptor's macros
 */
#ifndef HARNESS_HAL_H
#define HARNESS_HAL_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"

/*
 * Every access to counter registers stands in one linker section at a fixed address: an emulator refreshes
 * the registers exactly for the loads and stores found there.
 */
#if defined(BOARD_CORTEX_M)
#define HAL_COUNTER_ACCESS __attribute__((noinline, section(".pmu_access")))
#else
#define HAL_COUNTER_ACCESS
#endif

#define HAL_OBSERVER_MAX 16u
#define HAL_EVENT_SLOTS_MAX 4u

/* Transport: bytes to and from the host. What is not chosen is not linked. */
typedef struct hal_transport {
    void (*init)(void);
    void (*write)(const void *data, uint32_t bytes);  /* blocks until everything was taken */
    uint32_t (*read)(void *data, uint32_t max_bytes); /* never blocks */
    void (*drain)(void);                              /* blocks until nothing waits on this side */
} hal_transport_t;

extern const hal_transport_t hal_rtt;
extern const hal_transport_t hal_uart;
extern const hal_transport_t hal_cdc;
extern const hal_transport_t hal_itm;

void hal_transport_init(const hal_transport_t *transport);
void hal_transport_write(const void *data, uint32_t bytes);
uint32_t hal_transport_read(void *data, uint32_t max_bytes);
void hal_transport_drain(void);

/* Cycle counter, also the window clock: 32 bits, wraps. */
typedef enum hal_cycle_state { HAL_CYCLES_ABSENT = 0, HAL_CYCLES_PRESENT = 1 } hal_cycle_state_t;

hal_cycle_state_t hal_cycles_init(void);
void hal_cycles_enable(bool on);
uint32_t hal_cycles(void);
const char *hal_cycles_name(void);

/* A second clock of the core's rate, for the length of a self-test; 0 ticks where there is none. */
void hal_second_clock_start(void);
uint32_t hal_second_clock_stop(void); /* ticks since the start, fewer than 2^24 */

/* Five counters of 8 bits that the DWT of a core without PMU may have: cycles that instructions, exceptions,
 * sleep and loads or stores took beyond the first, and instructions that took none. Each counts at most one a
 * cycle. */
#define HAL_SMALL_COUNTERS 5u

bool hal_small_enable(bool on); /* false: this DWT has none */
void hal_small_read(uint8_t *values);

/* So many rounds of two instructions, and nothing else: a length that is known without an engine. */
void hal_busy_loop(uint32_t rounds);

/* Event counters: logical 32-bit slots. */
uint32_t hal_event_slots(void);
bool hal_event_select(uint32_t slot, uint16_t event);       /* false: this core does not count that event */
void hal_events_start(uint32_t slots);                      /* zero, clear overflow, start */
uint32_t hal_events_stop(uint32_t slots, uint32_t *values); /* stop, read; bit n: slot n wrapped */
void hal_events_read(uint32_t slots, uint32_t *values);

/* What only an emulator knows. */
uint32_t hal_observer_count(void);
const char *hal_observer_name(uint32_t index);
void hal_observer_read(uint64_t *values);
bool hal_observer_only_icount(void); /* the emulator keeps no counters; only its instructions are known */

/* Instructions since the start, from an emulator's fixed instruction count. */
void hal_icount_start(void);
uint64_t hal_icount(void);

/* Caches into a defined state: cleaned and invalidated on silicon, emptied by a hint in the emulator's model.
 */
void hal_cache_defined_state(void);

/* The wires to a power monitor; gate.c says how a port names them. The gate is high exactly during a measured
 * window; the state line is high while the firmware waits for the host's go, and when all is done. */
#define HAL_WIRE_GATE 0x1u
#define HAL_WIRE_STATE 0x2u
#define HAL_WIRE_GO 0x4u

void hal_wires_init(void);
uint32_t hal_wires(void); /* which of them this board has */
void hal_gate(bool high);
void hal_state(bool high);
bool hal_go(void);

/* Registers at a fault; the order is that of the wire. */
typedef struct hal_fault {
    uint32_t r[13];
    uint32_t sp, lr, pc, xpsr;
    uint32_t exc_return, exception;
    uint32_t cfsr, hfsr, mmfar, bfar;
} hal_fault_t;

#define HAL_FAULT_STACK_WORDS 64u

/* Called by the fault handler on a stack of its own; never returns to the fault. The app implements it. */
void app_fault(const hal_fault_t *fault, const uint32_t *stack, uint32_t stack_words);

#endif
