/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of options that several commands include. */
#include "groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/pose.h"
#include "pipeline/models.h"

const cli_option selection_options[] = {
    {"select", 0, CLI_CHOICE(kb_detect_options, selection, KB_SELECTION_BEST), "RULE", .words = cli_selections,
     .help = "best: the strongest (default); grid: the strongest of every cell of a grid, then the second "
             "strongest, and so on; quadtree: the strongest of every leaf of a quad-tree, as ORB-SLAM"},
    CLI_SECTION("Thresholds of orb"),
    {"fast-threshold", 0, CLI_NUMBER(kb_detect_options, fast_threshold, 1, 255), "N", .rank = CLI_RARE,
     .help = "gray levels (default 20)"},
    {"fast-threshold-min", 0, CLI_NUMBER(kb_detect_options, fast_threshold_min, 1, 255), "N", .rank = CLI_RARE,
     .help = "gray levels, up to --fast-threshold: cells without a corner are searched again with this one (default "
             "7; no second search where --fast-threshold is given)"},
    {"cell-size", 0, CLI_NUMBER(kb_detect_options, cell_size, 8, 1024), "N", .rank = CLI_RARE,
     .help = "px of a level: the size of these cells (default 32)"},
    CLI_SECTION("Thresholds of hessian"),
    {"hessian-threshold", 0, CLI_NUMBER(kb_detect_options, hessian_threshold, 0.0001, 0.5), "X", .rank = CLI_RARE,
     .help = ", the least response; lower finds more and weaker keypoints (default 0.001)"},
    CLI_SECTION("Pyramid of orb and hessian"),
    {"whole-pixels", 0, CLI_FLAG(kb_detect_options, whole_pixels), .rank = CLI_RARE,
     .help = "positions on whole pixels, as OpenCV's ORB (default: sub-pixel positions)"},
    {"second-angle", 0, CLI_FLAG(kb_detect_options, second_angle), .rank = CLI_RARE,
     .help = "keypoints with two nearly equal directions are returned twice, once per angle"},
    {"levels", 0, CLI_NUMBER(kb_detect_options, levels, 1, KB_PYRAMID_MAX_LEVELS), "N", .rank = CLI_RARE,
     .help = "levels of the pyramid (default: down to the smallest that has room for a corner)"},
    {"every-level", 0, CLI_FLAG(kb_detect_options, every_level), .rank = CLI_RARE,
     .help = "corners on every level where they are found, as OpenCV's ORB (default: once, at the scale where they are "
             "strongest)"},
    {"level-factor", 0, CLI_NUMBER(kb_detect_options, level_factor, 1.05, 2), "X", .rank = CLI_RARE,
     .help = ", from one level to the next (default 1.2)"},
    CLI_SECTION("Thresholds of sift"),
    {"contrast", 0, CLI_NUMBER(kb_detect_options, contrast_threshold, 1e-6, 1), "X", .rank = CLI_RARE,
     .help = "; lower finds more and weaker keypoints (default 0.04)"},
    {"edge", 0, CLI_NUMBER(kb_detect_options, edge_threshold, 1, 1000), "X", .rank = CLI_RARE,
     .help = "; higher keeps more keypoints on edges (default 10)"},
    {"layers", 0, CLI_NUMBER(kb_detect_options, layers, 1, 8), "N", .rank = CLI_RARE,
     .help = "layers per octave (default 3)"},
    {"sigma", 0, CLI_NUMBER(kb_detect_options, sigma, 0.5, 4), "X", .rank = CLI_RARE,
     .help = "px, the blur of the first layer (default 1.6)"},
    {"no-upsampling", 0, CLI_FLAG(kb_detect_options, no_upsampling), .rank = CLI_RARE,
     .help = "do not double the image first: four times faster, loses the small keypoints"},
    {0}};

/* What the library says of the options, in the words of the command line. */
static bool check_detector(cli_common *common, const kb_detect_options *given, kb_detector standard)
{
    kb_detect_options o = *given;
    kb_error error;
    o.struct_size = sizeof o;
    if (o.detector == 0) o.detector = standard;
    if (kb_detect(NULL, &o, NULL, NULL, &error) == KB_OK) return true;
    const cli_option *row = selection_options;
    while (row->type != CLI_TYPE_LAST && !(row->member && strcmp(row->member, error.field) == 0)) row++;
    const char *name = row->type == CLI_TYPE_LAST ? error.field : row->name;
    common->exit_code = cli_usage_error(common, "--%s%s", name, error.text + strlen(error.field));
    return false;
}

