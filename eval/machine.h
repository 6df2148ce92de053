/* SPDX-License-Identifier: Apache-2.0 */
/* The machine that numbers come from: they mean little without it. */
#ifndef EVAL_MACHINE_H
#define EVAL_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ev_machine {
    char processor[128];
    int32_t cores;
    double memory_gib;
    char system[128];
    const char *features; /* instruction sets in use */
    const char *compiler;
    const char *library;  /* its version */
    const char *peers;    /* OpenCV's version, or "none" */
} ev_machine;

/* peers: ask for their version, which loads them. */
void ev_machine_find(ev_machine *machine, bool peers);

#endif
