/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a program on a Cortex-M7 without an operating system, an MPS2 board with AN500; newlib's semihosting prints.
 * scripts/same-bits.sh links it to hash_everything. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern uint32_t bss_start[], bss_end[], stack_top[];
void initialise_monitor_handles(void);
void _init(void);
void _fini(void);
void reset(void);
int main(int argc, char **argv);

/* Called by the C library at its start and end; there is nothing to set up. */
void _init(void) {}
void _fini(void) {}

static void fault(void) { _Exit(3); }

/* The address of the stack and the handlers of the first exceptions. */
__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    stack_top, reset, fault, fault, fault, fault, fault, 0, 0, 0, 0, fault, fault, 0, fault, fault};

__attribute__((noinline, used)) static void start(void)
{
    memset(bss_start, 0, (size_t)((char *)bss_end - (char *)bss_start));
    initialise_monitor_handles();
    exit(main(0, NULL));
}

/* Switches the floating-point unit on, before anything can use it. */
__attribute__((naked)) void reset(void)
{
    __asm__ volatile("ldr r0, =0xe000ed88\n ldr r1, [r0]\n orr r1, r1, #0xf00000\n str r1, [r0]\n dsb\n isb\n b start\n");
}
