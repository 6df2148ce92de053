/* SPDX-License-Identifier: Apache-2.0 */
/* COLMAP's sparse model, text (cameras.txt, images.txt, points3D.txt) or binary (.bin). COLMAP's pixel (0.5, 0.5) is
 * the centre of the first pixel, which is (0, 0) in what is read. */
#ifndef IO_COLMAP_MODEL_H
#define IO_COLMAP_MODEL_H

#include "io/file.h"
#include "io/scene.h"

/* A lens by COLMAP's number and parameters, in our pixels. From SIMPLE_PINHOLE to OPENCV_FISHEYE; others have numbers
 * that kb_camera has not, and give struct_size 0. */
kb_camera io_lens_camera(int which, const double *parameters);

/* folder holds the three files; .bin is taken when both are there. Free with io_scene_free. */
bool io_colmap_model_read(const char *folder, io_scene *out, io_error *error);

#endif
