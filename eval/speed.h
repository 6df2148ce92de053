/* How long each step of the pipeline takes, ours and the peers' in one run, as the paper's tables have it: milliseconds an
 * image (or a pair), over all images of a folder, keypoints given.
 *
 * A pass does the step once for every image. There is a pass to warm up, then `repeats` of them; what is reported is
 * the spread of the passes. Passes of all steps take turns, so that a machine that slows down slows all of them. */
#ifndef EVAL_SPEED_H
#define EVAL_SPEED_H

#include "eval/keypoints.h"
#include "eval/method.h"
#include "eval/metrics.h"

typedef enum ev_step {
    EV_STEP_DETECT,
    EV_STEP_DESCRIBE,
    EV_STEP_MATCH, /* mutual nearest neighbours of every image and the next */
    EV_STEP_FIT,   /* a homography to those matches */
    EV_STEP_ROAD   /* detect, describe, match with the image before, fit */
} ev_step;
const char *ev_step_name(ev_step step);

typedef struct ev_speed_options {
    ev_keypoint_source keypoints;
    float scale;
    int32_t repeats;
    const kb_parallel *parallel;
    int32_t threads; /* for the peers */
    bool quiet;
} ev_speed_options;

/* The images in memory, with keypoints. */
typedef struct ev_speed_set ev_speed_set;
bool ev_speed_open(const io_names *images, const ev_speed_options *options, ev_speed_set **out, io_error *error);
void ev_speed_close(ev_speed_set *set);
size_t ev_speed_images(const ev_speed_set *set);
double ev_speed_keypoints(const ev_speed_set *set); /* an image, on average */

/* One line of the table: a step, done by us or by a peer, with a descriptor where the step has one. */
typedef struct ev_speed_task ev_speed_task;
/* method may be NULL for EV_STEP_DETECT. Descriptors of methods decide who does the work in the other steps: a peer's
 * are matched and fitted by the peer. detector and peer are for EV_STEP_DETECT. */
bool ev_speed_task_create(ev_speed_set *set, ev_step step, const ev_method *method, kb_detector detector, bool peer,
                          ev_speed_task **out, io_error *error);
void ev_speed_task_free(ev_speed_task *task);
/* One pass; *items receives how many images or pairs were done. */
bool ev_speed_pass(ev_speed_task *task, size_t *items, io_error *error);

typedef struct ev_speed_row {
    ev_step step;
    const char *name; /* of the method or the detector */
    bool peer;
    double keypoints; /* an image: what was described, detected or matched */
    ev_spread ms;     /* an image or a pair */
    double cpu_ms;    /* processor time, median */
} ev_speed_row;

/* Measures the tasks; rows has room for one each. */
bool ev_speed_measure(ev_speed_task *const *tasks, size_t count, const ev_speed_options *options, ev_speed_row *rows,
                      io_error *error);

#endif
