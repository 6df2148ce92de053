/* Results that are kept, so that an interrupted run goes on where it stopped: one small text file of numbers for each,
 * named by a hash of everything that decides them. */
#ifndef EVAL_CACHE_H
#define EVAL_CACHE_H

#include "io/file.h"

/* folder NULL: nothing is kept. get: exactly n numbers are there. A file that is missing or odd is no result, no error. */
bool ev_cache_get(const char *folder, uint64_t key, double *numbers, size_t n);
bool ev_cache_put(const char *folder, uint64_t key, const double *numbers, size_t n, io_error *error);

#endif
