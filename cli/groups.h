/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of options that several commands include (CLI_GROUP), and what they fill. */
#ifndef CLI_GROUPS_H
#define CLI_GROUPS_H

#include "cli.h"
#include "io/image_io.h"
#include "pipeline/pipeline.h"

/* --detector, -n, --select and the thresholds of the detectors; the job is kb_detect_options. `detector` stays 0 unless
 * it is given. */
extern const char *const cli_orientations[]; /* "given", then words of a kb_orientation */
extern const cli_option detector_options[];
extern const cli_option sfm_detector_options[]; /* the same for reconstruction: SIFT, 8192 */
/* --exif, --white and --max-pixels; the job is io_read_options. */
extern const cli_option reading_options[];
/* The same and --max-size, for photographs whose keypoints are wanted in pixels of the file: to recognise them, and for
 * reconstruction, which lives by exact places (docs/program.md). */
#define MAX_SIZE_RECOGNISE "1000"
#define MAX_SIZE_EXACT "3200"
extern const cli_option photo_options[], exact_photo_options[];
/* The same, without a limit unless one is given. */
extern const cli_option any_photo_options[];
/* The same where an index decides: max_size is CLI_UNSAID unless it is given. */
#define CLI_UNSAID (-1)
extern const cli_option index_photo_options[];
#define MAX_SIZE_OPTION(job, member, standard)                                                                      \
    {"max-size", 0, CLI_NUMBER(job, member, 0, IO_MAX_SIDE), "PX", standard,                                        \
     .help = "px: the longer side of larger images is shrunk to it before keypoints are found; places and poses "  \
             "stay in pixels of the file; 0: images as they are"}
/* --deviations, and whether its value makes sense: CLI_DONE, or a usage error. */
#define DEVIATIONS_OPTION(job, member)                                                                              \
    {"deviations", 0, CLI_TEXT(job, member), "FILE.npy",                                                            \
     .help = "the standard deviation of every place along either axis, px (float32, in the order of the keypoints); " \
             "for many images a folder or a pattern"}
int cli_check_deviations(const cli_common *common, const char *deviations);
/* --preset, --scale and --orientation; --ratio, --max-distance and --no-filter; --threshold and --seed. The job is
 * pipeline_options. */
extern const cli_option patch_options[], matching_options[], fit_options[];
/* --looks; the job is an int32_t, KB_LOOK_* combined. */
extern const cli_option looks_option[];
extern const cli_option rows_option[]; /* the kinds of rows that are kept; of pipeline_options */
/* For rows of type CALL whose target is a kb_camera: fx,fy,cx,cy[,k1,k2,p1,p2,k3]. */
bool cli_take_camera(cli_common *common, const char *option, const char *text, void *camera);

void reading_begin(io_read_options *reading); /* 16-bit images stay as they are */

/* The pipeline of a command, and its model. */
typedef struct cli_pipeline {
    const char *model_name; /* NULL: the default */
    pipeline_options options;
    kb_model *model;
    pipeline pipeline; /* opened by cli_pipeline_open */
} cli_pipeline;

/* --model alone, and --model with all of the tables above but reading_options; the job is cli_pipeline. */
extern const cli_option model_option[], index_model_option[], pipeline_option_groups[];

void cli_pipeline_begin(cli_pipeline *p);
bool cli_pipeline_open(cli_common *common, cli_pipeline *p, io_error *error);
void cli_pipeline_close(cli_pipeline *p);

/* --keypoints-dir: FOLDER/NAME.csv of an image, and all of them claimed as inputs; folder NULL: nothing to claim. */
bool cli_keypoints_read(const char *folder, const char *image, io_keypoints *out, io_error *error);
bool cli_claim_keypoints(cli_common *common, const char *folder, const io_names *images, io_error *error);

/* Warns when patches are too small or too large to say much, which a wrong preset makes them. */
void cli_warn_patches(const cli_common *common, const char *name, const features_fit *fit);

#endif
