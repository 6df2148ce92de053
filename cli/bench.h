/* keybits bench: how long every step takes, ours and OpenCV's in one run (docs/performance.md). */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "cli.h"
#include "io/csv.h"
#include "io/image_io.h"

/* ---- clock (bench_clock.c) ---- With one thread it is the thread's processor time, which other programs on the
 * machine do not lengthen; with more it is the time on the wall. Instructions are counted where Linux lets us
 * (perf_event_open); else they are NaN. */
typedef struct bench_clock {
    bool wall;
    int counter; /* file descriptor, -1: none */
} bench_clock;
typedef struct bench_reading {
    double ms, instructions;
} bench_reading;

void bench_clock_open(bench_clock *clock, int32_t threads);
void bench_clock_close(bench_clock *clock);
bench_reading bench_clock_read(const bench_clock *clock);

/* The middle of n numbers and half the distance of the quartiles; sorts them. */
double bench_median(double *values, size_t n);
double bench_spread(double *values, size_t n);

/* ---- models (bench_models.c) ---- */
typedef enum bench_model {
    BENCH_BAD256,
    BENCH_BAD512,
    BENCH_BAG256,
    BENCH_BAG512,
    BENCH_HASHSIFT256,
    BENCH_HASHSIFT512,
    BENCH_MODELS
} bench_model;
const char *bench_model_name(bench_model model);
/* The built-in model; when this build holds no table for it, a random one of that shape, and a word about it. */
bool bench_model_open(const cli_common *common, bench_model which, kb_model **out, io_error *error);

/* ---- what is measured (bench_rows.c) ---- */
typedef struct bench_set {
    const kb_parallel *parallel; /* NULL: one thread */
    bool no_peers;
    int32_t max_keypoints;
    io_image *images;
    size_t count;
    kb_model *models[BENCH_MODELS];
    io_keypoints *keypoints; /* ORB's, of every image */
    uint8_t *rows[2][2];     /* of 256 and of 512 bits, of the two images of the current pair */
    kb_point_pair *pairs;          /* their best matches */
    size_t pair_count;
    size_t current; /* the pair that rows and pairs belong to; count: none */
    kb_workspace *workspace;
    uint8_t *out;
    kb_keypoint *found[2];
    kb_match *matches;
} bench_set;

/* Reads the images, opens the models (an opened one in `given` is taken over instead) and finds the keypoints. */
bool bench_set_open(bench_set *set, const cli_common *common, const io_names *images, int32_t max_keypoints,
                    kb_model *given[BENCH_MODELS], io_error *error);
void bench_set_close(bench_set *set);

typedef struct bench_row {
    const char *name;
    double ms, spread;   /* an image or a pair */
    double instructions; /* NaN: not known */
    double speedup;      /* against one thread, of the least times, when there are more threads; else NaN */
    const char *peer;    /* what it is compared with; NULL without OpenCV */
    double peer_ms, peer_spread;
    int32_t threads;
} bench_row;

/* Names from index 0; NULL past the last. */
const char *bench_row_name(int index);
/* Measures row `index`. */
bool bench_row_measure(bench_set *set, int index, int32_t threads, int repeats, bench_row *row, io_error *error);

/* Is it a row of pairs of images? */
bool bench_row_of_pairs(int index);

/* ---- instructions by callgrind (bench_count.c) ---- */
typedef struct bench_count_job {
    const char *images[2];
    const char *models[BENCH_MODELS]; /* NAME=FILE, or NULL */
    const char *cpu;                  /* of --cpu, or NULL */
    int32_t max_keypoints;
} bench_count_job;
/* An image's or a pair's instructions of a row. */
bool bench_count(const bench_count_job *job, const char *row, bool of_pairs, double *instructions, io_error *error);

/* ---- growth (bench_growth.c, bench_page.c) ---- */
#define BENCH_POINTS 12
typedef struct bench_curve {
    const char *name;
    size_t points;
    double x[BENCH_POINTS], ms[BENCH_POINTS];
} bench_curve;
typedef struct bench_plot {
    const char *title, *x_name;
    bench_curve curves[4];
    size_t count;
} bench_plot;
#define BENCH_PLOTS 3

bool bench_growth(bench_set *set, const cli_common *common, bench_plot plots[BENCH_PLOTS], io_error *error);
/* One HTML file with the rows and the plots. */
bool bench_page_write(const char *path, const bench_set *set, const bench_row *rows, size_t count,
                      const bench_plot plots[BENCH_PLOTS], io_error *error);

#endif
