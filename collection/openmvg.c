/* SPDX-License-Identifier: Apache-2.0 */
/* Files of OpenMVG. Its JSON comes from the library cereal: pointers have numbers with the highest bit set, a type is
 * named where it comes first and has a number from then on. */
#include <stdlib.h>
#include <string.h>

#include "collection/collection.h"
#include "io/json.h"

#define NEW 2147483648 /* the highest bit of 32 */
#define BASE 1073741824 /* a pointer to no derived type */

typedef struct openmvg_output {
    collection *c;
    const char *folder;
    io_json json;
    uint32_t *ids; /* of images that have features, the others are left out */
    uint32_t count;
    io_writer *writer;
} openmvg_output;

/* `name` below the folder. */
static io_writer *openmvg_open(const openmvg_output *o, const char *name, io_error *error)
{
    char *path = io_path_join(o->folder, name);
    io_writer *writer = io_writer_open(path, error);
    free(path);
    return writer;
}

static void openmvg_view(io_json *json, const char *name, const features *f, uint32_t id)
{
    io_json_object(json, NULL);
    io_json_integer(json, "key", id);
    io_json_object(json, "value");
    io_json_integer(json, "polymorphic_id", BASE);
    io_json_object(json, "ptr_wrapper");
    io_json_integer(json, "id", NEW + 1 + id);
    io_json_object(json, "data");
    io_json_string(json, "local_path", "");
    io_json_string(json, "filename", name);
    io_json_integer(json, "width", f->width);
    io_json_integer(json, "height", f->height);
    io_json_integer(json, "id_view", id);
    io_json_integer(json, "id_intrinsic", id);
    io_json_integer(json, "id_pose", id);
    for (int i = 0; i < 4; i++) io_json_end(json);
}

/* Every camera as pinhole_radial_k3; other distortion is left out. */
static void openmvg_intrinsic(io_json *json, const io_camera *camera, const features *f, uint32_t id, uint32_t views)
{
    bool two = camera->model == IO_PINHOLE || camera->model == IO_OPENCV, radial = camera->model != IO_SIMPLE_PINHOLE && camera->model != IO_PINHOLE;
    const double *p = camera->parameters;
    io_json_object(json, NULL);
    io_json_integer(json, "key", id);
    io_json_object(json, "value");
    io_json_integer(json, "polymorphic_id", id == 0 ? NEW + 1 : 1);
    if (id == 0) io_json_string(json, "polymorphic_name", "pinhole_radial_k3");
    io_json_object(json, "ptr_wrapper");
    io_json_integer(json, "id", NEW + 1 + views + id);
    io_json_object(json, "data");
    io_json_integer(json, "width", f->width);
    io_json_integer(json, "height", f->height);
    io_json_number(json, "focal_length", two ? (p[0] + p[1]) / 2 : p[0]);
    io_json_array(json, "principal_point");
    for (int i = 0; i < 2; i++) io_json_number(json, NULL, p[(two ? 2 : 1) + i]);
    io_json_end(json);
    io_json_array(json, "disto_k3");
    for (int i = 0; i < 3; i++)
        io_json_number(json, NULL, radial && i < (camera->model == IO_SIMPLE_RADIAL ? 1 : 2) ? p[(two ? 4 : 3) + i] : 0);
    io_json_end(json);
    for (int i = 0; i < 4; i++) io_json_end(json);
}

/* IMAGE.feat; to be freed. */
static char *openmvg_features_name(const collection *c, size_t image)
{
    char *stem = io_path_stem(c->names.items[image]), *name = io_alloc(strlen(stem) + 6, 1);
    sprintf(name, "%s.feat", stem);
    free(stem);
    return name;
}

/* x y scale angle per line, the angle in radians. */
static bool openmvg_features(void *context, size_t image, const features *f, io_error *error)
{
    openmvg_output *o = context;
    char *name = openmvg_features_name(o->c, image);
    io_writer *writer = openmvg_open(o, name, error);
    free(name);
    if (!writer) return false;
    for (size_t i = 0; i < f->keypoints.count; i++) {
        const kb_keypoint *k = &f->keypoints.items[i];
        double angle = k->angle < 0 ? 0 : (double)k->angle * 3.14159265358979323846 / 180;
        fprintf(io_writer_file(writer), "%.9g %.9g %.9g %.9g\n", (double)k->x, (double)k->y, (double)k->size / 2, angle);
    }
    o->ids[image] = o->count++;
    return io_writer_commit(writer, error);
}

static bool openmvg_view_take(void *context, size_t image, const features *f, io_error *error)
{
    openmvg_output *o = context;
    (void)error;
    openmvg_view(&o->json, o->c->names.items[image], f, o->ids[image]);
    return true;
}

static bool openmvg_intrinsic_take(void *context, size_t image, const features *f, io_error *error)
{
    openmvg_output *o = context;
    io_camera camera = collection_camera(o->c, f);
    (void)error;
    openmvg_intrinsic(&o->json, &camera, f, o->ids[image], o->count);
    return true;
}

