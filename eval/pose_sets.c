/* SPDX-License-Identifier: Apache-2.0 */
#include "eval/pose_sets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/scenes.h"
#include "io/colmap_model.h"
#include "io/json.h"
#include "io/number.h"

static const ev_pose_protocol strecha = {"Strecha", 1.5, false, false}, listed = {"cameras.txt", 1, false, false},
                              megadepth = {"MegaDepth-1500", 2.5, false, true},
                              scannet = {"ScanNet-1500", 1, true, true}, colmap = {"COLMAP", 1, false, false};

#define STRECHA_APART 3
enum { SCANNET_WIDTH = 640, SCANNET_HEIGHT = 480 };

/* ---------------------------------------------------------------------------------------------------------- numbers */

/* n finite numbers at *at, which moves on. */
static bool take_numbers(const char **at, double *out, int n)
{
    for (int i = 0; i < n; i++)
        if (!io_number_parse(*at, at, &out[i]) || !isfinite(out[i])) return false;
    return true;
}

static bool take_camera(const double k[9], kb_camera *out)
{
    KB_INIT(*out);
    out->fx = k[0], out->fy = k[4], out->cx = k[2], out->cy = k[5];
    return k[0] > 0 && k[4] > 0 && k[1] == 0 && k[3] == 0 && k[6] == 0 && k[7] == 0 && k[8] == 1;
}

/* A rotation as exact as lists of few digits have it. */
static bool is_rotation(const double r[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double dot = r[3 * i] * r[3 * j] + r[3 * i + 1] * r[3 * j + 1] + r[3 * i + 2] * r[3 * j + 2];
            if (!(fabs(dot - (i == j)) < 0.01)) return false;
        }
    return r[0] * (r[4] * r[8] - r[5] * r[7]) - r[1] * (r[3] * r[8] - r[5] * r[6]) +
               r[2] * (r[3] * r[7] - r[4] * r[6]) >
           0;
}

/* The first three rows of a 4x4 matrix. */
static bool take_pose(const double t[16], ev_posed_pair *pair)
{
    for (int i = 0; i < 3; i++) {
        memcpy(&pair->rotation[3 * i], &t[4 * i], 3 * sizeof *t);
        pair->translation[i] = t[4 * i + 3];
    }
    return is_rotation(pair->rotation);
}

/* -------------------------------------------------------------------------------------------------------- the lists */

/* The place of an image in the list; a new one is added. */
static size_t image_of(ev_pose_set *set, char *path, int32_t width, int32_t height)
{
    for (size_t i = set->image_count; i-- > 0;) { /* pairs name again what they named last */
        const ev_posed_image *image = &set->images[i];
        if (image->width != width || image->height != height || strcmp(image->path, path) != 0) continue;
        free(path);
        return i;
    }
    set->images = io_grow(set->images, set->image_count + 1, sizeof *set->images);
    set->images[set->image_count] = (ev_posed_image){path, width, height};
    return set->image_count++;
}

static void pair_add(ev_pose_set *set, const ev_posed_pair *pair)
{
    set->pairs = io_grow(set->pairs, set->pair_count + 1, sizeof *set->pairs);
    set->pairs[set->pair_count++] = *pair;
}

/* An image of a set that lists images; a point P of the world is seen along rotation P + translation. */
typedef struct posed_camera {
    kb_camera camera;
    double rotation[9], translation[3];
} posed_camera;

/* The pose of image b as image a sees the world. */
static void relative_pose(const posed_camera *a, const posed_camera *b, ev_posed_pair *pair)
{
    for (int i = 0; i < 3; i++) {
        pair->translation[i] = b->translation[i];
        for (int j = 0; j < 3; j++) {
            const double *x = &b->rotation[3 * i], *y = &a->rotation[3 * j];
            pair->rotation[3 * i + j] = x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
        }
        for (int j = 0; j < 3; j++) pair->translation[i] -= pair->rotation[3 * i + j] * a->translation[j];
    }
}

