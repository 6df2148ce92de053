/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing. */
/* The first step of describing: the regions of keypoints. */
#include "describe/steps.h"

kb_status kbi_plan_get(kbi_plan *plan, kb_workspace *workspace)
{
    if (plan->n > UINT32_MAX / KB_OCTAVES) return KB_E_ARGUMENT; /* keypoints are numbered by 32 bits */
    size_t each = (size_t)plan->grid.octaves * sizeof *plan->samplings;
    plan->samplings = kbi_workspace_array(workspace, plan->n, each);
    return plan->samplings ? KB_OK : KB_E_MEMORY;
}

typedef struct plan_job {
    const kbi_plan *plan;
    const kbi_pyramid *levels;
    int32_t pieces;
} plan_job;

static void plan_piece(void *context, int32_t piece)
{
    const plan_job *job = context;
    const kbi_plan *p = job->plan;
    uint8_t flags[KBI_BATCH];
    size_t end = kbi_piece(p->n, job->pieces, piece + 1), octaves = (size_t)p->grid.octaves;
    for (size_t i = kbi_piece(p->n, job->pieces, piece); i < end; i += KBI_BATCH) {
        size_t n = end - i < KBI_BATCH ? end - i : KBI_BATCH;
        kbi_sampling *samplings = p->samplings + i * octaves;
        p->kernels->plan(p->keypoints + i, (int32_t)n, p->width_scale, p->grid, job->levels, samplings, flags);
        if (p->flags) memcpy(p->flags + i, flags, n);
        for (size_t k = 0; k < n; k++)
            if (samplings[k * octaves].level < 0) kbi_rows_clear(p->rows, i + k);
    }
}

void kbi_plan_regions(const kbi_plan *plan, const kbi_pyramid *levels, int32_t pieces, const kb_parallel *parallel)
{
    plan_job job = {plan, levels, pieces};
    kbi_parallel_run(parallel, pieces, plan_piece, &job);
}
