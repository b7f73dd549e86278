#include "wait.h"

#define CLOCK_TASKS_HFCLKSTART (*(volatile uint32_t *)0x40000000u)
#define CLOCK_EVENTS_HFCLKSTARTED (*(volatile uint32_t *)0x40000100u)
#define APPROTECT_DISABLE (*(volatile uint32_t *)0x40000558u)
#define UICR_APPROTECT (*(volatile uint32_t *)0x10001208u)
#define NVMC_ICACHECNF (*(volatile uint32_t *)0x4001E540u)
#define NVMC_ICACHECNF_ON 1u

/* The core runs at 64 MHz from reset on; the crystal makes that rate exact. */
static void chip_init(void) {
    /* Where the part's protection is off, later revisions want software to agree, or the probe is locked out.
     */
    APPROTECT_DISABLE = UICR_APPROTECT;
    CLOCK_EVENTS_HFCLKSTARTED = 0u;
    CLOCK_TASKS_HFCLKSTART = 1u;
    (void)wait_until(&CLOCK_EVENTS_HFCLKSTARTED, 1u, 1u);
    NVMC_ICACHECNF = NVMC_ICACHECNF_ON;
}

#define STARTUP_CHIP_INIT chip_init
#include "startup_cortex_m.h"
