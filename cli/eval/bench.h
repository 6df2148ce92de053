/* SPDX-License-Identifier: Apache-2.0 */
/* keybits bench: options in, a table, JSON or a page out. What is measured is eval/bench.h. */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "cli/cli.h"
#include "eval/bench.h"
#include "eval/machine.h"

typedef struct bench_report {
    ev_machine machine;
    const ev_bench_set *set;
    const ev_bench_plan *plan;
    ev_bench_row *rows;
    size_t count;
    const ev_method *energy_methods; /* energy_count of them, each with its costs */
    ev_bench_energy *energy;
    size_t energy_count;
    const ev_bench_plot *plots; /* EV_BENCH_PLOTS; NULL: growth was not measured */
} bench_report;

/* ---- bench_print.c ---- */
/* The machine and the run in some lines of words: line `index` of BENCH_HEAD_LINES, written into `line`. */
#define BENCH_HEAD_LINES 2
#define BENCH_LINE 640
const char *bench_head(const bench_report *report, int index, char line[BENCH_LINE]);
void bench_print_head(const bench_report *report);
void bench_print_row(const ev_bench_row *row);
/* A line per curve: the ends of the curve, and the powers of its growth. */
void bench_print_growth(const ev_bench_plot plots[EV_BENCH_PLOTS]);
void bench_print_energy(const bench_report *report);
void bench_print_json(const bench_report *report);

/* ---- bench_count.c: instructions by callgrind ---- */
typedef struct bench_count_job {
    const char *images[2];
    const char *models; /* of --model, or NULL */
    const char *cpu;    /* of --cpu, or NULL */
    int32_t max_keypoints;
} bench_count_job;
/* Instructions of a row per image or pair. */
bool bench_count(const bench_count_job *job, const char *row, bool of_pairs, double *instructions, io_error *error);

/* ---- bench_page.c: the rows and the plots as one page ---- */
bool bench_page_write(const char *path, const bench_report *report, io_error *error);

#endif
