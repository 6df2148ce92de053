/* SPDX-License-Identifier: Apache-2.0 */
/* render_scenes [-v VIEWS] [-s SIDE] [-r SEED] OUT PHOTOGRAPH...
 *
 * A set of scenes in Oxford's layout (OUT/NAME/img1.png ..., H1to2p ...) to choose settings by: each photograph, its
 * longer side brought down to SIDE (default 800), is image 1; the others show it through random homographies and changes
 * of light (learn/warp.h, learn/synth.h). `keybits eval oxford OUT` reads it. What is chosen on such scenes has not seen
 * the sets that results are reported on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/image_io.h"
#include "learn/random.h"
#include "learn/synth.h"

typedef struct settings {
    const char *folder;
    int32_t views, side;
    uint64_t seed;
} settings;

static bool write_image(const char *folder, int32_t number, int32_t width, int32_t height, const uint8_t *pixels,
                        io_error *error)
{
    char name[32];
    snprintf(name, sizeof name, "img%d.png", (int)number);
    char *path = io_path_join(folder, name);
    bool ok = io_png_write(path, IO_GRAY8, width, height, pixels, error);
    free(path);
    return ok;
}

static bool write_homography(const char *folder, int32_t number, const double h[9], io_error *error)
{
    char name[32];
    snprintf(name, sizeof name, "H1to%dp", (int)number);
    char *path = io_path_join(folder, name);
    FILE *file = fopen(path, "w");
    for (int i = 0; file && i < 9; i++) fprintf(file, "%.17g%c", h[i], i % 3 == 2 ? '\n' : ' ');
    bool ok = (file && fclose(file) == 0) || io_fail(error, "%s: cannot be written", path);
    free(path);
    return ok;
}

/* The photograph with its longer side at most `side`. */
static uint8_t *shrink_photo(const kb_image *photo, int32_t side, kbi_view *view)
{
    int32_t longest = kbi_max_i(photo->width, photo->height);
    double factor = longest > side ? (double)longest / side : 1, shift = 0.5 * factor - 0.5;
    *view = (kbi_view){.width = (int32_t)(photo->width / factor), .height = (int32_t)(photo->height / factor),
                       .to_view = {1 / factor, 0, -shift / factor, 0, 1 / factor, -shift / factor, 0, 0, 1},
                       .to_photo = {factor, 0, shift, 0, factor, shift, 0, 0, 1}};
    size_t count = (size_t)view->width * (size_t)view->height;
    uint8_t *pixels = io_alloc(count, 1), *mask = io_alloc(count, 1);
    kbi_view_render(view, photo, pixels, mask);
    free(mask);
    return pixels;
}

static bool compress(uint8_t *pixels, int32_t width, int32_t height, int quality)
{
    return io_jpeg_round_trip(pixels, width, height, quality, NULL);
}

static bool render_view(const char *folder, const kb_image *photo, int32_t number, uint64_t seed,
                        io_error *error)
{
    kbi_view view;
    uint64_t state = kbi_random_fork(seed, (uint64_t)number);
    kbi_view_draw(&kbi_view_range_default, photo->width, photo->height, &state, &view);
    size_t count = (size_t)view.width * (size_t)view.height;
    uint8_t *pixels = io_alloc(count, 1), *mask = io_alloc(count, 1);
    kbi_view_render(&view, photo, pixels, mask);
    kbi_light_range light = kbi_light_range_default;
    light.codec = compress;
    bool ok = (kbi_light_change(&light, pixels, view.width, view.height, &state) == KB_OK ||
               io_fail(error, "%s: the light of view %d cannot be changed", folder, (int)number)) &&
              write_image(folder, number, view.width, view.height, pixels, error) &&
              write_homography(folder, number, view.to_view, error);
    free(pixels);
    free(mask);
    return ok;
}

static bool render_scene(const settings *s, const char *path, uint64_t index, io_error *error)
{
    char name[64];
    char *stem = io_path_stem(path);
    snprintf(name, sizeof name, "%03d-%.50s", (int)index, stem);
    free(stem);
    io_image image;
    if (!io_image_read(path, NULL, &image, error)) return false;
    char *folder = io_path_join(s->folder, name);
    kbi_view whole;
    uint8_t *pixels = shrink_photo(&image.view, s->side, &whole);
    kb_image photo = {pixels, whole.width, whole.height, whole.width, KB_FORMAT_GRAY8, 0};
    uint64_t seed = kbi_random_fork(s->seed, index);
    bool ok = mkdir(folder, 0777) == 0 || io_path_is_folder(folder) || io_fail(error, "%s: cannot be made", folder);
    ok = ok && write_image(folder, 1, photo.width, photo.height, pixels, error);
    for (int32_t v = 2; v <= s->views && ok; v++) ok = render_view(folder, &photo, v, seed, error);
    free(folder);
    free(pixels);
    io_image_free(&image);
    return ok;
}

int main(int argc, char **argv)
{
    settings s = {.views = 6, .side = 800, .seed = 1};
    io_error error;
    int option;
    while ((option = getopt(argc, argv, "v:s:r:")) != -1) {
        if (option == 'v') s.views = kbi_clamp_i(atoi(optarg), 2, KBI_SYNTH_MAX_VIEWS);
        else if (option == 's') s.side = kbi_clamp_i(atoi(optarg), 100, 10000);
        else if (option == 'r') s.seed = strtoull(optarg, NULL, 10);
        else return 2;
    }
    if (argc - optind < 2) return fprintf(stderr, "usage: render_scenes [-v VIEWS] [-s SIDE] [-r SEED] OUT PHOTO...\n"), 2;
    s.folder = argv[optind];
    if (mkdir(s.folder, 0777) != 0 && !io_path_is_folder(s.folder))
        return fprintf(stderr, "%s: cannot be made\n", s.folder), 1;
    for (int i = optind + 1; i < argc; i++)
        if (!render_scene(&s, argv[i], (uint64_t)(i - optind), &error)) return fprintf(stderr, "%s\n", error.text), 1;
    return 0;
}
