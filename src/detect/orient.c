/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing. */
/* Angles for keypoints of any image, any size and any detector: kb_orient. */
#include <math.h>

#include "common/features.h"
#include "detect/kernels.h"
#include "image/kernels.h"

const char *kbi_orientation_name(int32_t orientation)
{
    switch (orientation) {
    case KB_ORIENTATION_DEFAULT: return "default";
    case KB_ORIENTATION_GRADIENT: return "gradient";
    case KB_ORIENTATION_CENTROID: return "centroid";
    case KB_ORIENTATION_NONE: return "none";
    default: return NULL;
    }
}

/* ---- centroid ---- */

#define SUBPIXEL 256 /* moments are measured from the keypoint in 1/256 px, so that they stay integers */

/* Sums over the pixels inside both the disc and the image. */
static float region_angle(const kb_image *gray, const kb_keypoint *keypoint)
{
    double radius = keypoint->size * 0.5;
    int64_t cx = (int64_t)floor((double)keypoint->x * SUBPIXEL + 0.5);
    int64_t cy = (int64_t)floor((double)keypoint->y * SUBPIXEL + 0.5);
    int32_t top = kbi_clamp_i((int32_t)ceil(keypoint->y - radius), 0, gray->height);
    int32_t bottom = kbi_clamp_i((int32_t)floor(keypoint->y + radius), -1, gray->height - 1);
    int64_t x_moment = 0, y_moment = 0;
    for (int32_t y = top; y <= bottom; y++) {
        double dy = y - (double)keypoint->y, rest = radius * radius - dy * dy, half = rest > 0 ? sqrt(rest) : 0;
        int32_t left = kbi_clamp_i((int32_t)ceil(keypoint->x - half), 0, gray->width);
        int32_t right = kbi_clamp_i((int32_t)floor(keypoint->x + half), -1, gray->width - 1);
        const uint8_t *row = (const uint8_t *)gray->data + y * gray->stride;
        int64_t sum = 0, moment = 0;
        for (int32_t x = left; x <= right; x++) {
            sum += row[x];
            moment += (int64_t)x * row[x];
        }
        x_moment += moment * SUBPIXEL - sum * cx;
        y_moment += sum * (y * SUBPIXEL - cy);
    }
    return kbi_direction((double)y_moment, (double)x_moment);
}

static bool inside(const kb_image *gray, const kb_keypoint *k)
{
    return k->size > 0 && k->size <= 1048576.0f && k->x >= -0.5f && k->y >= -0.5f && k->x < (float)gray->width - 0.5f &&
           k->y < (float)gray->height - 0.5f;
}

/* ---- gradients, on upright patches of the pyramid that regions are sampled from ---- */

typedef struct orient_job {
    const kb_image *gray;
    kb_keypoint *keypoints;
    size_t n;
    float *confidence; /* may be NULL */
    kb_orientation rule;
    float scale;
    int32_t pieces;
    /* gradients */
    kbi_pyramid levels;
    const kbi_detect_kernels *kernels;
    const kbi_image_kernels *image_kernels;
} orient_job;

/* Keypoint i with an angle of 0 and the size of its region, which is -1 where it has none. */
static kb_keypoint upright(const orient_job *job, size_t i)
{
    kb_keypoint k = job->keypoints[i];
    k.angle = 0;
    k.size *= job->scale;
    if (!inside(job->gray, &k)) k.size = -1;
    return k;
}

/* Where the region of an upright keypoint is sampled; -1 for none. */
static int32_t level_of(const orient_job *job, const kb_keypoint *k)
{
    double width = (double)KBI_GRADIENT_REGION * (double)k->size;
    if (!(width > 0 && width <= KBI_WIDEST_REGION)) return -1;
    return kbi_pyramid_level_for(width / KB_PATCH_SIDE, job->levels.count);
}

/* As kbi_gradient_blocks, from an upright patch of 32x32 samples, two px of the level apart. */
static void gradient_patch_blocks(const uint8_t *patch, uint16_t *blocks)
{
    const uint8_t *row = patch + (KB_PATCH_SIDE / 2 - KBI_GRADIENT_BLOCKS) * (KB_PATCH_SIDE + 1);
    for (int32_t i = 0; i < KBI_GRADIENT_BLOCKS; i++, row += 2 * KB_PATCH_SIDE, blocks += KBI_GRADIENT_STRIDE) {
        for (int32_t j = 0; j < KBI_GRADIENT_BLOCKS; j++) {
            const uint8_t *p = row + 2 * j;
            blocks[j + 1] = (uint16_t)(4 * (p[0] + p[1] + p[KB_PATCH_SIDE] + p[KB_PATCH_SIDE + 1]));
        }
        blocks[0] = blocks[1];
        blocks[KBI_GRADIENT_BLOCKS + 1] = blocks[KBI_GRADIENT_BLOCKS];
    }
}

static kbi_gradient_direction direction_of(const orient_job *job, const kb_keypoint *k)
{
    uint8_t patch[KB_PATCH_SIDE * KB_PATCH_SIDE];
    uint16_t blocks[KBI_GRADIENT_ROOM] = {0};
    float sums[KBI_GRADIENT_SUMS], histogram[KBI_GRADIENT_DIRECTIONS];
    kbi_gradient_direction direction;
    kbi_sampling sampling;
    kbi_sampling_plan(&sampling, k, (double)KBI_GRADIENT_REGION * (double)k->size, KBI_GRID_PATCH, &job->levels);
    job->image_kernels->sample(&sampling, 1, KBI_GRID_PATCH, &job->levels, patch);
    gradient_patch_blocks(patch, blocks);
    job->kernels->gradient_sums(blocks, sums);
    kbi_gradient_peaks(histogram, job->kernels->gradient_histogram(sums, histogram), &direction);
    return direction;
}

