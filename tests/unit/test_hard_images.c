/* SPDX-License-Identifier: Apache-2.0 */
/* The same keypoints, rows, matches and fits, byte for byte, for any number of threads, low_memory and any instruction
 * set, for the images of hard.h. The first argument says how many are tried, the second with which number to begin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../hard.h"
#include "io/image_io.h"

enum { DRAWS = 2 };
static uint64_t images = 84, first;
static hard_pools pools;

static int pools_create(void **state)
{
    (void)state;
    hard_pools_create(&pools);
    return 0;
}

static int pools_free(void **state)
{
    (void)state;
    hard_pools_free(&pools);
    return 0;
}

/* Returns how many keypoints there are. */
static size_t check(const char *name, const kb_image *image, const hard_task *task, uint64_t number)
{
    size_t keypoints = 0;
    char sentence[512];
    if (!hard_check(image, task, number, &pools, &keypoints, sentence)) fail_msg("%s, %s", name, sentence);
    assert_true(keypoints <= (size_t)task->detect.max_keypoints);
    return keypoints;
}

static void rendered_images(void **state)
{
    (void)state;
    size_t keypoints = 0;
    for (uint64_t number = first; number < first + images; number++) {
        hard h = hard_number(number);
        kb_image image = hard_render(h);
        uint64_t seed = h.seed;
        char name[64];
        snprintf(name, sizeof name, "image %d", (int)number);
        for (uint64_t i = 0; i < DRAWS; i++) {
            hard_task task = hard_task_draw(&seed);
            keypoints += check(name, &image, &task, number + i);
        }
        free((void *)(uintptr_t)image.data);
    }
    assert_true(keypoints > 20 * images); /* they are hard, not empty */
}

/* A run that is not the same is noticed. */
static void a_difference_is_seen(void **state)
{
    (void)state;
    hard_outcome *runs = calloc(2, sizeof *runs);
    uint64_t seed = 1;
    kb_image image = hard_render(hard_number(0));
    hard_task task = hard_task_draw(&seed);
    assert_non_null(runs);
    for (int i = 0; i < 2; i++) hard_run(&image, &task, NULL, 0, &runs[i]);
    assert_null(hard_difference(&runs[0], &runs[1]));
    runs[1].rows[1][5] ^= 1;
    assert_string_equal(hard_difference(&runs[0], &runs[1]), "rows");
    free((void *)(uintptr_t)image.data);
    free(runs);
}

/* Images of the data folder with which threads have differed; what sanitizers look for shows in rendered ones. */
static void stored_images(void **state)
{
    static const char *const names[] = {"grid8.pgm", "sine4.pgm"};
    const char *folder = getenv("KEYBITS_SHARED");
    int read = 0;
    (void)state;
#ifdef KEYBITS_SANITIZED
    skip();
#endif
    for (size_t i = 0; i < KBI_COUNT(names); i++) {
        char path[4096];
        io_image image;
        snprintf(path, sizeof path, "%s/data/eval/hard-images/%s", folder ? folder : "../shared", names[i]);
        if (!io_image_read(path, NULL, &image, NULL)) continue;
        uint64_t seed = i;
        for (int d = KB_DETECTOR_ORB; d <= KB_DETECTOR_HESSIAN; d++) {
            hard_task task = {.model = "bag256", .geometry = KB_GEOMETRY_HOMOGRAPHY};
            KB_INIT(task.detect);
            task.detect.detector = (kb_detector)d;
            task.detect.max_keypoints = HARD_MOST;
            for (int every = 0; every < (d == KB_DETECTOR_SIFT ? 1 : 2); every++) {
                task.detect.every_level = every;
                check(names[i], &image.view, &task, (uint64_t)d);
            }
        }
        for (uint64_t k = 0; k < DRAWS; k++) {
            hard_task task = hard_task_draw(&seed);
            check(names[i], &image.view, &task, k);
        }
        io_image_free(&image);
        read++;
    }
    if (read == 0) {
        printf("the data folder has no hard images\n");
        skip();
    }
}

int main(int count, char **arguments)
{
    if (count > 1) images = strtoull(arguments[1], NULL, 10);
    if (count > 2) first = strtoull(arguments[2], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(rendered_images), cmocka_unit_test(a_difference_is_seen),
                                       cmocka_unit_test(stored_images)};
    return cmocka_run_group_tests_name("hard images", tests, pools_create, pools_free);
}
