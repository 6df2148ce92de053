/* The whole road between two images, for the verbs that walk it: keypoints, descriptors, matches, geometry, and how
 * long each step took. */
#ifndef CLI_ROAD_H
#define CLI_ROAD_H

#include "cli.h"
#include "io/csv.h"
#include "io/image_io.h"

typedef struct road {
    const char *model_name; /* NULL: the default */
    kb_model *model;        /* opened by road_open */
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
} road;

/* One image on the road. */
typedef struct road_view {
    io_keypoints keypoints;
    bool given;     /* the keypoints are not to be detected */
    uint8_t *bytes; /* descriptor rows, */
    float *floats;  /* or these when the model gives floats */
    double ms_detect, ms_describe;
} road_view;

typedef struct road_result {
    kb_match *matches; /* owned */
    kb_pair *pairs;    /* their points, owned */
    uint8_t *inliers;  /* one a match, owned */
    size_t count;
    kb_fit_report fit;
    double ms_match, ms_fit;
} road_result;

/* What a verb's options begin with. */
void road_defaults(road *r);
/* Opens the model and a workspace. False after saying why. */
bool road_open(road *r, const kb_parallel *parallel);
void road_close(road *r);

/* Keypoints (unless they are given) and descriptors. `name` is for the message. */
bool road_describe(const road *r, const char *name, const kb_image *image, road_view *view, io_error *error);
void road_view_free(road_view *view);

/* Matches and geometry; the result is to be freed. Not finding a geometry is a result. */
bool road_match(const road *r, const road_view *a, const road_view *b, road_result *result, io_error *error);
void road_result_free(road_result *result);

/* ---- options that the verbs share ---- */
#define ROAD_SHORTS "m:n:"
enum { ROAD_DETECTOR = CLI_OPTION_OWN + 0x100, ROAD_PRESET, ROAD_RATIO, ROAD_MAX_DISTANCE, ROAD_THRESHOLD, ROAD_SEED };
#define ROAD_OPTIONS                                                                                                   \
    {"model", required_argument, NULL, 'm'},                                                                           \
    {"detector", required_argument, NULL, ROAD_DETECTOR},                                                              \
    {"max-keypoints", required_argument, NULL, 'n'},                                                                   \
    {"preset", required_argument, NULL, ROAD_PRESET},                                                                  \
    {"ratio", required_argument, NULL, ROAD_RATIO},                                                                    \
    {"max-distance", required_argument, NULL, ROAD_MAX_DISTANCE},                                                      \
    {"threshold", required_argument, NULL, ROAD_THRESHOLD},                                                            \
    {"seed", required_argument, NULL, ROAD_SEED}
#define ROAD_HELP                                                                                                      \
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
bool road_option(cli_common *common, int option, road *r);

#endif
