/* SPDX-License-Identifier: Apache-2.0 */
/* A photograph on a wall, seen by another camera.
 *
 * In coordinates centred on the photograph, in units of its half diagonal, the wall is turned by psi, tilted by theta
 * around its vertical axis (x shrinks by cos theta, and depth 1 + p x sin theta appears), then turned by phi - psi and
 * scaled:
 *     H = S(s) R(phi - psi) [cos theta 0 0; 0 1 0; p sin theta 0 1] R(psi). */
#include "learn/warp.h"

#include <math.h>
#include <string.h>

#include "learn/random.h"

#define MAX_SIDE 3000
#define MIN_SIDE 64
#define MAX_SUBSAMPLES 12

const kbi_view_range kbi_view_range_default = {
    .rotation = 180, .tilt = 60, .zoom_out = 0.9, .zoom_in = 0.2, .perspective = 0.5};

static void multiply(const double a[9], const double b[9], double out[9])
{
    double result[9];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            result[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
    memcpy(out, result, sizeof result);
}

/* The adjugate, which is the inverse up to a factor, scaled to out[8] = 1. */
static void invert(const double m[9], double out[9])
{
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            int r0 = (j + 1) % 3, r1 = (j + 2) % 3, c0 = (i + 1) % 3, c1 = (i + 2) % 3;
            out[3 * i + j] = m[3 * r0 + c0] * m[3 * r1 + c1] - m[3 * r0 + c1] * m[3 * r1 + c0];
        }
    }
    double last = out[8];
    for (int i = 0; i < 9; i++) out[i] /= last;
}

static void rotation(double degrees, double out[9])
{
    double sine, cosine;
    kbi_sincos_degrees(degrees - 360 * floor(degrees / 360), &sine, &cosine);
    const double m[9] = {cosine, -sine, 0, sine, cosine, 0, 0, 0, 1};
    memcpy(out, m, sizeof m);
}

void kbi_homography_local(const double h[9], double x, double y, double out[6])
{
    double w = h[6] * x + h[7] * y + h[8], u = (h[0] * x + h[1] * y + h[2]) / w, v = (h[3] * x + h[4] * y + h[5]) / w;
    out[0] = u;
    out[1] = v;
    out[2] = (h[0] - u * h[6]) / w;
    out[3] = (h[1] - u * h[7]) / w;
    out[4] = (h[3] - v * h[6]) / w;
    out[5] = (h[4] - v * h[7]) / w;
}

void kbi_view_identity(int32_t width, int32_t height, kbi_view *view)
{
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    *view = (kbi_view){.width = width, .height = height};
    memcpy(view->to_view, one, sizeof one);
    memcpy(view->to_photo, one, sizeof one);
}

/* The bounding box of the warped photograph: (x0, y0, x1, y1). */
static void bounds(const double h[9], int32_t width, int32_t height, double box[4])
{
    box[0] = box[1] = INFINITY;
    box[2] = box[3] = -INFINITY;
    for (int corner = 0; corner < 4; corner++) {
        double p[6];
        kbi_homography_local(h, corner & 1 ? width - 1 : 0, corner & 2 ? height - 1 : 0, p);
        for (int axis = 0; axis < 2; axis++) {
            box[axis] = fmin(box[axis], p[axis]);
            box[2 + axis] = fmax(box[2 + axis], p[axis]);
        }
    }
}

/* Puts the box of the warped photograph at the origin, and keeps its sides within bounds. */
static void frame(int32_t width, int32_t height, kbi_view *view)
{
    double box[4];
    bounds(view->to_view, width, height, box);
    double longest = fmax(box[2] - box[0], box[3] - box[1]),
           shrink = longest > MAX_SIDE - 1 ? (MAX_SIDE - 1) / longest : 1;
    const double place[9] = {shrink, 0, -box[0] * shrink, 0, shrink, -box[1] * shrink, 0, 0, 1};
    multiply(place, view->to_view, view->to_view);
    view->width = kbi_max_i(MIN_SIDE, (int32_t)((box[2] - box[0]) * shrink) + 1);
    view->height = kbi_max_i(MIN_SIDE, (int32_t)((box[3] - box[1]) * shrink) + 1);
    invert(view->to_view, view->to_photo);
}

