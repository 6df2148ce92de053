/* SPDX-License-Identifier: Apache-2.0 */
/* Views of a photograph as a plane: random homographies, and the image warped by one. */
#ifndef KBI_WARP_H
#define KBI_WARP_H

#include <stdbool.h>
#include <stdint.h>

#include "keybits/advanced.h"

/* The range of the camera. */
typedef struct kbi_view_range {
    double rotation;  /* degrees; half of the views turn evenly within +-rotation, the others only a little */
    double tilt;      /* degrees between the plane and the image plane, up to 75; evenly from 0 */
    double zoom_out;  /* natural logarithms: the scale is between exp(-zoom_out) and exp(zoom_in), evenly in between */
    double zoom_in;
    double perspective; /* how much nearer one end of the plane is at most: half diagonal over distance, below 0.9 */
} kbi_view_range;
extern const kbi_view_range kbi_view_range_default;

typedef struct kbi_view {
    int32_t width, height;
    double to_view[9], to_photo[9]; /* homographies of pixel coordinates, inverse to each other */
} kbi_view;

/* The photograph itself. */
void kbi_view_identity(int32_t width, int32_t height, kbi_view *view);
/* A random view; the frame is the bounding box of the warped photograph, made smaller where a side would pass 3000
 * px. */
void kbi_view_draw(const kbi_view_range *range, int32_t width, int32_t height, uint64_t *state, kbi_view *view);
/* The homography at a point, and its derivative there: out = (u, v, du/dx, du/dy, dv/dx, dv/dy). */
void kbi_homography_local(const double h[9], double x, double y, double out[6]);
/* The 8-bit photograph through the view, view->width x view->height bytes. Every pixel is the mean over its footprint,
 * so nothing aliases. Beyond the photograph its border is repeated, and mask (of the same size) is 0 instead of 255. */
void kbi_view_render(const kbi_view *view, const kb_image *photo, uint8_t *pixels, uint8_t *mask);
/* Does the circle around (x, y) in the view lie in the photograph, as far as four points on it tell? */
bool kbi_view_sees(const kbi_view *view, const kb_image *photo, double x, double y, double radius);

#endif
