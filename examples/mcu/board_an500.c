/* SPDX-License-Identifier: Apache-2.0 */
/* Cortex-M7 on an MPS2 board with AN500: vector table, start-up, semihosting, and SysTick as a counter. Under
 * `qemu-system-arm -icount shift=0` an instruction takes 1 ns of the board's time, and SysTick counts at 25 MHz: 40
 * instructions a tick. */
#include <stdint.h>
#include <string.h>

#include "board.h"

#define INSTRUCTIONS_A_TICK 40
#define CPACR (*(volatile uint32_t *)0xe000ed88u)
#define SYST_CSR (*(volatile uint32_t *)0xe000e010u)
#define SYST_RVR (*(volatile uint32_t *)0xe000e014u)
#define SYST_CVR (*(volatile uint32_t *)0xe000e018u)
#define SYST_TOP 0xffffffu
#define PAINT 0xa5a5a5a5u

extern uint32_t data_load[], data_start[], data_end[], bss_start[], bss_end[], stack_bottom[], stack_top[];
int main(void);
void reset(void);

static int semihost(int operation, const void *argument)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static void board_exit(int code)
{
    const uint32_t stop[2] = {0x20026, (uint32_t)code}; /* the application ended by itself */
    semihost(0x20, stop);
    for (;;) {}
}

static void fault(void)
{
    board_print("fault\n");
    board_exit(1);
}

/* The address of the stack and the handlers of the first exceptions. */
__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    stack_top, reset, fault, fault, fault, fault, fault, 0, 0, 0, 0, fault, fault, 0, fault, fault};

__attribute__((noinline)) static void start(void)
{
    memcpy(data_start, data_load, (size_t)((char *)data_end - (char *)data_start));
    memset(bss_start, 0, (size_t)((char *)bss_end - (char *)bss_start));
    SYST_RVR = SYST_TOP;
    SYST_CVR = 0;
    SYST_CSR = 5; /* on, by the clock of the processor, no interrupt */
    board_exit(main());
}

/* Paints the stack, so that its depth can be told, and switches the floating-point unit on. */
__attribute__((naked)) void reset(void)
{
    __asm__ volatile("ldr r0, =stack_bottom\n ldr r1, =stack_top\n ldr r2, =0xa5a5a5a5\n"
                     "1: str r2, [r0], #4\n cmp r0, r1\n blo 1b\n"
                     "ldr r0, =0xe000ed88\n ldr r1, [r0]\n orr r1, r1, #0xf00000\n str r1, [r0]\n dsb\n isb\n b %0\n" ::"i"(start));
}

void board_print(const char *text) { semihost(0x04, text); }

unsigned long board_instructions(void) { return (unsigned long)(SYST_TOP - SYST_CVR) * INSTRUCTIONS_A_TICK; }

unsigned long board_stack_used(void)
{
    const volatile uint32_t *p = stack_bottom;
    while (p < stack_top && *p == PAINT) p++;
    return (unsigned long)((const char *)stack_top - (const char *)p);
}
