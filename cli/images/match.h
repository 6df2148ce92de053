/* SPDX-License-Identifier: Apache-2.0 */
/* The picture of the command match. */
#ifndef CLI_MATCH_H
#define CLI_MATCH_H

#include "io/image_io.h"
#include "pipeline/pipeline.h"

typedef struct match_picture {
    const char *path;
    const io_image *images[2]; /* of any layout */
    const pipeline *pipeline;
    const pipeline_result *result;
    bool epilines;
} match_picture;

/* Both images beside each other: outliers thin and red, inliers green, the outline of A in B for a homography, or
 * epipolar lines through some inliers of B, and a line of text. */
bool match_draw(const match_picture *picture, io_error *error);

#endif
