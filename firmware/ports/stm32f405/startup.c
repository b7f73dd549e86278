#include "board.h"
#include "harness_build.h"
#include "wait.h"

#define RCC_CR (*(volatile uint32_t *)0x40023800u)
#define RCC_CR_PLLON (1u << 24)
#define RCC_CR_PLLRDY (1u << 25)
#define RCC_PLLCFGR (*(volatile uint32_t *)0x40023804u)
#define RCC_CFGR (*(volatile uint32_t *)0x40023808u)
#define RCC_CFGR_SW_PLL 2u
#define RCC_CFGR_SWS_MASK (3u << 2)
#define RCC_CFGR_SWS_PLL (2u << 2)
#define RCC_CFGR_PPRE1_DIV4 (5u << 10)
#define RCC_CFGR_PPRE2_DIV2 (4u << 13)
#define RCC_AHB1ENR (*(volatile uint32_t *)0x40023830u)
#define RCC_AHB1ENR_GPIOA (1u << 0)
#define RCC_APB2ENR (*(volatile uint32_t *)0x40023844u)
#define RCC_APB2ENR_USART1 (1u << 4)
#define GPIOA_MODER (*(volatile uint32_t *)0x40020000u)
#define GPIOA_AFRH (*(volatile uint32_t *)0x40020024u)
#define FLASH_ACR (*(volatile uint32_t *)0x40023C00u)
#define FLASH_ACR_LATENCY_5 5u
#define FLASH_ACR_PREFETCH (1u << 8)
#define FLASH_ACR_CACHES (3u << 9)

#define PLL_HZ 168000000u
/* From the 16 MHz internal oscillator: a reference of 1 MHz, times 336, halved; USB gets a seventh. */
#define PLL_CONFIGURATION (16u | 336u << 6 | 0u << 16 | 7u << 24)

/* The fast peripheral bus runs at half of the PLL's rate, see RCC_CFGR below. */
uint32_t board_usart_clock_hz(void) {
    return HARNESS_CPU_CLOCK_HZ == PLL_HZ ? PLL_HZ / 2u : HARNESS_CPU_CLOCK_HZ;
}

/* USART1 on PA9 and PA10: alternate function 7 of both. */
static void usart_pins(void) {
    RCC_AHB1ENR |= RCC_AHB1ENR_GPIOA;
    RCC_APB2ENR |= RCC_APB2ENR_USART1;
    GPIOA_AFRH = (GPIOA_AFRH & ~0x00000FF0u) | 0x00000770u;
    GPIOA_MODER = (GPIOA_MODER & ~0x003C0000u) | 0x00280000u;
}

/* After reset the internal oscillator clocks the core at 16 MHz; the PLL is started only for its own rate. */
static void chip_init(void) {
    usart_pins();
    FLASH_ACR = FLASH_ACR_LATENCY_5 | FLASH_ACR_PREFETCH | FLASH_ACR_CACHES;
    if (HARNESS_CPU_CLOCK_HZ != PLL_HZ) {
        return;
    }
    RCC_PLLCFGR = PLL_CONFIGURATION;
    RCC_CR |= RCC_CR_PLLON;
    if (!wait_until(&RCC_CR, RCC_CR_PLLRDY, RCC_CR_PLLRDY)) {
        return;
    }
    RCC_CFGR = RCC_CFGR_PPRE1_DIV4 | RCC_CFGR_PPRE2_DIV2 | RCC_CFGR_SW_PLL;
    (void)wait_until(&RCC_CFGR, RCC_CFGR_SWS_MASK, RCC_CFGR_SWS_PLL);
}

#define STARTUP_CHIP_INIT chip_init
#include "startup_cortex_m.h"
