#include "caches.h"
#include "wait.h"

#define SCB_VTOR (*(volatile uint32_t *)0xE000ED08u)
#define PWRCTRL_SSRAMPWREN (*(volatile uint32_t *)0x40021024u)
#define PWRCTRL_SSRAMPWRST (*(volatile uint32_t *)0x40021028u)
/* Three groups of 1 MiB. */
#define SSRAM_ALL 7u

/* The boot loader starts this image in the low-power performance mode, 96 MHz, which is left as it is. */
static void chip_init(void);

#define STARTUP_CHIP_INIT chip_init
#include "startup_cortex_m.h"

static void chip_init(void) {
    SCB_VTOR = (uint32_t)vectors;
    PWRCTRL_SSRAMPWREN |= SSRAM_ALL;
    (void)wait_until(&PWRCTRL_SSRAMPWRST, SSRAM_ALL, SSRAM_ALL);
    caches_enable();
}