static bool check_detector_usual(cli_common *common, const char *option, const char *text, void *job)
{
    (void)option, (void)text;
    return check_detector(common, job, kb_detector_get_info(0).detector);
}

static bool check_detector_sift(cli_common *common, const char *option, const char *text, void *job)
{
    (void)option, (void)text;
    return check_detector(common, job, KB_DETECTOR_SIFT);
}

const cli_option detector_options[] = {
    CLI_CHECK(check_detector_usual),
    {"detector", 0, CLI_CHOICE(kb_detect_options, detector, KB_DETECTOR_ORB), "NAME", .words = cli_detectors,
     .help = "hessian: peaks of the determinant of the Hessian on a pyramid (default); orb: FAST corners on the same "
             "pyramid, as OpenCV's ORB; sift: differences of Gaussians, for changes of scale, slower"},
    {"max-keypoints", 'n', CLI_NUMBER(kb_detect_options, max_keypoints, 1, 1000000), "N", "2000", .rank = CLI_FREQUENT,
     .help = "keypoints per image"},
    CLI_GROUP(kb_detect_options, struct_size, selection_options),
    {0}};

const cli_option sfm_detector_options[] = {
    CLI_CHECK(check_detector_sift),
    {"detector", 0, CLI_CHOICE(kb_detect_options, detector, KB_DETECTOR_ORB), "NAME", .words = cli_detectors,
     .help = "orb, sift or hessian (default sift)"},
    {"max-keypoints", 'n', CLI_NUMBER(kb_detect_options, max_keypoints, 1, 1000000), "N", "8192", .rank = CLI_FREQUENT,
     .help = "keypoints per image"},
    CLI_GROUP(kb_detect_options, struct_size, selection_options),
    {0}};

const cli_option reading_options[] = {
    {"exif", 0, CLI_FLAG(io_read_options, exif),
     .help = "rotate images as their EXIF orientation says (default: pixels as stored, as OpenCV's detectors with "
             "IMREAD_IGNORE_ORIENTATION see them)"},
    {"white", 0, CLI_NUMBER(io_read_options, white, 1, 65535), "N", .rank = CLI_RARE,
     .help = ", the value that is white in 16-bit images (default: the file's, else 65535)"},
    {"max-pixels", 0, CLI_NUMBER(io_read_options, max_pixels, 1, 4294836225), "N", .rank = CLI_RARE,
     .help = ": larger images are refused before memory is reserved for them (default 2^28)"},
    {0}};

const cli_option photo_options[] = {
    MAX_SIZE_OPTION(io_read_options, max_size, MAX_SIZE_RECOGNISE),
    CLI_GROUP(io_read_options, colour, reading_options),
    {0}};

const cli_option exact_photo_options[] = {
    MAX_SIZE_OPTION(io_read_options, max_size, MAX_SIZE_EXACT),
    CLI_GROUP(io_read_options, colour, reading_options),
    {0}};

const cli_option any_photo_options[] = {
    MAX_SIZE_OPTION(io_read_options, max_size, "0"),
    CLI_GROUP(io_read_options, colour, reading_options),
    {0}};

const cli_option index_photo_options[] = {
    {"max-size", 0, CLI_NUMBER(io_read_options, max_size, 0, IO_MAX_SIDE), "PX",
     .help = "px: larger images are shrunk to this longer side (default: the index's, and another one is refused)"},
    CLI_GROUP(io_read_options, colour, reading_options),
    {0}};

void reading_begin(io_read_options *reading) { *reading = (io_read_options){.keep16 = true}; }

const char *const cli_orientations[] = {"given", "gradient", "centroid", "none", NULL};

static bool check_preset(cli_common *common, const char *option, const char *text, void *job)
{
    const pipeline_options *o = job;
    (void)option, (void)text;
    if (!o->preset || o->scale == 0) return true;
    common->exit_code = cli_usage_error(common, "--preset and --scale exclude each other");
    return false;
}

