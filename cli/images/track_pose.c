/* SPDX-License-Identifier: Apache-2.0 */
/* The pose of a flat template from the inliers of its homography: absolute pose of the calibrated camera (kb_fit_pose),
 * which takes the distortion of the lens into account as a homography cannot. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/pose.h"
#include "track.h"

static size_t scene_points(const pipeline_result *matched, double unit, double cx, double cy, kb_scene_point *points)
{
    size_t n = 0;
    for (size_t i = 0; i < matched->count; i++) {
        const kb_point_pair *q = &matched->pairs[i];
        if (matched->inliers[i])
            points[n++] = (kb_scene_point){unit * (q->x1 - cx), unit * (q->y1 - cy), 0, q->x2, q->y2};
    }
    return n;
}

/* Half as wide as the shorter side of the template, on its centre, towards the viewer. */
static bool project_cube(const kb_camera *camera, const kb_fit_report *pose, double half, double corners[8][2])
{
    const double *r = pose->rotation, *t = pose->translation;
    for (int i = 0; i < 8; i++) {
        double x = (i & 3) == 1 || (i & 3) == 2 ? half : -half, y = (i & 3) >= 2 ? half : -half,
               z = i >= 4 ? -2 * half : 0;
        double p[3];
        for (int k = 0; k < 3; k++) p[k] = r[3 * k] * x + r[3 * k + 1] * y + r[3 * k + 2] * z + t[k];
        if (!(p[2] > 0)) return false;
        if (kb_camera_project(camera, p[0] / p[2], p[1] / p[2], &corners[i][0], &corners[i][1]) != KB_OK) return false;
        if (!(fabs(corners[i][0]) < 1e5 && fabs(corners[i][1]) < 1e5)) return false;
    }
    return true;
}

bool track_pose(const track_camera *camera, const pipeline *p, const pipeline_result *matched, int32_t width,
                int32_t height, track_result *result, io_error *error)
{
    if (!camera->camera.struct_size || !result->found) return true;
    double unit = camera->width > 0 ? camera->width / width : 1, axis[3];
    kb_fit_options o;
    kb_fit_report pose;
    KB_INIT(o);
    KB_INIT(pose);
    o.camera1 = &camera->camera;
    o.threshold = p->options.threshold;
    o.seed = p->options.seed;
    o.plain_ransac = 1; /* inliers stand in the order of keypoints */
    kb_scene_point *points = io_alloc(matched->count, sizeof *points);
    size_t n = scene_points(matched, unit, 0.5 * (width - 1), 0.5 * (height - 1), points);
    kb_status status = kb_fit_pose(points, n, &o, p->workspace, NULL, &pose, NULL);
    free(points);
    if (status != KB_OK) return io_fail(error, "pose: %s", kb_status_string(status));
    result->posed = pose.result == KB_FIT_FOUND;
    if (!result->posed) return true;
    double radians = pose_angle_axis(pose.rotation, axis) * (3.14159265358979323846 / 180);
    for (int i = 0; i < 3; i++) result->turn[i] = radians * axis[i];
    memcpy(result->place, pose.translation, sizeof result->place);
    double half = 0.25 * unit * (width < height ? width : height);
    result->cube_seen = project_cube(&camera->camera, &pose, half, result->cube);
    return true;
}