static void set_angle(const orient_job *job, size_t i, float angle, float confidence)
{
    job->keypoints[i].angle = angle;
    if (job->confidence) job->confidence[i] = confidence;
}

static void gradient_task(void *context, int32_t piece)
{
    const orient_job *job = context;
    size_t end = kbi_piece(job->n, job->pieces, piece + 1);
    for (size_t i = kbi_piece(job->n, job->pieces, piece); i < end; i++) {
        kb_keypoint k = upright(job, i);
        kbi_gradient_direction direction = {.angle = -1};
        if (level_of(job, &k) >= 0) direction = direction_of(job, &k);
        set_angle(job, i, direction.angle, direction.confidence);
    }
}

static void orient_by_gradient(orient_job *job, const kb_parallel *parallel)
{
    uint32_t wanted = 0;
    for (size_t i = 0; i < job->n; i++) {
        kb_keypoint k = upright(job, i);
        int32_t level = level_of(job, &k);
        if (level >= 0) wanted |= (uint32_t)1 << level;
    }
    kbi_pyramid_make(&job->levels, job->image_kernels, wanted, parallel);
    kbi_parallel_run(parallel, job->pieces, gradient_task, job);
}

/* ---- public call ---- */

static void centroid_task(void *context, int32_t piece)
{
    const orient_job *job = context;
    size_t end = kbi_piece(job->n, job->pieces, piece + 1);
    for (size_t i = kbi_piece(job->n, job->pieces, piece); i < end; i++) {
        kb_keypoint k = upright(job, i);
        set_angle(job, i, k.size > 0 ? region_angle(job->gray, &k) : -1.0f, 0);
    }
}

/* What kb_orient takes from the workspace. */
static kb_status orient_get(orient_job *job, const kb_image *image, kb_image *gray, kb_workspace *workspace)
{
    kb_status status = kbi_gray8(image, workspace, gray);
    if (status != KB_OK || job->rule != KB_ORIENTATION_GRADIENT) return status;
    return kbi_pyramid_get(&job->levels, gray, 0, workspace);
}

kb_status kbi_orient_measure(const kb_image *image, size_t n, const kb_parallel *parallel, kb_workspace *workspace)
{
    orient_job job = {.rule = KB_ORIENTATION_GRADIENT, .n = n, .pieces = kbi_parallel_threads(parallel)};
    kb_image gray;
    size_t mark = kbi_workspace_mark(workspace);
    kb_status status = orient_get(&job, image, &gray, workspace);
    kbi_workspace_rewind(workspace, mark);
    return status;
}

static void orient(orient_job *job, const kb_parallel *parallel)
{
    job->kernels = kbi_detect_kernels_get();
    job->image_kernels = kbi_image_kernels_get();
    if (job->rule == KB_ORIENTATION_GRADIENT) orient_by_gradient(job, parallel);
    if (job->rule == KB_ORIENTATION_CENTROID) kbi_parallel_run(parallel, job->pieces, centroid_task, job);
    for (size_t i = 0; job->rule == KB_ORIENTATION_NONE && i < job->n; i++) set_angle(job, i, -1, 0);
}

kb_status kb_orient(const kb_image *image, const kb_orient_options *options, kb_workspace *workspace,
                    kb_features *features, float *confidence, kb_error *error)
{
    kb_orient_options o;
    kb_features f;
    kb_image gray;
    kbi_error_clear(error);
    if (KBI_STRUCT_READ(kb_orient_options, &o, options) != KB_OK) return kbi_fail_struct(error);
    kb_status status = kbi_features_read(&f, features, "features", KBI_KEYPOINTS, SIZE_MAX, error);
    if (status == KB_OK) status = kbi_features_scale(&f, &o.scale, error);
    if (status != KB_OK) return status;
    if (o.orientation == KB_ORIENTATION_DEFAULT) o.orientation = KB_ORIENTATION_GRADIENT;
    if (o.orientation < KB_ORIENTATION_GRADIENT || o.orientation > KB_ORIENTATION_NONE)
        return kbi_fail_at(error, KB_E_ARGUMENT, "orientation", -1, "there is no orientation %d", (int)o.orientation);
    kb_workspace local, *ws = kbi_workspace_or(workspace, &local);
    orient_job job = {.gray = &gray, .keypoints = f.keypoints, .n = f.n, .confidence = confidence,
                      .rule = o.orientation, .scale = o.scale, .pieces = kbi_parallel_threads(o.parallel)};
    status = orient_get(&job, image, &gray, ws);
    if (status == KB_OK) {
        orient(&job, o.parallel);
        f.upright = o.orientation == KB_ORIENTATION_NONE;
        kbi_features_write(features, &f);
    }
    if (kbi_workspace_lacks(&local, status)) kbi_orient_measure(image, f.n, o.parallel, ws);
    return kbi_workspace_end(&local, status, "keypoints, width, height, format", error);
}