/* All pairs of images up to `apart` apart. */
static void pair_cameras(ev_pose_set *set, const posed_camera *cameras, size_t apart)
{
    for (size_t i = 0; i < set->image_count; i++)
        for (size_t k = 1; k <= apart && k <= i; k++) {
            ev_posed_pair pair = {.image = {i - k, i}, .camera = {cameras[i - k].camera, cameras[i].camera}};
            relative_pose(&cameras[i - k], &cameras[i], &pair);
            pair_add(set, &pair);
        }
}

/* ---------------------------------------------------------------------------------------------------------- Strecha */

static bool read_strecha_camera(const char *path, posed_camera *out, io_error *error)
{
    double v[26]; /* K, three numbers of distortion, R, C, size */
    io_bytes bytes;
    if (!io_text_read(path, &bytes, error)) return false;
    const char *at = (const char *)bytes.data;
    bool good = true;
    for (int i = 0; i < 26 && good; i++) {
        good = take_numbers(&at, &v[i], 1);
        if (!good) io_fail(error, "%s: number %d of the 26 of a camera is missing or wrong", path, i + 1);
    }
    io_bytes_free(&bytes);
    if (!good) return false;
    if (v[9] != 0 || v[10] != 0 || v[11] != 0) return io_fail(error, "%s: the camera has distortion", path);
    KB_INIT(out->camera);
    out->camera.fx = v[0], out->camera.fy = v[4], out->camera.cx = v[2], out->camera.cy = v[5];
    for (int i = 0; i < 3; i++) {
        out->translation[i] = 0;
        for (int j = 0; j < 3; j++) {
            out->rotation[3 * i + j] = v[12 + 3 * j + i];
            out->translation[i] -= out->rotation[3 * i + j] * v[21 + j];
        }
    }
    return true;
}

static bool open_strecha(const char *folder, size_t apart, ev_pose_set *set, io_error *error)
{
    io_names names = {NULL, 0};
    char *images = io_path_join(folder, "images");
    bool good = io_names_images(&names, 1, &images, error);
    posed_camera *cameras = io_alloc(names.count + 1, sizeof *cameras);
    for (size_t i = 0; i < names.count && good; i++) {
        char name[512];
        snprintf(name, sizeof name, "gt_dense_cameras/%.400s.camera", io_path_base(names.items[i]));
        char *camera = io_path_join(folder, name);
        good = read_strecha_camera(camera, &cameras[i], error);
        image_of(set, io_copy_string(names.items[i]), 0, 0);
        free(camera);
    }
    set->protocol = &strecha;
    if (good) pair_cameras(set, cameras, apart ? apart : STRECHA_APART);
    free(cameras);
    free(images);
    io_names_free(&names);
    return good;
}

/* ---------------------------------------------------------------------------------------------------- lines of text */

/* The next line that is neither blank nor a comment, ended by a zero in place; NULL at the end. */
static char *next_line(char **text, int *number)
{
    while (**text) {
        char *line = *text + strspn(*text, " \t\r"), *end = line + strcspn(line, "\n");
        *text = *end ? end + 1 : end;
        *end = '\0';
        ++*number;
        if (*line && *line != '#') return line;
    }
    return NULL;
}

/* The next word of the line as a path in the folder; NULL when there is none. */
static char *take_path(const char **at, const char *folder)
{
    const char *word = *at + strspn(*at, " \t");
    size_t length = strcspn(word, " \t\r");
    char *name = io_alloc(length + 1, 1);
    memcpy(name, word, length);
    *at = word + length;
    char *path = length ? io_path_join(folder, name) : NULL;
    free(name);
    return path;
}

static bool line_ends(const char *at) { return at[strspn(at, " \t\r")] == '\0'; }

static bool read_listed(const char *folder, const char *line, ev_pose_set *set, posed_camera *out)
{
    double k[4];
    char *path = take_path(&line, folder);
    if (!path) return false;
    bool good = take_numbers(&line, k, 4) && take_numbers(&line, out->rotation, 9) &&
                take_numbers(&line, out->translation, 3) && line_ends(line) && is_rotation(out->rotation) &&
                take_camera((const double[9]){k[0], 0, k[2], 0, k[1], k[3], 0, 0, 1}, &out->camera);
    size_t before = set->image_count;
    return image_of(set, path, 0, 0) == before && good; /* no image twice */
}

