/* SPDX-License-Identifier: Apache-2.0 */
/* What the table of steps and the measuring share. */
#ifndef EVAL_BENCH_STEPS_H
#define EVAL_BENCH_STEPS_H

#include "eval/bench.h"

/* A step on image or pair `item`; method is NULL where the step has none. */
typedef bool ev_bench_side(ev_bench_set *set, size_t item, int variant, const ev_method *method, io_error *error);

struct ev_bench_step {
    const char *name;
    bool of_pairs; /* of images; else of images */
    /* Which descriptors: none; a row for each; the first of ours; the first binary one; the first with `variant` bits. */
    enum {
        EV_BENCH_NO_METHOD,
        EV_BENCH_EACH_METHOD,
        EV_BENCH_FIRST_METHOD,
        EV_BENCH_FIRST_BINARY,
        EV_BENCH_METHOD_OF_BITS
    } methods;
    int variant;
    ev_bench_side *prepare; /* not timed; may be NULL */
    ev_bench_side *ours, *theirs;
    const char *peer; /* what `theirs` is */
};

#endif
