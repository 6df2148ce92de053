/* What speed, energy and report share: the machine in JSON, and the list of everything that can be compared. */
#ifndef CLI_EVAL_MACHINE_H
#define CLI_EVAL_MACHINE_H

#include "eval_common.h"

/* "machine": {...} */
void eval_machine_json(io_json *json);
/* All built-in models that are there and all peers, for --model; malloc'ed. */
char *eval_all_methods(void);

#endif
