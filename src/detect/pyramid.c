/* The pyramid of the ORB detector for callers that read it, such as stereo SLAM: the same levels that kb_detect searches,
 * in the caller's buffer. */
#include "common/structs.h"
#include "detect/orb.h"
#include "image/image.h"

/* Bytes of the levels that must be made, one after the other from an aligned address: level 0 only when the image has
 * 16 bits. */
static size_t pyramid_bytes(const kbi_orb *o, bool own_level0)
{
    size_t bytes = KBI_ALIGN - 1;
    for (int32_t i = own_level0 ? 0 : 1; i < o->levels; i++)
        bytes += (size_t)o->level[i].stride * (size_t)o->level[i].height;
    return bytes;
}

static void pyramid_place(kbi_orb *o, bool own_level0, void *buffer)
{
    uint8_t *next = (uint8_t *)(((uintptr_t)buffer + KBI_ALIGN - 1) & ~(uintptr_t)(KBI_ALIGN - 1));
    for (int32_t i = own_level0 ? 0 : 1; i < o->levels; i++) {
        kbi_orb_level *level = &o->level[i];
        level->data = level->made = next;
        next += (size_t)level->stride * (size_t)level->height;
    }
}

static kb_status pyramid_make(kbi_orb *o, const kb_image *image, bool own_level0, void *buffer)
{
    kb_image gray;
    kb_status status = kbi_gray8(image, o->job->workspace, &gray);
    if (status != KB_OK) return status;
    if (!kbi_orb_maps_get(o)) return KB_E_MEMORY;
    pyramid_place(o, own_level0, buffer);
    kbi_orb_level *first = &o->level[0];
    if (own_level0) {
        for (int32_t y = 0; y < gray.height; y++)
            memcpy(first->made + y * first->stride, (const uint8_t *)gray.data + y * gray.stride, (size_t)gray.width);
    } else {
        first->data = gray.data;
        first->stride = gray.stride;
    }
    for (int32_t i = 1; i < o->levels; i++) kbi_orb_build_level(o, i);
    return KB_OK;
}

static void pyramid_fill(const kbi_orb *o, kb_pyramid *pyramid)
{
    kb_pyramid full = {.levels = o->levels};
    for (int32_t i = 0; i < o->levels; i++) {
        const kbi_orb_level *level = &o->level[i];
        full.level[i] = (kb_image){level->data, level->width, level->height, level->stride, KB_GRAY8, 0};
        full.factor[i] = level->factor;
    }
    KBI_STRUCT_WRITE(kb_pyramid, pyramid, &full);
}

kb_status kb_pyramid_build(const kb_image *image, const kb_detect_options *options, kb_workspace *workspace,
                           void *buffer, size_t capacity, kb_pyramid *pyramid, size_t *size)
{
    kbi_detect_job job;
    if (!size || (buffer && !pyramid)) return KB_E_ARGUMENT;
    kb_status status = kbi_image_check(image);
    if (status == KB_OK) status = kbi_detect_options_read(&job.options, options);
    if (status == KB_OK && pyramid) status = KBI_STRUCT_CHECK(kb_pyramid, pyramid);
    if (status != KB_OK) return status;
    bool own_level0 = image->format != KB_GRAY8;
    kbi_orb o = {.job = &job, .threads = kbi_parallel_threads(job.options.parallel)};
    job.image = *image;
    kbi_orb_plan_levels(&o);
    *size = pyramid_bytes(&o, own_level0);
    if (!buffer) return KB_OK;
    if (capacity < *size) return KB_E_SPACE;
    kbi_detect_kernels_init(&o.kernels, kbi_cpu_flags());
    kb_workspace local;
    job.workspace = kbi_workspace_or(workspace, &local);
    size_t mark = kbi_workspace_mark(job.workspace);
    if (o.levels > 0) status = pyramid_make(&o, image, own_level0, buffer);
    if (status == KB_OK) pyramid_fill(&o, pyramid);
    kbi_workspace_rewind(job.workspace, mark);
    kbi_workspace_release(&local);
    return status;
}
