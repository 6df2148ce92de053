/* SPDX-License-Identifier: Apache-2.0 */
#include "eval/scenes.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/image_io.h"
#include "io/number.h"

/* ---- homographies ---- */

bool ev_homography_read(const char *path, double h[9], io_error *error)
{
    io_bytes bytes;
    if (!io_file_read(path, &bytes, error)) return false;
    const char *at = (const char *)bytes.data;
    const char *data = strstr(at, "<data>");
    bool good = true;
    if (data) at = data + strlen("<data>");
    for (int i = 0; i < 9 && good; i++) {
        good = io_number_parse(at, &at, &h[i]) && isfinite(h[i]);
        if (!good) io_fail(error, "%s: number %d of the nine of a homography is missing or wrong", path, i + 1);
    }
    at += strspn(at, " \t\r\n");
    if (good && *at != '\0' && !(data && *at == '<'))
        good = io_fail(error, "%s: more than the nine numbers of a homography", path);
    if (good &&
        h[0] * (h[4] * h[8] - h[5] * h[7]) - h[1] * (h[3] * h[8] - h[5] * h[6]) + h[2] * (h[3] * h[7] - h[4] * h[6]) ==
            0)
        good = io_fail(error, "%s: the homography is singular", path);
    io_bytes_free(&bytes);
    return good;
}

double ev_corner_error(const double found[9], const double wanted[9], int32_t width, int32_t height)
{
    double sum = 0;
    for (int corner = 0; corner < 4; corner++) {
        double x = corner & 1 ? width - 1 : 0, y = corner & 2 ? height - 1 : 0, fx, fy, wx, wy;
        kb_homography_apply(found, x, y, &fx, &fy);
        kb_homography_apply(wanted, x, y, &wx, &wy);
        sum += sqrt((fx - wx) * (fx - wx) + (fy - wy) * (fy - wy)) / 4;
    }
    return isfinite(sum) ? sum : INFINITY;
}

/* The file that holds the homography from image 1 to image k; NULL when there is none. */
static char *find_homography(const char *folder, int k)
{
    static const char *const patterns[] = {"H1to%dp", "H1to%dp.xml", "H1to%dp.txt", "H_1_%d", "H_1_%d.txt"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        char name[32];
        snprintf(name, sizeof name, patterns[i], k);
        char *path = io_path_join(folder, name);
        if (io_path_is_file(path)) return path;
        free(path);
    }
    return NULL;
}

/* ---- images ---- */

static const char *find_stem(const io_names *files, const char *stem)
{
    for (size_t i = 0; i < files->count; i++) {
        char *own = io_path_stem(files->items[i]);
        bool same = strcmp(own, stem) == 0;
        free(own);
        if (same) return files->items[i];
    }
    return NULL;
}

/* img1, img2, ... or 1, 2, ... in order of their numbers; without img1 or 1 every image in order of names. */
static void order_images(const io_names *files, io_names *images)
{
    static const char *const patterns[] = {"img%d", "%d"};
    for (size_t i = 0; i < 2; i++) {
        char stem[32];
        const char *path;
        for (int k = 1; snprintf(stem, sizeof stem, patterns[i], k), (path = find_stem(files, stem)) != NULL; k++)
            io_names_add(images, path);
        if (images->count > 0) return;
    }
    for (size_t i = 0; i < files->count; i++) io_names_add(images, files->items[i]);
}

static bool read_homographies(const char *folder, ev_scene *scene, io_error *error)
{
    static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    size_t found = 0;
    int missing = 0;
    scene->h = io_alloc(scene->images.count, sizeof *scene->h);
    for (size_t i = 0; i < scene->images.count; i++) {
        memcpy(scene->h[i], identity, sizeof identity);
        if (i == 0) continue;
        char *path = find_homography(folder, (int)i + 1);
        bool good = path == NULL || ev_homography_read(path, scene->h[i], error);
        if (path) found++;
        else missing = (int)i + 1;
        free(path);
        if (!good) return false;
    }
    scene->fixed_camera = found == 0;
    if (found > 0 && missing > 0)
        return io_fail(error, "%s: no homography from image 1 to image %d (H1to%dp, H1to%dp.xml or H_1_%d)", folder,
                       missing, missing, missing, missing);
    return true;
}

/* *is_scene tells whether the folder holds two images or more. */
static bool open_scene(const char *folder, ev_scene *scene, bool *is_scene, io_error *error)
{
    io_names files = {NULL, 0};
    memset(scene, 0, sizeof *scene);
    if (!io_names_folder(&files, folder, io_image_suffixes, error)) return false;
    order_images(&files, &scene->images);
    io_names_free(&files);
    *is_scene = scene->images.count >= 2;
    scene->name = io_copy_string(io_path_base(folder));
    return !*is_scene || read_homographies(folder, scene, error);
}

static void free_scene(ev_scene *scene)
{
    free(scene->name);
    free(scene->h);
    io_names_free(&scene->images);
}

/* ---- folders ---- */

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

bool ev_folders_in(const char *folder, io_names *out, io_error *error)
{
    DIR *stream = opendir(folder);
    if (!stream) return io_fail(error, "%s: cannot be read as a folder", folder);
    struct dirent *entry;
    memset(out, 0, sizeof *out);
    while ((entry = readdir(stream)) != NULL) {
        if (entry->d_name[0] == '.') continue;
        char *path = io_path_join(folder, entry->d_name);
        if (io_path_is_folder(path)) io_names_add(out, path);
        free(path);
    }
    closedir(stream);
    if (out->count > 0) qsort(out->items, out->count, sizeof *out->items, by_name);
    return true;
}

static bool add_scene(ev_scenes *scenes, const char *folder, io_error *error)
{
    ev_scene scene;
    bool is_scene = false;
    bool good = open_scene(folder, &scene, &is_scene, error);
    if (!good || !is_scene) {
        free_scene(&scene);
        return good;
    }
    scenes->items = io_grow(scenes->items, scenes->count + 1, sizeof *scenes->items);
    scenes->items[scenes->count++] = scene;
    return true;
}

char *ev_folder_clean(const char *folder)
{
    char *copy = io_copy_string(folder);
    for (size_t n = strlen(copy); n > 1 && copy[n - 1] == '/'; n--) copy[n - 1] = '\0';
    return copy;
}

bool ev_scenes_open(const char *folder, ev_scenes *out, io_error *error)
{
    io_names folders = {NULL, 0};
    char *path = ev_folder_clean(folder);
    memset(out, 0, sizeof *out);
    bool good = add_scene(out, path, error);
    if (good && out->count == 0) good = ev_folders_in(path, &folders, error);
    for (size_t i = 0; good && i < folders.count; i++) good = add_scene(out, folders.items[i], error);
    if (good && out->count == 0)
        good = io_fail(error, "%s: holds no images, nor folders with two images or more", path);
    io_names_free(&folders);
    free(path);
    if (!good) ev_scenes_free(out);
    return good;
}

void ev_scenes_free(ev_scenes *scenes)
{
    for (size_t i = 0; i < scenes->count; i++) free_scene(&scenes->items[i]);
    free(scenes->items);
    memset(scenes, 0, sizeof *scenes);
}
