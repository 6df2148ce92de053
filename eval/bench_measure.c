/* SPDX-License-Identifier: Apache-2.0 */
/* Timing of the steps, and how many images and repeats a limit of time leaves room for. */
#include <math.h>
#include <stdlib.h>

#include "eval/bench_steps.h"
#include "learn/metrics.h"

/* All that is measured happens in here; callgrind finds it by its name (cli/eval/bench_count.c). */
bool ev_bench_counted(ev_bench_set *set, ev_bench_side *side, size_t item, const ev_bench_task *task, io_error *error);
__attribute__((noinline)) bool ev_bench_counted(ev_bench_set *set, ev_bench_side *side, size_t item,
                                                const ev_bench_task *task, io_error *error)
{
    return side(set, item, task->step->variant, task->method, error);
}

static bool task_prepare(ev_bench_set *set, const ev_bench_task *task, size_t item, io_error *error)
{
    const ev_bench_step *step = task->step;
    return !step->prepare || step->prepare(set, item, step->variant, task->method, error);
}

/* With threads, a call before the one that is timed: threads sleep while the other side has its turn, but not in a
 * program that goes from one step to the next. */
static bool time_once(ev_bench_set *set, const ev_bench_task *task, ev_bench_side *side, size_t item,
                      const ev_bench_clock *clock, ev_bench_reading *out, io_error *error)
{
    if (clock->wall && !ev_bench_counted(set, side, item, task, error)) return false;
    ev_bench_reading before = ev_bench_clock_read(clock);
    if (!ev_bench_counted(set, side, item, task, error)) return false;
    ev_bench_reading after = ev_bench_clock_read(clock);
    *out = (ev_bench_reading){after.ms - before.ms, after.instructions - before.instructions};
    return true;
}

size_t ev_bench_items(const ev_bench_set *set, const ev_bench_task *task)
{
    return task->step->of_pairs ? set->count / 2 : set->count;
}

/* ----------------------------------------------------------------------------------------------------------- plan */

enum { FEWEST_REPEATS = 3, FEWEST_PAIRS = 6 }; /* as long as time allows */

/* Seconds of wall-clock time that both sides take on the first item, after a call to warm up. */
static bool probe(ev_bench_set *set, const ev_bench_task *task, const ev_bench_plan *plan, double *seconds,
                  io_error *error)
{
    ev_bench_side *const sides[2] = {task->step->ours, plan->peers ? task->step->theirs : NULL};
    *seconds = 0;
    if (!task_prepare(set, task, 0, error)) return false;
    for (int s = 0; s < 2; s++) {
        if (!sides[s]) continue;
        if (!ev_bench_counted(set, sides[s], 0, task, error)) return false;
        double start = io_clock_seconds();
        if (!ev_bench_counted(set, sides[s], 0, task, error)) return false;
        *seconds += io_clock_seconds() - start;
    }
    if (plan->threads > 1) *seconds *= 3; /* each call twice, and one thread beside */
    return true;
}

bool ev_bench_plan_fit(ev_bench_set *set, const ev_bench_tasks *tasks, ev_bench_plan *plan, io_error *error)
{
    size_t pairs = set->names->count / 2;
    double start = io_clock_seconds(), pair_seconds = 0;
    if (!(plan->seconds > 0)) return ev_bench_take_pairs(set, pairs, error);
    io_progress progress;
    bool good = true;
    io_progress_start(&progress, "choosing images", tasks->count, plan->quiet);
    for (size_t t = 0; t < tasks->count && good; t++) {
        double seconds = 0;
        good = probe(set, &tasks->items[t], plan, &seconds, error);
        pair_seconds += ev_bench_of_pairs(&tasks->items[t]) ? seconds : 2 * seconds;
        io_progress_update(&progress, t + 1);
    }
    io_progress_end(&progress);
    if (!good) return false;
    double left = fmax(0, plan->seconds - (io_clock_seconds() - start));
    double passes = left / fmax(pair_seconds, 1e-9); /* over one pair, by all tasks */
    /* Images differ more than repeats do. */
    while (plan->repeats > FEWEST_REPEATS && passes < (double)(FEWEST_PAIRS * (plan->repeats + 1))) plan->repeats--;
    if (passes < (double)plan->repeats + 1) {
        plan->repeats = passes < 2 ? 1 : (int32_t)passes - 1;
        return true;
    }
    double room = passes / ((double)plan->repeats + 1);
    return ev_bench_take_pairs(set, room < (double)pairs ? (size_t)room : pairs, error);
}

