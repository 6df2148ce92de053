/* SPDX-License-Identifier: Apache-2.0 */
/* Freeing and finding in a reconstruction. */
#include "io/scene.h"

#include <stdlib.h>

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
