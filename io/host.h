/* SPDX-License-Identifier: Apache-2.0 */
/* What io/ asks of the program that it belongs to, since it neither prints nor exits. Set once, before anything
 * else. */
#ifndef IO_HOST_H
#define IO_HOST_H

#include <stdbool.h>

typedef struct io_host {
    /* Memory is out; must not return. NULL: abort(). */
    void (*out_of_memory)(void);
    /* Shows a line in the place of the one before; NULL: takes it away. NULL here: progress is shown nowhere. */
    void (*show_progress)(const char *line);
} io_host;

void io_set_host(const io_host *host); /* copied */
const io_host *io_get_host(void);

#endif
