/* SPDX-License-Identifier: Apache-2.0 */
/* Results that are kept, so that an interrupted run goes on where it stopped: one small text file of numbers for each,
 * named by a hash of everything that decides them. */
#ifndef EVAL_CACHE_H
#define EVAL_CACHE_H

#include "io/rows.h"

/* folder NULL: nothing is kept. get: exactly n numbers are there. A file that is missing or odd is just no result. */
bool ev_cache_get(const char *folder, uint64_t key, double *numbers, size_t n);
bool ev_cache_put(const char *folder, uint64_t key, const double *numbers, size_t n, io_error *error);

/* The same for descriptor rows, as .npy files. */
bool ev_cache_get_rows(const char *folder, uint64_t key, size_t count, io_rows *rows);
bool ev_cache_put_rows(const char *folder, uint64_t key, const io_rows *rows, io_error *error);

#endif
