/* The kernels of describing that need scratch, and how much. */
#ifndef KBI_TMPL_SCRATCH_H
#define KBI_TMPL_SCRATCH_H

#include "simd/tmpl_boxes.h"
#include "simd/tmpl_sift.h"

_Static_assert(sizeof(boxes_scratch) + 2 * KB_MAX_BITS * sizeof(vec) <= KBI_KERNEL_SCRATCH &&
                   sizeof(sift_scratch) <= KBI_KERNEL_SCRATCH,
               "scratch");

static size_t scratch_bytes_simd(const kb_model *model)
{
    return KB_BAD_ONLY || kbi_kind_has_boxes(model->spec.kind) ? boxes_scratch_bytes(model) : sizeof(sift_scratch);
}

#endif
