/* Other views of a photograph, as if it hung on a wall: random homographies, and the image as seen through one. */
#ifndef KB_WARP_H
#define KB_WARP_H

#include <stdbool.h>
#include <stdint.h>

#include "keybits/keybits.h"

/* How far the camera goes. */
typedef struct kb_view_range {
    double rotation;  /* degrees; half of the views turn evenly within +-rotation, the others only a little */
    double tilt;      /* degrees between wall and film, up to 75; evenly from 0 */
    double zoom_out;  /* natural logarithms: the scale is between exp(-zoom_out) and exp(zoom_in), evenly in between */
    double zoom_in;
    double perspective; /* how much nearer one end of the wall is at most: half diagonal over distance, below 0.9 */
} kb_view_range;
extern const kb_view_range kb_view_range_default;

typedef struct kb_view {
    int32_t width, height;
    double to_view[9], to_photo[9]; /* homographies of pixel coordinates, inverse to each other */
} kb_view;

/* The photograph itself. */
void kb_view_identity(int32_t width, int32_t height, kb_view *view);
/* A random view; the frame is the bounding box of the warped photograph, made smaller where a side would pass 3000
 * px. */
void kb_view_draw(const kb_view_range *range, int32_t width, int32_t height, uint64_t *state, kb_view *view);
/* The homography at a point, and its derivative there: out = (u, v, du/dx, du/dy, dv/dx, dv/dy). */
void kb_homography_local(const double h[9], double x, double y, double out[6]);
/* The 8-bit photograph through the view, view->width x view->height bytes. Every pixel is the mean over its footprint,
 * so nothing aliases. Beyond the photograph its border is repeated, and mask (of the same size) is 0 instead of 255. */
void kb_view_render(const kb_view *view, const kb_image *photo, uint8_t *pixels, uint8_t *mask);
/* Does the circle around (x, y) in the view lie in the photograph, as far as four points on it tell? */
bool kb_view_sees(const kb_view *view, const kb_image *photo, double x, double y, double radius);

#endif
