/* SPDX-License-Identifier: Apache-2.0 */
/* Rotations and cameras as the program shows and reads them. */
#ifndef PIPELINE_POSE_H
#define PIPELINE_POSE_H

#include "io/image_io.h"
#include "keybits/keybits.h"

/* The angle of a rotation matrix, 0 to 180 degrees, and its axis of unit length (0 0 1 for no rotation). */
double pose_angle_axis(const double rotation[9], double axis[3]);

/* "fx,fy,cx,cy" with up to five numbers of the distortion behind: k1,k2,p1,p2,k3. */
bool pose_camera_parse(const char *text, kb_camera *camera, io_error *error);
/* The camera of a picture that was shrunk when it was read, from that of its file. */
kb_camera pose_camera_shrunk(const kb_camera *file, const io_grid *grid);

#endif
