/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/pose.h"

#include <math.h>

#include "io/number.h"

/* The column of (R + 1) / 2 with the largest diagonal: v v^T up to a factor when the angle is 180 degrees. */
static void half_turn_axis(const double r[9], double axis[3])
{
    int largest = r[0] >= r[4] && r[0] >= r[8] ? 0 : r[4] >= r[8] ? 1 : 2;
    for (int i = 0; i < 3; i++) axis[i] = 0.5 * (r[3 * i + largest] + r[3 * largest + i]) + (i == largest);
}

double pose_angle_axis(const double r[9], double axis[3])
{
    const double degrees = 180 / 3.14159265358979323846;
    axis[0] = r[7] - r[5], axis[1] = r[2] - r[6], axis[2] = r[3] - r[1]; /* 2 sin(angle) axis */
    double sine = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]), cosine = r[0] + r[4] + r[8] - 1;
    double angle = atan2(sine, cosine);
    if (sine < 1e-6 && cosine < 0) half_turn_axis(r, axis);
    double norm = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
    if (!(norm > 0)) axis[2] = norm = 1;
    for (int i = 0; i < 3; i++) axis[i] /= norm;
    return angle * degrees;
}

bool pose_camera_parse(const char *text, kb_camera *camera, io_error *error)
{
    double numbers[9] = {0}, x, y;
    int count = 0;
    const char *at = text;
    for (; count < 9; count++) {
        if (!io_number_parse(at, &at, &numbers[count])) break;
        if (*at != ',') {
            count++;
            break;
        }
        at++;
    }
    if (*at || count < 4)
        return io_fail(error, "\"%s\" is no camera: fx,fy,cx,cy in px are needed, k1,k2,p1,p2,k3 may follow", text);
    KB_INIT(*camera);
    camera->fx = numbers[0], camera->fy = numbers[1], camera->cx = numbers[2], camera->cy = numbers[3];
    camera->k1 = numbers[4], camera->k2 = numbers[5], camera->p1 = numbers[6], camera->p2 = numbers[7];
    camera->k3 = numbers[8];
    if (kb_camera_unproject(camera, camera->cx, camera->cy, &x, &y) == KB_OK) return true;
    return io_fail(error, "\"%s\" is no camera: focal lengths must be positive and all numbers finite", text);
}

kb_camera pose_camera_shrunk(const kb_camera *file, const io_grid *grid)
{
    kb_camera c = *file;
    c.fx /= grid->step_x;
    c.fy /= grid->step_y;
    c.cx = (c.cx + 0.5 - grid->origin_x) / grid->step_x - 0.5;
    c.cy = (c.cy + 0.5 - grid->origin_y) / grid->step_y - 0.5;
    return c;
}
