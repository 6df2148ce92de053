/* SPDX-License-Identifier: Apache-2.0 */
/* Your own threads. The library starts none; it asks a kb_parallel to run its tasks. Here that is the simplest thing
 * that works: a thread for every task. A program with a pool or a job system of its own would hand the tasks to that.
 * (keybits brings a small pool too: kb_pool_create.)
 *
 *     parallel [image.pgm]
 * / */
#include <pthread.h>
#include <string.h>

#include "picture.h"

enum { MOST = 2000, THREADS = 4 };

typedef struct job {
    void (*task)(void *context, int32_t index);
    void *context;
    int32_t index;
} job;

static void *run_one(void *argument)
{
    job *j = argument;
    j->task(j->context, j->index);
    return NULL;
}

/* Every task once, in any order, on any thread; return when all are done. */
static void run(void *self, int32_t count, void (*task)(void *, int32_t), void *context)
{
    int *calls = self;
    pthread_t *threads = malloc((size_t)count * sizeof *threads);
    job *jobs = malloc((size_t)count * sizeof *jobs);
    if (!threads || !jobs) exit(1);
    for (int32_t i = 0; i < count; i++) {
        jobs[i] = (job){task, context, i};
        if (pthread_create(&threads[i], NULL, run_one, &jobs[i]) != 0) exit(1);
    }
    for (int32_t i = 0; i < count; i++) pthread_join(threads[i], NULL);
    free(jobs);
    free(threads);
    ++*calls;
}

int main(int argc, char **argv)
{
    static kb_keypoint keypoints[MOST];
    static uint8_t alone[MOST * 32], together[MOST * 32];
    picture p = argc > 1 ? picture_read(argv[1]) : picture_render(640, 480, 2);
    kb_image image = picture_view(&p);
    kb_model *model;
    int calls = 0;
    kb_parallel parallel;
    KB_INIT(parallel);
    parallel.run = run;
    parallel.self = &calls;
    parallel.threads = THREADS;

    check(kb_model_builtin("bad256", NULL, &model), "bad256");
    kb_detect_options detect;
    KB_INIT(detect);
    detect.parallel = &parallel;
    kb_features f;
    KB_INIT(f);
    f.keypoints = keypoints;
    f.capacity = MOST;
    check(kb_detect(&image, &detect, NULL, &f, NULL), "kb_detect");

    kb_describe_options options;
    KB_INIT(options);
    f.rows = alone;
    f.rows_size = sizeof alone;
    check(kb_describe(model, &image, &options, NULL, &f, NULL), "kb_describe");
    options.parallel = &parallel;
    f.rows = together;
    check(kb_describe(model, &image, &options, NULL, &f, NULL), "kb_describe");

    printf("%zu keypoints, %d parallel runs, rows %s\n", f.n, calls,
           memcmp(alone, together, f.n * 32) == 0 ? "the same" : "differ");
    free(p.pixels);
    kb_model_free(model);
    return 0;
}