/* The folder that all names are below, as an absolute path. */
static char *root_path(const collection *c)
{
    char *first = realpath(c->images.items[0], NULL);
    const char *path = first ? first : c->images.items[0];
    size_t name = strlen(c->names.items[0]), all = strlen(path);
    char *root = io_copy_string(path);
    if (all > name && strcmp(path + all - name, c->names.items[0]) == 0) root[all - name - 1] = '\0';
    free(first);
    return root;
}

static bool openmvg_data(openmvg_output *o, io_error *error)
{
    io_writer *writer = openmvg_open(o, "sfm_data.json", error);
    if (!writer) return false;
    io_json *json = &o->json;
    char *root = root_path(o->c);
    io_json_begin(json, io_writer_file(writer));
    io_json_object(json, NULL);
    io_json_string(json, "sfm_data_version", "0.3");
    io_json_string(json, "root_path", root);
    free(root);
    io_json_array(json, "views");
    bool ok = collection_each_image(o->c, openmvg_view_take, o, error);
    io_json_end(json);
    io_json_array(json, "intrinsics");
    ok = ok && collection_each_image(o->c, openmvg_intrinsic_take, o, error);
    io_json_end(json);
    static const char *const empty[] = {"extrinsics", "structure", "control_points"};
    for (int i = 0; i < 3; i++) {
        io_json_array(json, empty[i]);
        io_json_end(json);
    }
    io_json_end(json);
    if (ok) return io_writer_commit(writer, error);
    io_writer_abandon(writer);
    return false;
}

/* Which kind of features there are: OpenMVG's own binary ones; only their places are read from here on. */
static bool openmvg_describer(const openmvg_output *o, io_error *error)
{
    io_writer *writer = openmvg_open(o, "image_describer.json", error);
    if (!writer) return false;
    io_json json;
    io_json_begin(&json, io_writer_file(writer));
    io_json_object(&json, NULL);
    io_json_object(&json, "regions_type");
    io_json_integer(&json, "polymorphic_id", NEW + 1);
    io_json_string(&json, "polymorphic_name", "AKAZE_Binary_Regions");
    io_json_object(&json, "ptr_wrapper");
    io_json_integer(&json, "valid", 1);
    io_json_object(&json, "data");
    for (int i = 0; i < 2; i++) {
        io_json_array(&json, i ? "value1" : "value0");
        io_json_end(&json);
    }
    for (int i = 0; i < 4; i++) io_json_end(&json);
    return io_writer_commit(writer, error);
}

static bool openmvg_pair(void *context, const collection_pair *p, io_error *error)
{
    openmvg_output *o = context;
    FILE *out = io_writer_file(o->writer);
    fprintf(out, "%u %u\n%u\n", o->ids[p->a], o->ids[p->b], p->inliers);
    for (size_t i = 0; i < p->inliers; i++) fprintf(out, "%d %d\n", p->matches[i].a, p->matches[i].b);
    return io_writer_check(o->writer, error);
}

static bool openmvg_matches(openmvg_output *o, io_error *error)
{
    o->writer = openmvg_open(o, "matches.f.txt", error);
    if (!o->writer) return false;
    if (collection_pairs_read(o->c, openmvg_pair, o, error)) return io_writer_commit(o->writer, error);
    io_writer_abandon(o->writer);
    return false;
}

static int compare_strings(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* OpenMVG names the features of a/1.jpg and b/1.jpg alike. */
static bool openmvg_stems(const collection *c, io_error *error)
{
    size_t n = c->images.count;
    char **stems = io_alloc(n + 1, sizeof *stems);
    bool ok = true;
    for (size_t i = 0; i < n; i++) stems[i] = io_path_stem(c->names.items[i]);
    qsort(stems, n, sizeof *stems, compare_strings);
    for (size_t i = 1; ok && i < n; i++)
        if (strcmp(stems[i - 1], stems[i]) == 0)
            ok = io_fail(error, "--openmvg: two images are called \"%s\", which OpenMVG does not tell apart", stems[i]);
    for (size_t i = 0; i < n; i++) free(stems[i]);
    free(stems);
    return ok;
}

static void openmvg_output_add(const char *folder, const char *name, io_names *out)
{
    char *path = io_path_join(folder, name);
    io_names_add(out, path);
    free(path);
}

bool collection_openmvg_outputs(const collection *c, const char *folder, io_names *out, io_error *error)
{
    static const char *const fixed[] = {"sfm_data.json", "image_describer.json", "matches.f.txt"};
    if (!openmvg_stems(c, error)) return false;
    for (int i = 0; i < 3; i++) openmvg_output_add(folder, fixed[i], out);
    for (size_t i = 0; i < c->images.count; i++) {
        char *name = openmvg_features_name(c, i);
        openmvg_output_add(folder, name, out);
        free(name);
    }
    return true;
}

bool collection_openmvg_write(collection *c, const char *folder, io_error *error)
{
    openmvg_output o = {.c = c, .folder = folder, .ids = io_alloc(c->images.count + 1, sizeof *o.ids)};
    bool ok = openmvg_stems(c, error) && io_folder_make(folder, error) &&
              collection_each_image(c, openmvg_features, &o, error) && openmvg_data(&o, error) &&
              openmvg_describer(&o, error) && openmvg_matches(&o, error);
    free(o.ids);
    return ok;
}