/* ------------------------------------------------------------------------------------------------------ measuring */

/* Times of one side: of every item the median over the repeats, and their mean. */
typedef struct side_times {
    double *ms; /* items x repeats */
    double *passes;
    double instructions;
} side_times;

static void summarise(side_times *t, size_t items, size_t repeats, double *ms, double *spread)
{
    *ms = 0;
    for (size_t r = 0; r < repeats; r++) {
        t->passes[r] = 0;
        for (size_t i = 0; i < items; i++) t->passes[r] += t->ms[i * repeats + r] / (double)items;
    }
    for (size_t i = 0; i < items; i++) *ms += kbi_spread_of(t->ms + i * repeats, repeats).median / (double)items;
    kbi_spread passes = kbi_spread_of(t->passes, repeats);
    *spread = repeats > 1 ? 0.5 * (passes.high - passes.low) : NAN;
}

/* The least time of every item, added up: what is least disturbed by others on the machine. */
static double least_sum(const side_times *t, size_t items, size_t repeats)
{
    double sum = 0;
    for (size_t i = 0; i < items; i++) {
        double least = t->ms[i * repeats];
        for (size_t r = 1; r < repeats; r++) least = fmin(least, t->ms[i * repeats + r]);
        sum += least;
    }
    return sum;
}

enum { OURS, THEIRS, ONE_THREAD, SIDES };

/* Sides take turns on an item, so that a machine that slows down slows all of them. */
static bool measure_item(ev_bench_set *set, const ev_bench_task *task, ev_bench_side *const sides[SIDES], size_t item,
                         size_t items, size_t repeats, const ev_bench_clock *clock, side_times t[SIDES],
                         io_error *error)
{
    const kb_parallel *parallel = set->parallel;
    if (!task_prepare(set, task, item, error)) return false;
    for (size_t r = 0; r <= repeats; r++) { /* the first one warms up */
        for (int s = 0; s < SIDES; s++) {
            ev_bench_reading reading;
            if (!sides[s]) continue;
            set->parallel = s == ONE_THREAD ? NULL : parallel;
            bool good = time_once(set, task, sides[s], item, clock, &reading, error);
            set->parallel = parallel;
            if (!good) return false;
            if (r == 0) continue;
            t[s].ms[item * repeats + r - 1] = reading.ms;
            t[s].instructions += reading.instructions / (double)(items * repeats);
        }
    }
    return true;
}

bool ev_bench_measure(ev_bench_set *set, const ev_bench_task *task, const ev_bench_plan *plan, io_progress *progress,
                      size_t *done, ev_bench_row *row, io_error *error)
{
    const ev_bench_step *step = task->step;
    size_t items = ev_bench_items(set, task), n = (size_t)plan->repeats;
    ev_bench_side *const sides[SIDES] = {step->ours, plan->peers ? step->theirs : NULL,
                                         plan->threads > 1 ? step->ours : NULL};
    side_times t[SIDES];
    ev_bench_clock clock;
    bool good = true;
    for (int s = 0; s < SIDES; s++)
        t[s] = (side_times){io_alloc(items * n + 1, sizeof(double)), io_alloc(n, sizeof(double)), 0};
    ev_bench_clock_open(&clock, plan->threads);
    for (size_t i = 0; i < items && good; i++) {
        good = measure_item(set, task, sides, i, items, n, &clock, t, error);
        if (progress) io_progress_update(progress, ++*done);
    }
    ev_bench_clock_close(&clock);
    if (good) {
        *row = (ev_bench_row){.task = task, .instructions = t[OURS].instructions, .speedup = NAN};
        if (sides[ONE_THREAD]) row->speedup = least_sum(&t[ONE_THREAD], items, n) / least_sum(&t[OURS], items, n);
        summarise(&t[OURS], items, n, &row->ms, &row->spread);
        if (sides[THEIRS]) {
            row->peer = step->peer;
            summarise(&t[THEIRS], items, n, &row->peer_ms, &row->peer_spread);
        }
    }
    for (int s = 0; s < SIDES; s++) {
        free(t[s].ms);
        free(t[s].passes);
    }
    return good;
}
