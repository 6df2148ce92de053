/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommands of `keybits train`, and what they share: where patches come from, where the model, the log and the
 * page go, and how a result is evaluated. */
#ifndef TRAIN_H
#define TRAIN_H

#include "cli/cli.h"
#include "pipeline/patch_load.h"
#include "keybits/learn.h"
#include "learn/augment.h"
#include "io/bytes.h"
#include "learn/validate.h"

extern const cli_command train_bad, train_bag, train_hashsift, train_ablation, train_compare, train_thresholds;

/* ---- options that the subcommands share ---- */
typedef struct train_options {
    const char *output, *log, *page, *name;
    const char *validate;  /* a set that learning has not seen */
    double hold_back;      /* or the share of the points to keep for that; 0: none */
    double support;        /* 0: that of the patches */
    double sift_support;   /* 0: as support */
    const char *sampler;   /* of the model; NULL: cells for BAD, patch for others */
    int64_t max_patches;   /* 0: all */
    uint64_t seed;
    int32_t bits;
    int32_t augment;       /* TRAIN_AUGMENT_ */
    bool paper;            /* the paper's recipe */
    bool resume;
} train_options;
enum { TRAIN_AUGMENT_UNSAID, TRAIN_AUGMENT_OFF, TRAIN_AUGMENT_ON };

/* Where patches come from, and where the model goes; the job is train_options. */
extern const cli_option train_data_options[], train_model_options[];
extern const cli_option train_paper_options[]; /* of the kinds that the paper has */
/* The row of --hold-back, whose default is not the same everywhere. */
#define TRAIN_HOLD_BACK(job, member, preset)                                                                           \
    {"hold-back", 0, CLI_NUMBER(job, member, 0, 0.9), "F",                                                             \
     .help = "of the points are not learned from, to measure the result; instead of --validate " preset}
/* Whether patches are augmented, and by how much (the context of kbi_augment_sample). */
bool train_augments(const train_options *options);
void *train_amounts(const train_options *options);

/* ---- patches ---- */
typedef struct train_data {
    kbi_patch_set set;   /* 32x32, or octaves */
    kbi_patch_set held;  /* points is 0 when there is none */
    uint64_t hash;      /* of pixels and labels that are learned from */
} train_data;

/* Loads the sets. False with common->exit_code set. */
bool train_data_load(train_data *data, const train_options *o, bool octaves, cli_common *common, int count,
                     char **paths);
void train_data_free(train_data *data);
kb_learn_patches train_patches(const train_data *data); /* what is learned from, a view */

/* ---- results ---- */
/* What the options say, or the default of the kind. */
kb_sampler train_sampler(const train_options *options, kb_kind kind);
/* Names the model, gives it its support and writes it. False with a message. */
bool train_model_write(kb_model_spec *spec, const train_options *options, const train_data *data, kb_model **out);
bool train_model_save(const kb_model *model, const char *path, io_error *error);
/* What a training gave. */
typedef struct train_result {
    const kb_model *model;
    const char *log;        /* the path of the log */
    double started;         /* io_clock_seconds at the start of the run */
    double loss;            /* the last one */
    bool validated;         /* there are patches held back, */
    kbi_validation on_held; /* and this is how good the model is on them */
} train_result;
/* Measures the model on the patches held back, if there are any. */
void train_validate(const train_data *data, const cli_common *common, train_result *result);
/* Says, or prints as JSON, what was written, how long it took and how good it is. */
void train_tell(const cli_common *common, const train_options *options, const train_data *data,
                const train_result *result);
/* The path of the model with another suffix; malloc'ed. */
char *train_path(const train_options *options, const char *suffix);
/* The same, claimed as an output of the run: a derived file must not be an input either. NULL with common->exit_code
 * set. `given` (may be NULL) is taken instead. */
char *train_claim_path(cli_common *common, const train_options *options, const char *given, const char *suffix);

/* ---- train_page.c: the result as one HTML file ---- */
typedef struct train_page {
    const train_result *result;
    const double *x;            /* bits or steps */
    size_t points;
    const char *x_name;
    const double *loss;
    const double *active;       /* share of triplets or pairs that have a loss; NULL: none */
    const kbi_patch_set *set;   /* what bit means and correlations are measured on */
} train_page;
bool train_page_write(const char *path, const train_page *page, const kb_parallel *parallel, io_error *error);

#endif
