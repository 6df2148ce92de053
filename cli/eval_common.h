/* What the benchmarks of `keybits eval` share: the list of descriptors to compare, and where keypoints come from. */
#ifndef CLI_EVAL_COMMON_H
#define CLI_EVAL_COMMON_H

#include "cli.h"
#include "eval/keypoints.h"
#include "eval/method.h"
#include "io/json.h"

typedef struct eval_methods {
    ev_method *items;
    size_t count;
} eval_methods;

/* names: built-in models, files and peers ("cv:orb"), separated by commas; support overrides the models' own unless it
 * is 0. files: rows computed elsewhere; may be empty. Says what is wrong and gives false. */
bool eval_methods_open(eval_methods *methods, const char *names, double support, const io_names *files);
void eval_methods_free(eval_methods *methods);

/* Options of where keypoints come from, the same for every benchmark on images. */
enum {
    EVAL_OPTION_KEYPOINTS_DIR = CLI_OPTION_OWN,
    EVAL_OPTION_KEYPOINTS,
    EVAL_OPTION_DETECTOR,
    EVAL_OPTION_PRESET,
    EVAL_OPTION_SUPPORT,
    EVAL_OPTION_CACHE,
    EVAL_OPTION_DESCRIPTORS,
    EVAL_OPTION_EXPORT_PATCHES,
    EVAL_OPTION_OWN
};

typedef struct eval_options {
    const char *models;
    double support;
    io_names descriptors;
    const char *export_patches;
    const char *cache;
    ev_keypoint_source source;
    const char *preset;
    float scale;
} eval_options;

#define EVAL_METHOD_OPTIONS                                                       \
    {"model", required_argument, NULL, 'm'},                                      \
    {"support", required_argument, NULL, EVAL_OPTION_SUPPORT},                    \
    {"descriptors", required_argument, NULL, EVAL_OPTION_DESCRIPTORS},            \
    {"export-patches", required_argument, NULL, EVAL_OPTION_EXPORT_PATCHES}
#define EVAL_KEYPOINT_OPTIONS                                                     \
    {"keypoints-dir", required_argument, NULL, EVAL_OPTION_KEYPOINTS_DIR},        \
    {"keypoints", required_argument, NULL, EVAL_OPTION_KEYPOINTS},                \
    {"detector", required_argument, NULL, EVAL_OPTION_DETECTOR},                  \
    {"max-keypoints", required_argument, NULL, 'n'},                              \
    {"preset", required_argument, NULL, EVAL_OPTION_PRESET}

#define EVAL_METHOD_HELP                                                                                    \
    "Descriptors\n"                                                                                         \
    "  -m, --model LIST   built-in models, .kbm files and peers (cv:orb, cv:brisk, cv:akaze, cv:sift,\n"    \
    "                     cv:rootsift where OpenCV was found), separated by commas\n"                       \
    "  --support S        0.1 to 10, instead of the models' own support\n"                                  \
    "  --descriptors FILE.npy     rows that another program computed, packed bits (uint8) or floats\n"      \
    "                     (may be repeated)\n"                                                              \
    "  --export-patches FILE.npy  write the patches such a program needs, in the order of the rows, and stop\n"
#define EVAL_KEYPOINT_HELP                                                                                  \
    "Keypoints\n"                                                                                           \
    "  --keypoints-dir DIR  CSV files DIR/SCENE/IMAGE.KIND.csv; without it keypoints are detected\n"        \
    "  --keypoints KIND   sift or orb (or another name in the files; then --preset is needed); default sift\n" \
    "  --detector NAME    orb or sift (default orb)\n"                                                      \
    "  -n, --max-keypoints N  asked of the detector, 1 to 1000000 (default 2000)\n"                         \
    "  --preset NAME      orb fast agast brisk akaze kaze surf sift: how size becomes the width of the patch\n" \
    "                     (default: what belongs to the keypoints)\n"

void eval_options_begin(eval_options *options);
/* Takes an option of the tables above; false for one that is not in them, or is wrong (and sets exit_code). */
bool eval_option(eval_options *options, cli_common *common, int option);
/* Fills in what follows from the options: the kind, the scale. */
bool eval_options_settle(eval_options *options, cli_common *common);
void eval_options_end(eval_options *options);

/* The frame of a benchmark: options in, its work, and the way out. Zero is the default of the numbers. */
typedef struct eval_frame {
    const char *help, *shorts;
    const struct option *longs;
    int32_t threads;       /* the default of --threads */
    kb_detector detector;  /* of --detector; 0: orb */
    int32_t max_keypoints; /* of -n; 0: 2000 */
    /* Takes an option of the benchmark's own and passes others to eval_option; false for a wrong one. */
    bool (*take)(void *job, eval_options *options, cli_common *common, int option);
    int (*run)(void *job, eval_options *options, cli_common *common, int count, char **arguments);
} eval_frame;
int eval_run(const eval_frame *frame, void *job, int argc, char **argv);

/* What results call the set in a folder: its name, with its parent's when it is only "images"; malloc'ed. */
char *eval_set_name(const char *folder);

/* A number as a percentage for tables: "32.61", or "-" when there is none. */
const char *eval_percent(char buffer[16], double value);

/* The benchmarks, called by cmd_eval.c; argv[0] is the name of the benchmark. */
#define EVAL_BENCHMARKS(BENCHMARK)                                                 \
    BENCHMARK(oxford, "mAP, precision and homographies between images of a plane") \
    BENCHMARK(hpatches, "verification, matching and retrieval on HPatches' patches") \
    BENCHMARK(brown, "false positive rate at 95 % recall on Brown's patches")       \
    BENCHMARK(sfm, "reconstruction with COLMAP: points, observations, track length") \
    BENCHMARK(report, "all results on one page")

#define EVAL_DECLARE(name, summary)          \
    extern const char eval_##name##_help[];  \
    int eval_##name(int argc, char **argv);
EVAL_BENCHMARKS(EVAL_DECLARE)

#endif
