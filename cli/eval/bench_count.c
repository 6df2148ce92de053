/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions where the system does not count them: the program runs itself once more in valgrind's callgrind, a row
 * at a time, on the first two images and without peers. Callgrind collects inside ev_bench_counted only, so reading
 * images and finding keypoints to describe do not count. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "io/process.h"

#define MOST_ARGUMENTS 32 /* with room to spare */

typedef struct arguments {
    char *items[MOST_ARGUMENTS];
    size_t count;
} arguments;

static void add(arguments *a, const char *text) { a->items[a->count++] = (char *)text; }

/* "Collected : 123" in what valgrind says; 0 when it is not there. */
static double collected(const char *log)
{
    io_bytes text;
    double number = 0;
    if (!io_file_read(log, &text, NULL)) return 0;
    const char *at = strstr((const char *)text.data, "Collected :");
    if (at) number = strtod(at + strlen("Collected :"), NULL);
    io_bytes_free(&text);
    return number;
}

bool bench_count(const bench_count_job *job, const char *row, bool of_pairs, double *instructions, io_error *error)
{
    if (!io_program_exists("valgrind"))
        return io_fail(error, "--instructions needs valgrind here (Debian: apt-get install valgrind)");
    const char *base = getenv("TMPDIR");
    char self[4096], number[32], *log = io_path_join(base ? base : "/tmp", "keybits-bench-XXXXXX");
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    int file = mkstemp(log);
    bool good = length > 0 && file >= 0;
    if (file >= 0) close(file);
    if (!good) io_fail(error, "cannot run callgrind: no path of this program, or no temporary file");
    self[length > 0 ? length : 0] = 0;
    snprintf(number, sizeof number, "%d", (int)job->max_keypoints);
    arguments a = {{NULL}, 0};
    const char *const fixed[] = {"valgrind",
                                 "--tool=callgrind",
                                 "--toggle-collect=ev_bench_counted",
                                 "--callgrind-out-file=/dev/null",
                                 self,
                                 "bench",
                                 job->images[0],
                                 job->images[1],
                                 "--rows",
                                 row,
                                 "-n",
                                 number,
                                 "--repeats",
                                 "1",
                                 "--seconds",
                                 "0",
                                 "--threads",
                                 "1",
                                 "--no-peers",
                                 "--quiet"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) add(&a, fixed[i]);
    if (job->models) add(&a, "--model"), add(&a, job->models);
    if (job->cpu) add(&a, "--cpu"), add(&a, job->cpu);
    if (good) good = io_program_run(a.items, log, NULL, error);
    if (good) {
        *instructions = collected(log) / (of_pairs ? 2 : 4); /* twice an item: to warm up, and timed */
        if (!(*instructions > 0)) good = io_fail(error, "callgrind counted nothing: this program has no symbols");
        unlink(log); /* else it tells why */
    }
    free(log);
    return good;
}