void kbi_view_draw(const kbi_view_range *range, int32_t width, int32_t height, uint64_t *state, kbi_view *view)
{
    double half_diagonal = 0.5 * sqrt((double)width * width + (double)height * height);
    double turned = kbi_random_between(state, -range->rotation, range->rotation);
    double phi = kbi_random_below(state, 2) ? turned : turned / 12, psi = kbi_random_between(state, 0, 360);
    double theta = kbi_random_between(state, 0, range->tilt), p = kbi_random_between(state, 0, range->perspective);
    double scale = half_diagonal * kbi_exp(kbi_random_between(state, -range->zoom_out, range->zoom_in));
    double sine, cosine, turn[9];
    kbi_sincos_degrees(theta, &sine, &cosine);

    const double centre[9] = {1 / half_diagonal, 0, -(width - 1) / (2 * half_diagonal),
                              0, 1 / half_diagonal, -(height - 1) / (2 * half_diagonal), 0, 0, 1};
    const double tilt[9] = {cosine, 0, 0, 0, 1, 0, p * sine, 0, 1};
    const double grow[9] = {scale, 0, 0, 0, scale, 0, 0, 0, 1};
    rotation(psi, turn);
    multiply(turn, centre, view->to_view);
    multiply(tilt, view->to_view, view->to_view);
    rotation(phi - psi, turn);
    multiply(turn, view->to_view, view->to_view);
    multiply(grow, view->to_view, view->to_view);
    frame(width, height, view);
}

/* ------------------------------------------------------------------------------------------------------ rendering */

/* Bilinear, border repeated. */
static double sample(const kb_image *photo, double x, double y)
{
    double right = photo->width - 1, bottom = photo->height - 1;
    x = x < 0 ? 0 : x > right ? right : x;
    y = y < 0 ? 0 : y > bottom ? bottom : y;
    int32_t ix = (int32_t)x, iy = (int32_t)y;
    double fx = x - ix, fy = y - iy;
    const uint8_t *p = (const uint8_t *)photo->data + iy * photo->stride + ix;
    ptrdiff_t dx = ix + 1 < photo->width, dy = iy + 1 < photo->height ? photo->stride : 0;
    double upper = p[0] + fx * (p[dx] - p[0]), lower = p[dy] + fx * (p[dy + dx] - p[dy]);
    return upper + fy * (lower - upper);
}

/* How many samples a step of one pixel in the view needs, when it is (dx, dy) in the photograph. */
static int32_t subsamples(double dx, double dy)
{
    double length = sqrt(dx * dx + dy * dy);
    return length >= MAX_SUBSAMPLES ? MAX_SUBSAMPLES : (int32_t)ceil(length - 0.2) + (length <= 0.2);
}

static bool in_photo(const kb_image *photo, double x, double y)
{
    return x >= -0.5 && y >= -0.5 && x <= photo->width - 0.5 && y <= photo->height - 0.5;
}

bool kbi_view_sees(const kbi_view *view, const kb_image *photo, double x, double y, double radius)
{
    const double around[4][2] = {{-radius, 0}, {radius, 0}, {0, -radius}, {0, radius}};
    for (int i = 0; i < 4; i++) {
        double p[6];
        kbi_homography_local(view->to_photo, x + around[i][0], y + around[i][1], p);
        if (!in_photo(photo, p[0], p[1])) return false;
    }
    return true;
}

void kbi_view_render(const kbi_view *view, const kb_image *photo, uint8_t *pixels, uint8_t *mask)
{
    for (int32_t row = 0; row < view->height; row++) {
        for (int32_t column = 0; column < view->width; column++) {
            double p[6], sum = 0;
            kbi_homography_local(view->to_photo, column, row, p);
            int32_t nx = subsamples(p[2], p[4]), ny = subsamples(p[3], p[5]);
            for (int32_t j = 0; j < ny; j++) {
                double v = (j + 0.5) / ny - 0.5;
                for (int32_t i = 0; i < nx; i++) {
                    double u = (i + 0.5) / nx - 0.5;
                    sum += sample(photo, p[0] + p[2] * u + p[3] * v, p[1] + p[4] * u + p[5] * v);
                }
            }
            *pixels++ = (uint8_t)(sum / (nx * ny) + 0.5);
            *mask++ = in_photo(photo, p[0], p[1]) ? 255 : 0;
        }
    }
}
