/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzing: a target is a file fuzz_<name>.c with the two functions below. Linked with mutate.c it is a test of some
 * seconds that does the same every time; linked with clang's libFuzzer it searches for as long as one likes:
 *
 *     make fuzz                                  all targets, 300 s each
 *     make fuzz NAMES="image index" SECONDS=1200
 *
 * What a search finds goes to tests/fuzz/found/<target>-<what>: every such file is replayed first. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* libFuzzer's name. Takes any bytes; what is wrong shows itself as a crash, a sanitizer's report, or fuzz_expect. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Bytes to start from, number 0, 1, ...; their count, or 0 past the last. Targets make their own. */
size_t fuzz_seed(int index, uint8_t *buffer, size_t capacity);

/* A file with these bytes, for readers that want a path; the same one every time. */
const char *fuzz_file(const uint8_t *data, size_t size);

/* Ends the program when a promise is broken. */
#define fuzz_expect(promise) ((promise) ? (void)0 : fuzz_broken(#promise, __FILE__, __LINE__))
void fuzz_broken(const char *promise, const char *file, int line);

#endif
