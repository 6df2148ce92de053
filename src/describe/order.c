/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing. */
/* The second step of describing: keypoints in the order of work. Neighbours come one after the other, so that their
 * pixels are still in the cache, whichever level they lie in: a counting sort by block of the image. */
#include "describe/steps.h"

#define BLOCK_WIDTH 64
#define BLOCK_HEIGHT 32

kb_status kbi_order_get(kbi_order *order, const kb_image *image, size_t keypoints, kb_workspace *workspace)
{
    order->across = (size_t)image->width / BLOCK_WIDTH + 1;
    order->blocks = order->across * ((size_t)image->height / BLOCK_HEIGHT + 1);
    order->keypoints = kbi_workspace_array(workspace, keypoints + order->blocks + 1, sizeof *order->keypoints);
    return order->keypoints ? KB_OK : KB_E_MEMORY;
}

static size_t block_of(const kbi_order *order, const kb_keypoint *k)
{
    /* A keypoint may lie half a pixel outside. */
    return (size_t)(k->y > 0 ? k->y : 0) / BLOCK_HEIGHT * order->across + (size_t)(k->x > 0 ? k->x : 0) / BLOCK_WIDTH;
}

void kbi_order_fill(kbi_order *order, const kbi_plan *plan)
{
    const size_t octaves = (size_t)plan->grid.octaves;
    uint32_t *start = order->keypoints + plan->n; /* of every block in the list */
    memset(start, 0, (order->blocks + 1) * sizeof *start);
    order->levels = 0;
    for (size_t i = 0; i < plan->n; i++) {
        const kbi_sampling *s = plan->samplings + i * octaves;
        if (s->level < 0) continue;
        start[block_of(order, &plan->keypoints[i]) + 1]++;
        for (size_t k = 0; k < octaves; k++) order->levels |= (uint32_t)1 << s[k].level;
    }
    for (size_t b = 0; b < order->blocks; b++) start[b + 1] += start[b];
    order->count = start[order->blocks];
    for (size_t i = 0; i < plan->n; i++)
        if (plan->samplings[i * octaves].level >= 0)
            order->keypoints[start[block_of(order, &plan->keypoints[i])]++] = (uint32_t)i;
}