static bool open_listed(const char *path, const char *folder, size_t apart, ev_pose_set *set, io_error *error)
{
    io_bytes bytes;
    posed_camera *cameras = NULL;
    bool good = io_text_read(path, &bytes, error);
    if (!good) return false;
    char *text = (char *)bytes.data, *line;
    for (int number = 0; good && (line = next_line(&text, &number));) {
        cameras = io_grow(cameras, set->image_count + 1, sizeof *cameras);
        good = read_listed(folder, line, set, &cameras[set->image_count]) ||
               io_fail(error, "%s, line %d: not \"name fx fy cx cy R(9) T(3)\" of a new image", path, number);
    }
    set->protocol = &listed;
    if (good && cameras) pair_cameras(set, cameras, apart ? apart : set->image_count);
    free(cameras);
    io_bytes_free(&bytes);
    return good;
}

/* ---------------------------------------------------------------------------------------------------------- ScanNet */

static bool read_scannet(const char *folder, const char *line, ev_pose_set *set)
{
    double turn[2], k[2][9], t[16];
    ev_posed_pair pair;
    for (int i = 0; i < 2; i++) {
        char *path = take_path(&line, folder);
        if (!path) return false;
        pair.image[i] = image_of(set, path, SCANNET_WIDTH, SCANNET_HEIGHT);
    }
    bool good = take_numbers(&line, turn, 2) && take_numbers(&line, k[0], 18) && take_numbers(&line, t, 16) &&
                line_ends(line) && turn[0] == 0 && turn[1] == 0 && take_camera(k[0], &pair.camera[0]) &&
                take_camera(k[1], &pair.camera[1]) && take_pose(t, &pair);
    if (good) pair_add(set, &pair);
    return good;
}

static bool open_scannet(const char *path, const char *folder, size_t apart, ev_pose_set *set, io_error *error)
{
    io_bytes bytes;
    bool good = io_text_read(path, &bytes, error);
    (void)apart;
    if (!good) return false;
    char *text = (char *)bytes.data, *line;
    set->protocol = &scannet;
    for (int number = 0; good && (line = next_line(&text, &number));)
        good = read_scannet(folder, line, set) ||
               io_fail(error, "%s, line %d: not \"name1 name2 0 0 K1(9) K2(9) T(16)\" of images that are not turned",
                       path, number);
    io_bytes_free(&bytes);
    return good;
}

/* -------------------------------------------------------------------------------------------------------- MegaDepth */

/* The numbers of an array, or of an array of arrays; false unless there are n. */
static bool json_numbers(const io_json_value *array, double *out, int n)
{
    int count = 0;
    if (!array || array->kind != IO_JSON_ARRAY) return false;
    for (const io_json_value *row = array->first; row; row = row->next) {
        bool nested = row->kind == IO_JSON_ARRAY;
        for (const io_json_value *v = nested ? row->first : row; v; v = nested ? v->next : NULL) {
            if (count == n || v->kind != IO_JSON_NUMBER || !isfinite(v->number)) return false;
            out[count++] = v->number;
        }
    }
    return count == n;
}

static bool read_megadepth(const char *folder, const io_json_value *item, ev_pose_set *set)
{
    static const char *const sizes[2] = {"size0_hw", "size1_hw"}, *const cameras[2] = {"K0", "K1"};
    const io_json_value *names = io_json_get(item, "pair_names"), *name = names ? names->first : NULL;
    ev_posed_pair pair;
    double t[16];
    for (int i = 0; i < 2; i++, name = name->next) {
        double k[9], size[2];
        if (!name || name->kind != IO_JSON_STRING || !json_numbers(io_json_get(item, sizes[i]), size, 2) ||
            !(fmin(size[0], size[1]) >= 1 && fmax(size[0], size[1]) <= 65535) ||
            !json_numbers(io_json_get(item, cameras[i]), k, 9) || !take_camera(k, &pair.camera[i]))
            return false;
        pair.image[i] = image_of(set, io_path_join(folder, name->string), (int32_t)size[1], (int32_t)size[0]);
    }
    bool good = json_numbers(io_json_get(item, "T_0to1"), t, 16) && take_pose(t, &pair);
    if (good) pair_add(set, &pair);
    return good;
}

