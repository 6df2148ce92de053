/* The whole pipeline between two images, for the commands that walk it: keypoints, descriptors, matches, geometry, and how
 * long each step took. */
#ifndef CLI_ROAD_H
#define CLI_ROAD_H

#include "cli.h"
#include "io/csv.h"
#include "io/image_io.h"

typedef struct pipeline {
    const char *model_name; /* NULL: the default */
    kb_model *model;        /* opened by pipeline_open */
    kb_model_info info;
    kb_detector detector; /* 0: ORB, or keypoints that are given */
    int32_t max_keypoints;
    float scale; /* patch width / keypoint size; 0: the detector's */
    float ratio, max_distance;
    bool fit; /* else matches are all that is wanted */
    kb_geometry geometry;
    double threshold;
    uint64_t seed;
    const kb_parallel *parallel;
    kb_workspace *workspace;
} pipeline;

/* One image on the pipeline. */
typedef struct pipeline_features {
    io_keypoints keypoints;
    bool given;     /* the keypoints are not to be detected */
    uint8_t *bytes; /* descriptor rows, */
    float *floats;  /* or these when the model gives floats */
    double ms_detect, ms_describe;
} pipeline_features;

typedef struct pipeline_result {
    kb_match *matches; /* owned */
    kb_point_pair *pairs;    /* their points, owned */
    uint8_t *inliers;  /* one a match, owned */
    size_t count;
    kb_fit_report fit;
    double ms_match, ms_fit;
} pipeline_result;

/* What a command's options begin with. */
void pipeline_defaults(pipeline *r);
/* Opens the model and a workspace. False after saying why. */
bool pipeline_open(pipeline *r, const kb_parallel *parallel);
void pipeline_close(pipeline *r);

/* Keypoints (unless they are given) and descriptors. `name` is for the message. */
bool pipeline_describe(const pipeline *r, const char *name, const kb_image *image, pipeline_features *view, io_error *error);
void pipeline_view_free(pipeline_features *view);

/* Matches and geometry; the result is to be freed. Not finding a geometry is a result. */
bool pipeline_match(const pipeline *r, const pipeline_features *a, const pipeline_features *b, pipeline_result *result, io_error *error);
void pipeline_result_free(pipeline_result *result);

/* ---- options that the commands share ---- */
#define PIPELINE_SHORTS "m:n:"
enum { PIPELINE_DETECTOR = CLI_OPTION_OWN + 0x100, PIPELINE_PRESET, PIPELINE_RATIO, PIPELINE_MAX_DISTANCE, PIPELINE_THRESHOLD, PIPELINE_SEED };
#define PIPELINE_OPTIONS                                                                                                   \
    {"model", required_argument, NULL, 'm'},                                                                           \
    {"detector", required_argument, NULL, PIPELINE_DETECTOR},                                                              \
    {"max-keypoints", required_argument, NULL, 'n'},                                                                   \
    {"preset", required_argument, NULL, PIPELINE_PRESET},                                                                  \
    {"ratio", required_argument, NULL, PIPELINE_RATIO},                                                                    \
    {"max-distance", required_argument, NULL, PIPELINE_MAX_DISTANCE},                                                      \
    {"threshold", required_argument, NULL, PIPELINE_THRESHOLD},                                                            \
    {"seed", required_argument, NULL, PIPELINE_SEED}
#define PIPELINE_HELP                                                                                                      \
    "Keypoints, descriptors, matches\n"                                                                                \
    "  -m, --model NAME|FILE  a built-in model or a .kbm file (default: the first that this build holds of\n"          \
    "                         bag256, bad256, hashsift256, sift); keybits model list\n"                                \
    "  --detector NAME        orb (default) or sift\n"                                                                 \
    "  -n, --max-keypoints N  1 to 1000000 keypoints an image (default 2000)\n"                                        \
    "  --preset NAME          patch width by detector, for keypoints from a file (default: that of --detector)\n"      \
    "  --ratio R              keep a match only when its distance is less than R x that of the second nearest,\n"      \
    "                         0.1 to 1; 0.8 is usual (default: off; matches are always mutual)\n"                      \
    "  --max-distance D       keep a match only up to this distance, bits or L2 (default: off)\n"                      \
    "\n"                                                                                                               \
    "Geometry\n"                                                                                                       \
    "  --threshold PX         largest error of an inlier, 0.01 to 1000 px (default 3; fundamental: 1.5)\n"             \
    "  --seed S               0 to 2^63 - 1 (default 0); the same seed gives the same result\n"
/* Takes one of these options; false when it is wrong, with common->exit_code set. */
bool pipeline_option(cli_common *common, int option, pipeline *r);

#endif
