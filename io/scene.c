/* SPDX-License-Identifier: Apache-2.0 */
/* Freeing and finding in a reconstruction. */
#include "io/scene.h"

#include <stdlib.h>

#include "io/file.h"

void io_scene_free(io_scene *scene)
{
    for (size_t i = 0; i < scene->image_count; i++) {
        free(scene->images[i].name);
        free(scene->images[i].features);
    }
    free(scene->cameras);
    free(scene->images);
    free(scene->points);
    *scene = (io_scene){0};
}

size_t io_scene_point_index(const io_scene *scene, uint64_t id)
{
    size_t low = 0, high = scene->point_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (scene->points[middle].id < id) low = middle + 1;
        else high = middle;
    }
    return low < scene->point_count && scene->points[low].id == id ? low : SIZE_MAX;
}

static int compare_ids(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

uint64_t *io_scene_seen(const io_scene_image *image, size_t *count)
{
    uint64_t *ids = io_alloc(image->feature_count, sizeof *ids);
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < image->feature_count; i++)
        if (image->features[i].point != IO_SCENE_NO_POINT) ids[n++] = image->features[i].point;
    qsort(ids, n, sizeof *ids, compare_ids);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || ids[i] != ids[i - 1]) ids[kept++] = ids[i];
    *count = kept;
    return ids;
}

size_t io_scene_common(const uint64_t *a, size_t na, const uint64_t *b, size_t nb, uint64_t *out)
{
    size_t count = 0;
    for (size_t i = 0, k = 0; i < na && k < nb;) {
        bool same = a[i] == b[k];
        if (same && out) out[count] = a[i];
        count += same;
        if (a[i] < b[k]) i++;
        else k++;
    }
    return count;
}
