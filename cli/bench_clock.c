#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "io/progress.h"

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

void bench_clock_open(bench_clock *clock, int32_t threads)
{
    clock->wall = threads > 1;
    clock->counter = clock->wall ? -1 : open_counter(); /* it counts this thread only */
}

void bench_clock_close(bench_clock *clock)
{
    if (clock->counter >= 0) close(clock->counter);
}

bench_reading bench_clock_read(const bench_clock *clock)
{
    bench_reading reading = {0, NAN};
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

static int compare(const void *a, const void *b)
{
    double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

/* The number at `share` of the sorted list, between neighbours. */
static double quantile(const double *sorted, size_t n, double share)
{
    double place = share * (double)(n - 1);
    size_t i = (size_t)place;
    return i + 1 < n ? sorted[i] + (place - (double)i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

double bench_median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, compare);
    return quantile(values, n, 0.5);
}

double bench_spread(double *values, size_t n)
{
    qsort(values, n, sizeof *values, compare);
    return 0.5 * (quantile(values, n, 0.75) - quantile(values, n, 0.25));
}
