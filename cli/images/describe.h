/* SPDX-License-Identifier: Apache-2.0 */
/* What the two ways of the command describe, from images and from ready patches, share. */
#ifndef CLI_DESCRIBE_H
#define CLI_DESCRIBE_H

#include "cli/groups.h"

typedef struct describe_job {
    cli_pipeline pipeline;
    const char *keypoints, *keypoints_folder; /* NULL, NULL: detect */
    const char *output;                       /* NULL: standard output */
    const char *deviations;                   /* of the places of detected keypoints; NULL: not wanted */
    int32_t format;                           /* of the files in a folder of results: index of describe_formats */
    const char *patches;                      /* NULL: from images */
    int32_t side;                             /* of a patch in a mosaic; 0: the width of the image */
    bool floats;
    io_read_options reading;
} describe_job;

extern const char *const describe_formats[];
const char *describe_suffix(const describe_job *job);

/* Both return the exit code. */
int describe_images(cli_common *common, describe_job *job, int count, char **arguments);
int describe_patches(cli_common *common, describe_job *job);

#endif
