/* SPDX-License-Identifier: Apache-2.0 */
/* The benchmark of time and energy: every step of the pipeline, ours and OpenCV's in one run (docs/performance.md).
 *
 * Images 1 and 2, 3 and 4 and so on are pairs that should show the same. A row is a step, done on every image or on
 * every pair. On each item both sides take turns: once to warm up, then `repeats` times. Reported is the mean over the
 * items of the median over the repeats. A time limit chooses how many pairs take part, spread evenly over all.
 *
 * A new step is a line in the table of bench_steps.c. */
#ifndef EVAL_BENCH_H
#define EVAL_BENCH_H

#include "io/energy.h"
#include "eval/method.h"
#include "io/image_io.h"
#include "io/progress.h"
#include "pipeline/features.h"

/* ---- clock (bench_clock.c) ---- With one thread it is the thread's processor time, which other programs on the
 * machine do not lengthen; with more it is wall-clock time. Instructions are counted where Linux lets us
 * (perf_event_open); else they are NaN. */
typedef struct ev_bench_clock {
    bool wall;
    int counter; /* file descriptor, -1: none */
} ev_bench_clock;
typedef struct ev_bench_reading {
    double ms, instructions;
} ev_bench_reading;

void ev_bench_clock_open(ev_bench_clock *clock, int32_t threads);
void ev_bench_clock_close(ev_bench_clock *clock);
ev_bench_reading ev_bench_clock_read(const ev_bench_clock *clock);

/* ---- what is measured on (bench_set.c) ---- */
/* The features of an image, in memory that is kept. */
typedef struct ev_bench_frame {
    features f;
    void *memory; /* of f.rows */
} ev_bench_frame;

typedef struct ev_bench_set {
    const io_names *names;       /* all images */
    const ev_method *methods;    /* descriptors, ours and peers; not files */
    size_t method_count;
    int32_t max_keypoints;
    const kb_parallel *parallel; /* NULL: one thread */
    io_image *images;            /* those that take part, pair after pair */
    io_keypoints *keypoints;     /* our ORB detector's, of each */
    size_t count;
    kb_workspace *workspace;
    kb_match *matches;
    kb_neighbour *neighbours; /* EV_BENCH_NEIGHBOURS per keypoint */
    uint8_t *inliers;
    kb_point_pair *pairs;
    ev_bench_frame frames[2]; /* what a step computes */
    /* Rows and matches of a pair, prepared before a step is timed. */
    ev_bench_frame given[2];
    kb_point_pair *given_pairs; /* best first */
    kb_match *given_nearest;    /* of every keypoint its nearest, for filter and refinement */
    size_t given_nearest_count;
    size_t given_count, given_pair;
    const ev_method *given_method;
    io_keypoints own; /* a peer's own keypoints of image own_image */
    float own_scale;
    size_t own_image;
    const char *own_peer;
    uint8_t *large_pixels; /* image large_item, mirrored to fill 6 megapixels */
    kb_image large;
    size_t large_item;
} ev_bench_set;
#define EV_BENCH_NEIGHBOURS 3

/* Reads the first pair. names and methods must outlive the set; at least two images. */
bool ev_bench_open(ev_bench_set *set, const io_names *names, const ev_method *methods, size_t method_count,
                   int32_t max_keypoints, io_error *error);
/* Reads more, so that `pairs` of all pairs take part; with all of them an odd last image too. */
bool ev_bench_take_pairs(ev_bench_set *set, size_t pairs, io_error *error);
void ev_bench_close(ev_bench_set *set);

/* The steps, ours; all memory is the set's. */
bool ev_bench_detect(ev_bench_set *set, const kb_image *image, kb_detector detector, kb_orientation orientation,
                     ev_bench_frame *frame, io_error *error);
bool ev_bench_describe(ev_bench_set *set, const kb_image *image, const ev_method *method, const kb_keypoint *keypoints,
                       size_t n, ev_bench_frame *frame, io_error *error);
/* Into set->matches. */
bool ev_bench_match(ev_bench_set *set, const io_rows *a, const io_rows *b, size_t *count, io_error *error);
/* The k nearest of every row, k up to EV_BENCH_NEIGHBOURS, into set->neighbours. */
bool ev_bench_knn(ev_bench_set *set, const io_rows *a, const io_rows *b, int32_t k, io_error *error);
/* given_nearest of a pair, into set->matches. */
bool ev_bench_filter(ev_bench_set *set, size_t pair, io_error *error);
bool ev_bench_refine(ev_bench_set *set, size_t pair, io_error *error);
bool ev_bench_fit(ev_bench_set *set, const kb_point_pair *pairs, size_t n, io_error *error);
/* Two images to a homography by kb_match_images. */
bool ev_bench_pair(ev_bench_set *set, size_t a, size_t b, const ev_method *method, int32_t looks, io_error *error);
/* The points of the nearest matches, at most `room`, best first; sorts the matches. Returns how many. */
size_t ev_bench_pairs(kb_match *matches, size_t n, const io_keypoints *a, const io_keypoints *b, kb_point_pair *pairs,
                      size_t room);
