/* SPDX-License-Identifier: Apache-2.0 */
/* What the example asks of a board. */
#ifndef BOARD_H
#define BOARD_H

void board_print(const char *text);
/* Instructions since the start, as well as the board can tell; 0 where it cannot. */
unsigned long board_instructions(void);
/* The deepest that the stack has been, in bytes; 0 where it is not known. */
unsigned long board_stack_used(void);

#endif
