/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "eval/bench.h"

#ifdef __linux__
#    include <linux/perf_event.h>
#    include <sys/syscall.h>

static int open_counter(void)
{
    struct perf_event_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.size = sizeof attributes;
    attributes.config = PERF_COUNT_HW_INSTRUCTIONS;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
}
#else
static int open_counter(void) { return -1; }
#endif

void ev_bench_clock_open(ev_bench_clock *clock, int32_t threads)
{
    clock->wall = threads > 1;
    clock->counter = clock->wall ? -1 : open_counter(); /* it counts this thread only */
}

void ev_bench_clock_close(ev_bench_clock *clock)
{
    if (clock->counter >= 0) close(clock->counter);
}

ev_bench_reading ev_bench_clock_read(const ev_bench_clock *clock)
{
    ev_bench_reading reading = {0, NAN};
    long long instructions;
    if (clock->counter >= 0 && read(clock->counter, &instructions, sizeof instructions) == sizeof instructions)
        reading.instructions = (double)instructions;
    if (clock->wall) {
        reading.ms = 1000 * io_clock_seconds();
    } else {
        struct timespec t;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        reading.ms = 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
    }
    return reading;
}
