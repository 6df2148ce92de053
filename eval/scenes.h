/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of images of one plane: Oxford's folders (img1.png, H1to2p or H1to2p.xml), HPatches image sequences (1.png,
 * H_1_2), and folders of a fixed camera (any images, no homographies: nothing moves). */
#ifndef EVAL_SCENES_H
#define EVAL_SCENES_H

#include "io/file.h"

typedef struct ev_scene {
    char *name;        /* of the folder */
    io_names images;   /* paths; the first is what all others are compared with */
    double (*h)[9];    /* image 1 -> image k, row major; h[0] is the identity */
    bool fixed_camera; /* there were no homographies */
} ev_scene;

typedef struct ev_scenes {
    ev_scene *items;
    size_t count;
} ev_scenes;

/* The folder is one scene, or holds a folder for each scene. Every scene has at least two images. */
bool ev_scenes_open(const char *folder, ev_scenes *out, io_error *error);
void ev_scenes_free(ev_scenes *scenes);

/* Nine numbers, from plain text or from the <data> of an OpenCV XML file. */
bool ev_homography_read(const char *path, double h[9], io_error *error);

/* How far the corners of image 1 land from where they should, on average, px; infinite when one lands nowhere. */
double ev_corner_error(const double found[9], const double wanted[9], int32_t width, int32_t height);

/* A copy without slashes at the end, so that its last part is a name; malloc'ed. */
char *ev_folder_clean(const char *folder);
/* The folders in a folder, as paths, sorted by name. */
bool ev_folders_in(const char *folder, io_names *out, io_error *error);

#endif
