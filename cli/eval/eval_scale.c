/* SPDX-License-Identifier: Apache-2.0 */
/* keybits eval scale: options in, table or JSON out; the protocol is eval/scale.h. */
#include "eval/scale.h"

#include <stdlib.h>

#include "eval_common.h"

typedef struct scale_job {
    const char *detectors;
    int32_t max_keypoints;
} scale_job;

static void scale_json(io_json *json, const char *detector, size_t images, const ev_scale_score scores[EV_SCALES])
{
    io_json_object(json, NULL);
    io_json_string(json, "benchmark", "scale");
    io_json_string(json, "detector", detector);
    io_json_integer(json, "images", (int64_t)images);
    io_json_array(json, "scales");
    for (int s = 0; s < EV_SCALES; s++) {
        io_json_object(json, NULL);
        io_json_number(json, "scale", ev_scales[s]);
        io_json_number(json, "keypoints", scores[s].keypoints);
        io_json_number(json, "repeated", 100 * scores[s].repeated);
        io_json_number(json, "sized", 100 * scores[s].sized);
        io_json_end(json);
    }
    io_json_end(json);
    io_json_end(json);
}

static void scale_table(const io_names *detectors, const ev_scale_score (*scores)[EV_SCALES])
{
    printf("%-20s", "");
    for (int s = 0; s < EV_SCALES; s++) printf(" %10s %6.1f %6s", "keypoints", ev_scales[s], "size");
    printf("\n");
    for (size_t i = 0; i < detectors->count; i++) {
        printf("%-20s", detectors->items[i]);
        for (int s = 0; s < EV_SCALES; s++)
            printf(" %10.0f %6.2f %6.2f", scores[i][s].keypoints, 100 * scores[i][s].repeated,
                   100 * scores[i][s].sized);
        printf("\n");
    }
}

static void scale_print(bool as_json, size_t images, const io_names *detectors,
                        const ev_scale_score (*scores)[EV_SCALES])
{
    io_json json;
    if (!as_json) {
        scale_table(detectors, scores);
        return;
    }
    io_json_begin(&json, stdout);
    if (detectors->count > 1) io_json_array(&json, NULL);
    for (size_t i = 0; i < detectors->count; i++) scale_json(&json, detectors->items[i], images, scores[i]);
    if (detectors->count > 1) io_json_end(&json);
}

static int scale_run(cli_common *common, void *context, int count, char **arguments)
{
    const scale_job *job = context;
    io_names images = {NULL, 0}, detectors = {NULL, 0};
    io_error error;
    io_names_split(&detectors, job->detectors);
    bool good = detectors.count > 0 || io_fail(&error, "--detectors names none");
    for (size_t i = 0; i < detectors.count && good; i++) good = ev_scale_detector_find(detectors.items[i], &error);
    good = good && cli_claim_images(common, count, arguments, &images, &error);
    ev_scale_score(*scores)[EV_SCALES] = io_alloc(detectors.count + 1, sizeof *scores);
    for (size_t i = 0; i < detectors.count && good; i++)
        good = ev_scale_run(&images, detectors.items[i], job->max_keypoints, scores[i], &error);
    if (good) scale_print(common->json, images.count, &detectors, (const ev_scale_score(*)[EV_SCALES])scores);
    free(scores);
    io_names_free(&images);
    io_names_free(&detectors);
    return good ? CLI_DONE : cli_error("%s", error.text);
}

static const cli_option scale_options[] = {
    {"detectors", 0, CLI_TEXT(scale_job, detectors), "LIST", "hessian,orb,sift",
     .help = "ours, and OpenCV's where keybits-peers.so is there (cv:orb, cv:sift), separated by commas"},
    {"max-keypoints", 'n', CLI_NUMBER(scale_job, max_keypoints, 1, 1000000), "N", "500", .help = "keypoints per image"},
    {0}};

const cli_command eval_scale = {
    .name = "eval scale",
    .examples = "photo.jpg # one photograph is enough",
    .summary = "how keypoints follow a change of scale",
    .usage = "IMAGE... [options]",
    .about =
        "Every image is brought down by 1.5, 2 and 2.5. Prints for each detector the share of the keypoints of the "
        "small image that a keypoint of the image repeats (their circles share half of the area that they cover), and "
        "of these the share whose sizes agree within 20 %; means over images, in per cent.",
    .options = scale_options,
    .least = 1,
    .most = CLI_ANY,
    .wants = "name at least one image",
    .job_size = sizeof(scale_job),
    .run = scale_run};
