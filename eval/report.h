/* SPDX-License-Identifier: Apache-2.0 */
/* All results on one page: one HTML file that needs nothing from elsewhere, with tables, plots as inline SVG, the
 * paper's numbers beside ours, and the machine. What goes in is what `keybits eval ... --json` and `keybits train
 * ablation --json` printed, or a record of it: {"command", "commit", "date", "machine", "result"} (results/). */
#ifndef EVAL_REPORT_H
#define EVAL_REPORT_H

#include "io/json.h"

#define EV_REPORT_MOST 500 /* results; every one is compared with all others */

typedef struct ev_report_item {
    const io_json_value *value;  /* of one benchmark and one descriptor, or of speed, energy, ablation */
    const io_json_value *record; /* of the run; NULL: the result came alone */
} ev_report_item;

typedef struct ev_report {
    ev_report_item *items;
    size_t count;
    size_t left_out; /* records of benchmarks that the page has no section for */
} ev_report;

/* Takes the results in a document: an object, an array of them, or a record. The document must live as long as the
 * report. False with a sentence when it holds nothing that is known and is no record. */
bool ev_report_add(ev_report *report, const char *name, const io_json_value *document, io_error *error);
void ev_report_free(ev_report *report);

void ev_report_write(const ev_report *report, const char *title, FILE *out);

#endif
