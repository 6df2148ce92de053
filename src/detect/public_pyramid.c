/* SPDX-License-Identifier: Apache-2.0 */
/* The pyramid of the corner detectors for callers that read it, such as stereo SLAM: the same levels that kb_detect
 * searches, in the caller's buffer. */
#include "detect/corners.h"
#include "detect/detectors.h"
#include "image/image.h"

/* Bytes of the levels that must be made, one after the other from an aligned address: level 0 only when the image has
 * 16 bits. */
static size_t pyramid_bytes(const kbi_levels *l, bool own_level0)
{
    size_t bytes = KBI_ALIGN - 1;
    for (int32_t i = own_level0 ? 0 : 1; i < l->count; i++)
        bytes += (size_t)l->level[i].stride * (size_t)l->level[i].height;
    return bytes;
}

static void pyramid_place(kbi_levels *l, bool own_level0, void *buffer)
{
    uint8_t *next = (uint8_t *)(((uintptr_t)buffer + KBI_ALIGN - 1) & ~(uintptr_t)(KBI_ALIGN - 1));
    for (int32_t i = own_level0 ? 0 : 1; i < l->count; i++) {
        l->level[i].data = l->made[i] = next;
        next += (size_t)l->level[i].stride * (size_t)l->level[i].height;
    }
}

static kb_status pyramid_make(kbi_levels *l, const kb_image *image, bool own_level0, void *buffer,
                              kb_workspace *workspace)
{
    kb_image gray;
    kb_status status = kbi_gray8(image, workspace, &gray);
    if (status != KB_OK) return status;
    if (!kbi_levels_maps_get(l, workspace)) return KB_E_MEMORY;
    pyramid_place(l, own_level0, buffer);
    kbi_level *first = &l->level[0];
    if (own_level0) {
        for (int32_t y = 0; y < gray.height; y++)
            memcpy(l->made[0] + y * first->stride, (const uint8_t *)gray.data + y * gray.stride, (size_t)gray.width);
    } else {
        first->data = gray.data;
        first->stride = gray.stride;
    }
    for (int32_t i = 1; i < l->count; i++) kbi_levels_build(l, i);
    return KB_OK;
}

static void pyramid_fill(const kbi_levels *l, kb_pyramid *pyramid)
{
    kb_pyramid full = {.levels = l->count};
    for (int32_t i = 0; i < l->count; i++) {
        const kbi_level *level = &l->level[i];
        full.level[i] = (kb_image){level->data, level->width, level->height, level->stride, KB_FORMAT_GRAY8, 0};
        full.factor[i] = level->factor;
    }
    KBI_STRUCT_WRITE(kb_pyramid, pyramid, &full);
}

kb_status kb_pyramid_build(const kb_image *image, const kb_detect_options *options, kb_workspace *workspace,
                           void *buffer, size_t capacity, kb_pyramid *pyramid, size_t *size)
{
    kb_detect_options o;
    if (!size || (buffer && !pyramid)) return KB_E_ARGUMENT;
    kb_status status = kbi_image_check(image);
    if (status == KB_OK) status = kbi_detect_options_read(&o, options, NULL);
    if (status == KB_OK && pyramid) status = KBI_STRUCT_CHECK(kb_pyramid, pyramid);
    if (status != KB_OK) return status;
    const kbi_measure *measure = kbi_detector_find(o.detector)->measure;
    if (!measure) return KB_E_KIND;
    bool own_level0 = image->format != KB_FORMAT_GRAY8;
    kbi_levels levels = {.threads = kbi_parallel_threads(o.parallel), .parallel = o.parallel,
                         .kernels = kbi_detect_kernels_get()};
    kbi_corners_levels(&levels, image, &o, measure);
    levels.level[0].stride = own_level0 ? (ptrdiff_t)kbi_round_up((size_t)image->width) : image->stride;
    *size = pyramid_bytes(&levels, own_level0);
    if (!buffer) return KB_OK;
    if (capacity < *size) return KB_E_SPACE;
    kb_workspace local;
    workspace = kbi_workspace_or(workspace, &local);
    size_t mark = kbi_workspace_mark(workspace);
    if (levels.count > 0) status = pyramid_make(&levels, image, own_level0, buffer, workspace);
    if (status == KB_OK) pyramid_fill(&levels, pyramid);
    kbi_workspace_rewind(workspace, mark);
    kbi_workspace_release(&local);
    return status;
}
