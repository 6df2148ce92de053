/* The kinds of `keybits train KIND ...`, and what they share: where patches come from, where the model, the log and the
 * page go, and how a result is judged. */
#ifndef TRAIN_H
#define TRAIN_H

#include "cli.h"
#include "keybits/learn.h"
#include "learn/augment.h"
#include "learn/patch_set.h"

#define TRAIN_KINDS(KIND)                                                                \
    KIND(bad, "BAD: differences of mean gray, the fastest")                          \
    KIND(bag, "BAG: the same on planes of gradients, more accurate")                 \
    KIND(hashsift, "HashSIFT: the signs of a linear map of SIFT")                    \
    KIND(ablation, "what every part of the learning is worth, beside the paper's table") \
    KIND(compare, "how good models are on patches, side by side")

#define TRAIN_DECLARE(name, summary) int train_##name(int argc, char **argv);
TRAIN_KINDS(TRAIN_DECLARE)

/* ---- options that all kinds share ---- */
typedef struct train_options {
    const char *output, *log, *page, *name;
    const char *validate;  /* a set that learning has not seen */
    double hold_back;      /* or the share of the points to keep for that; 0: none */
    double support;        /* 0: that of the patches */
    const char *sampler;   /* of the model; NULL: pairs for BAD, patch for others */
    size_t max_patches;    /* 0: all */
    uint64_t seed;
    int32_t bits;
    bool augment;
    kbi_augment amounts;
    bool resume;
} train_options;

enum {
    TRAIN_BITS = CLI_OPTION_OWN,
    TRAIN_LOG,
    TRAIN_PAGE,
    TRAIN_NAME,
    TRAIN_VALIDATE,
    TRAIN_HOLD_BACK,
    TRAIN_SUPPORT,
    TRAIN_SAMPLER,
    TRAIN_MAX_PATCHES,
    TRAIN_SEED,
    TRAIN_AUGMENT,
    TRAIN_RESUME,
    TRAIN_OWN
};

#define TRAIN_DATA_OPTIONS                                                \
    {"bits", required_argument, NULL, TRAIN_BITS},                        \
    {"validate", required_argument, NULL, TRAIN_VALIDATE},                \
    {"hold-back", required_argument, NULL, TRAIN_HOLD_BACK},              \
    {"max-patches", required_argument, NULL, TRAIN_MAX_PATCHES},          \
    {"seed", required_argument, NULL, TRAIN_SEED}
#define TRAIN_MODEL_OPTIONS                                               \
    {"output", required_argument, NULL, 'o'},                             \
    {"log", required_argument, NULL, TRAIN_LOG},                          \
    {"page", required_argument, NULL, TRAIN_PAGE},                        \
    {"name", required_argument, NULL, TRAIN_NAME},                        \
    {"support", required_argument, NULL, TRAIN_SUPPORT},                  \
    {"sampler", required_argument, NULL, TRAIN_SAMPLER},                  \
    {"augment", required_argument, NULL, TRAIN_AUGMENT},                  \
    {"resume", no_argument, NULL, TRAIN_RESUME}

#define TRAIN_DATA_HELP                                                                                     \
    "  --bits N           a multiple of 8, 8 to 1024 (default 256)\n"                                       \
    "  --max-patches N    learn from a sample of whole points (default 0: all)\n"                           \
    "  --validate SET     patches that learning does not see, to tell how good the result is\n"             \
    "  --hold-back F      0 to 0.9: keep this share of the points for that instead (default 0)\n"           \
    "  --seed N           the same patches, options and seed give the same result (default 1)\n"
#define TRAIN_MODEL_HELP                                                                                    \
    "  -o, --output FILE  the model file to write; required\n"                                              \
    "  --name NAME        of the model (default: the name of the file)\n"                                   \
    "  --support S        0.1 to 10, written into the model (default: what the patches were cut with)\n"    \
    "  --sampler NAME     patch or pairs (docs/sampling.md), written into the model (default: pairs for BAD,\n" \
    "                     else patch)\n"                                                                     \
    "  --augment on|off   small random rotation, scale, light, blur and noise (default off)\n"              \
    "  --log FILE.csv     the log (default: the model's name with .csv)\n"                                  \
    "  --page FILE.html   a page with curves and pictures of the result\n"                                  \
    "  --resume           go on where an interrupted training with the same options stopped\n"

void train_options_begin(train_options *options);
/* Takes one of the options above, and is true for others; false with common->exit_code set when its value is wrong. */
bool train_option(train_options *options, cli_common *common, int option);

/* ---- patches ---- */
typedef struct train_data {
    kbi_patch_set set;   /* 32x32 */
    kbi_patch_set held;  /* points is 0 when there is none */
    uint64_t hash;      /* of pixels and labels that are learned from */
} train_data;

/* Loads the sets named by the arguments from optind on. False with common->exit_code set. */
bool train_data_load(train_data *data, const train_options *options, cli_common *common, int argc, char **argv);
void train_data_free(train_data *data);
/* FNV-1a over 64-bit words: quick enough for gigabytes. */
#define TRAIN_HASH_START 0xcbf29ce484222325u
uint64_t train_hash(uint64_t hash, const void *data, size_t bytes);

/* ---- results ---- */
/* Names the model, gives it its support and writes it. False with a message. */
bool train_model_write(kb_model_spec *spec, const train_options *options, const train_data *data, kb_model **out);
bool train_model_save(const kb_model *model, const char *path, io_error *error);
/* Says how good the model is on the held-back patches, if there are any. */
void train_validate(const train_data *data, const kb_model *model, const cli_common *common);
/* The path of the model with another suffix; malloc'ed. */
char *train_path(const train_options *options, const char *suffix);

/* ---- train_page.c: the result as one HTML file ---- */
typedef struct train_curve {
    const char *name;
    const double *y;
} train_curve;
typedef struct train_page {
    const kb_model *model;
    const double *x;           /* bits or steps */
    size_t points;
    const char *x_name;
    const train_curve *curves; /* `curve_count` of them, all from 0 up */
    size_t curve_count;
    const kbi_patch_set *set;   /* what bit means and correlations are measured on */
} train_page;
bool train_page_write(const char *path, const train_page *page, const kb_parallel *parallel, io_error *error);

#endif