const cli_option patch_options[] = {
    CLI_CHECK(check_preset),
    {"preset", 0, CLI_CALL(pipeline_options, preset), "NAME", .take = cli_take_preset,
     .help = "the detector of the keypoints. Patch width = keypoint size x the model's support x 1 (orb, hessian), 3 "
             "(mser), 5 (fast, agast, brisk, akaze), 6.25 (kaze, surf), 6.75 (sift) or 10 (gftt) (default: "
             "--detector; orb for keypoints from a file)"},
    {"scale", 0, CLI_NUMBER(pipeline_options, scale, 0.01, 100), "X", .rank = CLI_RARE,
     .help = ": patch width / (keypoint size x the model's support), instead of a preset"},
    {"orientation", 0, CLI_CHOICE(pipeline_options, angles, 0), "WHICH", "given", .words = cli_orientations,
     .help = "given: the angles as detected or read, -1 is upright; gradient, centroid: computed again as the peak of "
             "the gradient histogram or from the intensity centroid, as OpenCV's ORB; none: all upright"},
    {0}};

const cli_option matching_options[] = {
    {"ratio", 0, CLI_NUMBER(pipeline_options, max_ratio, 0.1, 1), "R", .rank = CLI_FREQUENT,
     .help = ": keep a match only when its distance is less than R x the distance to the second nearest "
             "row; 0.8 is usual "
             "(default: off; matches are always mutual)"},
    {"max-distance", 0, CLI_NUMBER(pipeline_options, max_distance, 0.001, 1e9), "D", .rank = CLI_RARE,
     .help = ": keep a match only up to this distance, bits or L2 (default: off)"},
    {"no-filter", 0, CLI_FLAG(pipeline_options, no_filter),
     .help = "also keep matches that are inconsistent with their neighbours in scale, angle and position"},
    {0}};

bool cli_take_camera(cli_common *common, const char *option, const char *text, void *camera)
{
    io_error error;
    if (pose_camera_parse(text, camera, &error)) return true;
    common->exit_code = cli_usage_error(common, "%s: %s", option, error.text);
    return false;
}

/* Words of KB_NAMES_LOOK, separated by commas. */
static bool take_looks(cli_common *common, const char *option, const char *text, void *target)
{
    int32_t *looks = target;
    io_names words = {NULL, 0};
    const char *wrong = NULL;
    io_names_split(&words, text);
    *looks = 0;
    for (size_t i = 0; i < words.count && !wrong; i++) {
        int32_t look = 1;
        while (kb_name(KB_NAMES_LOOK, look) && strcmp(kb_name(KB_NAMES_LOOK, look), words.items[i]) != 0)
            look *= 2;
        if (!kb_name(KB_NAMES_LOOK, look)) wrong = words.items[i];
        *looks |= look;
    }
    if (wrong) common->exit_code = cli_usage_error(common, "%s: \"%s\" is no look", option, wrong);
    io_names_free(&words);
    if (wrong) return false;
    if (*looks & (KB_LOOK_UPRIGHT | KB_LOOK_ORIENTED)) return true;
    common->exit_code = cli_usage_error(common, "%s needs upright or oriented: the others follow them", option);
    return false;
}

int cli_check_deviations(const cli_common *common, const char *deviations)
{
    if (!io_path_is_plain(deviations) || io_path_has_suffix(deviations, ".npy")) return CLI_DONE;
    return cli_usage_error(common, "the deviations %s must end in .npy, or be a folder, new ones with / at the end",
                           deviations);
}

const cli_option looks_option[] = {
    {"looks", 0, CLI_TYPE_CALL, .value = "LIST", .take = take_looks,
     .help = "which looks may be tried, separated by commas: upright; oriented: an angle per keypoint; rotated: one "
             "rotation for the pair; warped: B warped into A, after a homography; guided: along epipolar lines "
             "(default: all but guided)"},
    {0}};

static const char *const cli_rows[] = {"both", "oriented", "upright", NULL};

static bool check_rows(cli_common *common, const char *option, const char *text, void *job)
{
    const char *fault = pipeline_rows_fault(job);
    (void)option, (void)text;
    if (!fault) return true;
    common->exit_code = cli_usage_error(common, "--rows and --orientation: %s", fault);
    return false;
}