static bool open_megadepth(const char *path, const char *folder, size_t apart, ev_pose_set *set, io_error *error)
{
    io_json_value *root = io_json_read(path, error);
    bool good = root && (root->kind == IO_JSON_ARRAY || io_fail(error, "%s: not an array of pairs", path));
    char *images = io_path_join(folder, "megadepth_test_1500");
    size_t number = 1;
    (void)apart;
    set->protocol = &megadepth;
    for (const io_json_value *item = good ? root->first : NULL; item && good; item = item->next, number++)
        good = read_megadepth(io_path_is_folder(images) ? images : folder, item, set) ||
               io_fail(error, "%s: pair %zu lacks pair_names, K0, K1, T_0to1, size0_hw or size1_hw, or one is wrong",
                       path, number);
    free(images);
    io_json_free(root);
    return good;
}

/* ----------------------------------------------------------------------------------------------------------- COLMAP */

#define COLMAP_SHARED 30 /* points that both images of a pair see */
#define COLMAP_ANGLE 4.0 /* degrees, of the median angle between their rays */

static void centre_of(const io_scene_image *image, double c[3])
{
    const double *r = image->rotation, *t = image->translation;
    for (int k = 0; k < 3; k++) c[k] = -(r[k] * t[0] + r[3 + k] * t[1] + r[6 + k] * t[2]);
}

static double angle_at(const double point[3], const double a[3], const double b[3])
{
    double dot = 0, aa = 0, bb = 0;
    for (int k = 0; k < 3; k++) {
        double p = a[k] - point[k], q = b[k] - point[k];
        dot += p * q, aa += p * p, bb += q * q;
    }
    return acos(fmax(-1, fmin(1, dot / sqrt(aa * bb)))) * (180 / 3.14159265358979323846);
}

/* Whether half of the points are seen from directions that differ by COLMAP_ANGLE and more. */
static bool sees_depth(const io_scene *scene, const io_scene_image *a, const io_scene_image *b, const uint64_t *points,
                       size_t n)
{
    double ca[3], cb[3];
    size_t wide = 0;
    centre_of(a, ca);
    centre_of(b, cb);
    for (size_t i = 0; i < n; i++) {
        size_t at = io_scene_point_index(scene, points[i]);
        wide += at != SIZE_MAX && angle_at(scene->points[at].position, ca, cb) >= COLMAP_ANGLE;
    }
    return 2 * wide >= n;
}

static void add_scene_pair(const io_scene *scene, const char *images, const io_scene_image *const both[2],
                           ev_pose_set *set)
{
    ev_posed_pair pair;
    posed_camera cameras[2];
    for (int i = 0; i < 2; i++) {
        cameras[i].camera = scene->cameras[both[i]->camera].lens;
        memcpy(cameras[i].rotation, both[i]->rotation, sizeof cameras[i].rotation);
        memcpy(cameras[i].translation, both[i]->translation, sizeof cameras[i].translation);
        pair.image[i] = image_of(set, io_path_join(images, both[i]->name), 0, 0);
        pair.camera[i] = cameras[i].camera;
    }
    relative_pose(&cameras[0], &cameras[1], &pair);
    pair_add(set, &pair);
}

static void pair_scene(const io_scene *scene, const char *images, size_t apart, ev_pose_set *set)
{
    size_t n = scene->image_count, *counts = io_alloc(n, sizeof *counts);
    uint64_t **seen = io_alloc(n, sizeof *seen);
    for (size_t i = 0; i < n; i++) {
        const io_scene_image *b = &scene->images[i];
        seen[i] = io_scene_seen(b, &counts[i]);
        uint64_t *common = io_alloc(counts[i] + 1, sizeof *common);
        for (size_t k = 1; k <= apart && k <= i; k++) {
            const io_scene_image *a = &scene->images[i - k];
            size_t shared = io_scene_common(seen[i - k], counts[i - k], seen[i], counts[i], common);
            if (shared >= COLMAP_SHARED && sees_depth(scene, a, b, common, shared))
                add_scene_pair(scene, images, (const io_scene_image *const[2]){a, b}, set);
        }
        free(common);
    }
    for (size_t i = 0; i < n; i++) free(seen[i]);
    free(seen);
    free(counts);
}

