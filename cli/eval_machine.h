/* What speed, energy and report share: the machine in JSON, the list of everything that can be compared, and how images
 * and descriptors to be measured are opened. */
#ifndef CLI_EVAL_MACHINE_H
#define CLI_EVAL_MACHINE_H

#include "eval/speed.h"
#include "eval_common.h"

/* "machine": {...} */
void eval_machine_json(io_json *json);
/* All built-in models that are there and all peers, for --model; malloc'ed. */
char *eval_all_methods(void);
/* Opens the images and descriptors (all, unless some were named), fills in `speed` and lets `measure` work with
 * them. */
typedef int eval_measurer(void *job, const cli_common *common, const io_names *images, const eval_methods *methods,
                          const ev_speed_options *speed);
int eval_measure(eval_options *own, cli_common *common, int count, char **arguments, ev_speed_options *speed, void *job,
                 eval_measurer *measure);

#endif
