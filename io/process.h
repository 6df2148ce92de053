/* SPDX-License-Identifier: Apache-2.0 */
/* Other programs: is one there, and running it. */
#ifndef IO_PROCESS_H
#define IO_PROCESS_H

#include "io/file.h"

/* Is there a program of this name on the PATH, or, when the name has a slash, at that place? */
bool io_program_exists(const char *name);
/* Runs a program (arguments[0], the list ends with NULL) and waits for it; what it prints goes to the file `log`. Fails
 * when it cannot be started, is ended by a signal, or ends with another code than 0, 127 for one that is not there.
 * With `code` any code but 127 is a success and goes there. */
bool io_program_run(char *const *arguments, const char *log, int *code, io_error *error);

#endif