static bool open_colmap(const char *model, const char *folder, size_t apart, ev_pose_set *set, io_error *error)
{
    io_scene scene;
    if (!io_colmap_model_read(model, &scene, error)) return false;
    char *images = io_path_join(folder, "images");
    bool good = true;
    for (size_t i = 0; i < scene.camera_count && good; i++)
        good = scene.cameras[i].lens.struct_size > 0 ||
               io_fail(error, "%s: camera %u is of a kind that is not read", model, (unsigned)scene.cameras[i].id);
    set->protocol = &colmap;
    if (good) pair_scene(&scene, images, apart ? apart : scene.image_count, set);
    free(images);
    io_scene_free(&scene);
    return good;
}

static bool is_model(const char *folder)
{
    static const char *const names[] = {"images.bin", "images.txt"};
    bool there = false;
    for (int i = 0; i < 2 && !there; i++) {
        char *path = io_path_join(folder, names[i]);
        there = io_path_exists(path);
        free(path);
    }
    return there;
}

/* ---------------------------------------------------------------------------------------------------------- opening */

typedef bool (*list_reader)(const char *path, const char *folder, size_t apart, ev_pose_set *set, io_error *error);

static const struct {
    const char *name;
    list_reader open;
} lists[] = {{"cameras.txt", open_listed},
             {"megadepth_1500.json", open_megadepth},
             {"scannet_test_pairs_with_gt.txt", open_scannet},
             {"scannet_sample_pairs_with_gt.txt", open_scannet}};

/* A folder of COLMAP's, which has a list named cameras.txt of its own: *is_one is false for others. */
static bool open_model(const char *folder, size_t apart, ev_pose_set *set, bool *is_one, io_error *error)
{
    char *inside = io_path_join(folder, "sparse/0");
    const char *model = is_model(inside) ? inside : folder;
    *is_one = is_model(model);
    bool good = *is_one && open_colmap(model, folder, apart, set, error);
    free(inside);
    return good;
}

static bool open_folder(const char *folder, size_t apart, ev_pose_set *set, io_error *error)
{
    bool is_one, opened = open_model(folder, apart, set, &is_one, error);
    if (is_one) return opened;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        char *path = io_path_join(folder, lists[i].name);
        bool there = io_path_exists(path), good = there && lists[i].open(path, folder, apart, set, error);
        free(path);
        if (there) return good;
    }
    char *cameras = io_path_join(folder, "gt_dense_cameras");
    bool there = io_path_is_folder(cameras);
    free(cameras);
    if (there) return open_strecha(folder, apart, set, error);
    return io_fail(error,
                   "%s: holds no cameras: gt_dense_cameras/, cameras.txt, sparse/0, megadepth_1500.json or "
                   "scannet_test_pairs_with_gt.txt",
                   folder);
}

/* A list by another name is known by its suffix. */
static bool open_list(const char *path, size_t apart, ev_pose_set *set, io_error *error)
{
    const char *base = io_path_base(path);
    list_reader open = io_path_has_suffix(path, ".json")  ? open_megadepth
                       : strcmp(base, "cameras.txt") == 0 ? open_listed
                                                          : open_scannet;
    char *folder = io_copy_string(path);
    if (base > path)
        folder[base - path - 1 + (base - path == 1)] = '\0';
    else
        strcpy(folder, ".");
    bool good = open(path, folder, apart, set, error);
    free(folder);
    return good;
}

bool ev_pose_set_open(const char *path, size_t apart, ev_pose_set *out, io_error *error)
{
    char *clean = ev_folder_clean(path);
    memset(out, 0, sizeof *out);
    bool good = io_path_exists(clean) && !io_path_is_folder(clean) ? open_list(clean, apart, out, error)
                                                                   : open_folder(clean, apart, out, error);
    if (good && out->pair_count == 0) good = io_fail(error, "%s: lists no pair of images", clean);
    free(clean);
    if (!good) ev_pose_set_free(out);
    return good;
}

void ev_pose_set_free(ev_pose_set *set)
{
    for (size_t i = 0; i < set->image_count; i++) free(set->images[i].path);
    free(set->images);
    free(set->pairs);
    memset(set, 0, sizeof *set);
}
