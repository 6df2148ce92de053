/* SPDX-License-Identifier: Apache-2.0 */
/* A pose, and if wanted the focal length, by least squares of the reprojection error, and how sure they are. */
#ifndef COLLECTION_POSE_REFINE_H
#define COLLECTION_POSE_REFINE_H

#include <stdbool.h>

#include "keybits/keybits.h"

/* Standard deviations, from the normal equations and the errors of the points. */
typedef struct pose_spread {
    double rms;                       /* px */
    double position, rotation, focal; /* scene units, degrees, px */
} pose_spread;

/* Where the camera sees a scene point, less where it was seen; false when it cannot. */
bool pose_error(const kb_camera *camera, const double rotation[9], const double translation[3],
                const kb_scene_point *point, double error[2]);

/* Points with used[i] != 0 count. fx and fy keep their ratio. False when the points do not decide; then nothing
 * changes. */
bool pose_refine(const kb_scene_point *points, const uint8_t *used, size_t n, kb_camera *camera, bool focal,
                 double rotation[9], double translation[3], pose_spread *spread);

#endif