const cli_option rows_option[] = {
    CLI_CHECK(check_rows),
    {"rows", 0, CLI_CHOICE(pipeline_options, rows, ROWS_BOTH), "KIND", "both", .words = cli_rows,
     .help = "oriented: by the angle of every keypoint, for photographs that are turned against each other; upright: "
             "without angles, which match better where they are not; both: oriented rows decide whether "
             "a pair is verified, and upright rows match it where they match more (with --orientation none: upright)"},
    {0}};

const cli_option fit_options[] = {
    {"threshold", 0, CLI_NUMBER(pipeline_options, threshold, 0.01, 1000), "PX",
     .help = "px, the largest error of an inlier (default 3; fundamental, essential: 1)"},
    {"seed", 0, CLI_NUMBER(pipeline_options, seed, 0, CLI_NO_LIMIT), "S", "0", .rank = CLI_RARE,
     .help = "0 to 2^63 - 1; the same seed gives the same result"},
    {0}};

/* ---------------------------------------------------------------------------------------------------- the pipeline */

const cli_option model_option[] = {
    {"model", 'm', CLI_INPUT(cli_pipeline, model_name), "NAME|FILE", .rank = CLI_FREQUENT,
     .help = "a built-in model (keybits model list) or a .kbm file (default: bag256; where the build lacks it, bad256, "
             "hashsift256 or sift)"},
    {0}};

const cli_option index_model_option[] = {
    {"model", 'm', CLI_INPUT(cli_pipeline, model_name), "NAME|FILE", .rank = CLI_FREQUENT,
     .help = "the file of the model that the index or map was made with, unless that model is built in"},
    {0}};

const cli_option pipeline_option_groups[] = {
    CLI_SECTION("Keypoints"),
    CLI_GROUP(cli_pipeline, options.detect, detector_options),
    CLI_SECTION("Descriptors"),
    CLI_GROUP(cli_pipeline, model_name, model_option),
    CLI_GROUP(cli_pipeline, options, patch_options),
    CLI_SECTION("Matches"),
    CLI_GROUP(cli_pipeline, options, matching_options),
    CLI_SECTION("Geometry"),
    CLI_GROUP(cli_pipeline, options, fit_options),
    {0}};

void cli_pipeline_begin(cli_pipeline *p) { pipeline_options_init(&p->options); }

bool cli_pipeline_open(cli_common *common, cli_pipeline *p, io_error *error)
{
    if (!p->model_name) p->model_name = models_default();
    return models_open(p->model_name, &p->model, error) &&
           pipeline_open(&p->pipeline, &p->options, p->model, common->parallel, error);
}

void cli_pipeline_close(cli_pipeline *p)
{
    pipeline_close(&p->pipeline);
    kb_model_free(p->model);
    p->model = NULL;
}

static char *keypoints_path(const char *folder, const char *image)
{
    char *pattern = io_path_join(folder, "{}.csv"), *path = io_path_pattern(pattern, image);
    free(pattern);
    return path;
}

bool cli_keypoints_read(const char *folder, const char *image, io_keypoints *out, io_error *error)
{
    char *path = keypoints_path(folder, image);
    bool ok = io_keypoints_read(path, out, error);
    free(path);
    return ok;
}

bool cli_claim_keypoints(cli_common *common, const char *folder, const io_names *images, io_error *error)
{
    bool ok = true;
    for (size_t i = 0; folder && ok && i < images->count; i++) {
        char *path = keypoints_path(folder, images->items[i]);
        ok = cli_claim_input(common, path, error);
        free(path);
    }
    return ok;
}

void cli_warn_patches(const cli_common *common, const char *name, const features_fit *fit)
{
    const char *ask = "is another --preset or --scale meant?";
    if (fit->small > 0)
        cli_warn(common, "%s: %zu of %zu patches are narrower than %g px, too small to describe; %s", name, fit->small,
                 fit->keypoints, fit->least_width, ask);
    if (2 * fit->large > fit->keypoints) /* a corner may be as large as the image; a preset makes most of them large */
        cli_warn(common, "%s: %zu of %zu patches are wider than %g px, which is %s the image; %s", name, fit->large,
                 fit->keypoints, fit->most_width, fit->least_width > (double)KB_SMALL_PATCH ? "twice" : "half of", ask);
}