/* Fills `given` for pair i and a method of ours, unless it is there already. */
bool ev_bench_give_pair(ev_bench_set *set, size_t pair, const ev_method *method, io_error *error);
/* Fills `large` for image i, unless it is there already. */
void ev_bench_give_large(ev_bench_set *set, size_t image);
/* An image mirrored again and again to fill width x height; malloc'ed. */
uint8_t *ev_bench_mirrored(const io_image *source, int32_t width, int32_t height);
/* Fills `own` for image i and a peer. */
bool ev_bench_give_own(ev_bench_set *set, size_t image, const char *peer, io_error *error);

/* ---- rows (bench_steps.c, bench_measure.c) ---- */
typedef struct ev_bench_step ev_bench_step;
typedef struct ev_bench_task {
    const ev_bench_step *step;
    const ev_method *method; /* NULL for steps without a descriptor */
    char name[64];           /* "detect-orb", "describe-bag256" */
} ev_bench_task;

typedef struct ev_bench_tasks {
    ev_bench_task *items;
    size_t count;
} ev_bench_tasks;

/* One task per step, or per step and method where the step has a descriptor. rows: the names wanted, separated by
 * commas, of rows or of steps ("describe" means all that begin so); NULL means all. False for a name that is none. */
bool ev_bench_tasks_make(const ev_bench_set *set, const char *rows, ev_bench_tasks *out, io_error *error);
void ev_bench_tasks_free(ev_bench_tasks *tasks);
bool ev_bench_of_pairs(const ev_bench_task *task);
const char *ev_bench_step_name(const ev_bench_task *task); /* "describe" */

typedef struct ev_bench_plan {
    int32_t threads, repeats;
    double seconds; /* limit of the whole run; 0: none */
    bool peers, quiet;
} ev_bench_plan;

/* Times every task once, and chooses pairs, and repeats if need be, so that the run keeps to its limit. */
bool ev_bench_plan_fit(ev_bench_set *set, const ev_bench_tasks *tasks, ev_bench_plan *plan, io_error *error);
/* How many steps of the progress bar a task takes. */
size_t ev_bench_items(const ev_bench_set *set, const ev_bench_task *task);

typedef struct ev_bench_row {
    const ev_bench_task *task;
    double ms, spread;   /* per image or pair; half the distance of the quartiles, NaN for one repeat */
    double instructions; /* NaN: not known */
    double speedup;      /* against one thread, of the least times, when there are more threads; else NaN */
    const char *peer;    /* what it is compared with; NULL without */
    double peer_ms, peer_spread;
} ev_bench_row;

/* As tables show a spread, in per cent of the time: in ms it is 0.000 for the short steps. */
static inline double ev_spread_percent(double ms, double spread) { return 100 * spread / ms; }

/* progress counts items and may be NULL; *done counts on. */
bool ev_bench_measure(ev_bench_set *set, const ev_bench_task *task, const ev_bench_plan *plan, io_progress *progress,
                      size_t *done, ev_bench_row *row, io_error *error);

/* ---- energy (bench_steps.c) ---- The application of the paper: the first image is looked for in all others (detect,
 * describe, match, fit) for some seconds. A peer does every step itself. */
typedef struct ev_bench_energy {
    double frames;
    energy_cost cost;
} ev_bench_energy;
bool ev_bench_frames(ev_bench_set *set, const ev_method *method, double seconds, ev_bench_energy *out, io_error *error);

/* ---- growth (bench_growth.c) ---- */
#define EV_BENCH_POINTS 12
#define EV_BENCH_CURVES 4
#define EV_BENCH_PLOTS 5
typedef struct ev_bench_curve {
    const char *name;
    size_t points;
    double x[EV_BENCH_POINTS], ms[EV_BENCH_POINTS];
    double mb[EV_BENCH_POINTS]; /* of memory: the workspace, the index or the vocabulary */
} ev_bench_curve;
typedef struct ev_bench_plot {
    const char *title, *x_name;
    ev_bench_curve curves[EV_BENCH_CURVES];
    size_t count;
} ev_bench_plot;

/* The power of x with which y grows over the last decade of x: 1 is in proportion. */
double ev_bench_power(const double *x, const double *y, size_t points);
bool ev_bench_growth(ev_bench_set *set, int32_t threads, bool quiet, ev_bench_plot plots[EV_BENCH_PLOTS],
                     io_error *error);

#endif
