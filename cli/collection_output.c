/* What keybits collection writes besides COLMAP's database: files of OpenMVG, and matches as text or arrays. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collection.h"
#include "io/json.h"
#include "io/npz.h"

io_camera collection_camera(const collection_job *j, const features *f)
{
    return j->camera_text ? j->camera : io_camera_guess(f->width, f->height);
}

/* ---- OpenMVG ----
 * Its JSON is that of the library cereal: pointers have numbers with the highest bit set, a type is named where it comes
 * first and has a number from then on. */

#define NEW 2147483648 /* the highest bit of 32 */
#define BASE 1073741824 /* a pointer to no derived type */

typedef struct openmvg_output {
    const collection_job *j;
    io_json json;
    uint32_t *ids; /* of images that have features, the others are left out */
    uint32_t count;
    io_writer *writer;
} openmvg_output;

/* `name` below the folder. */
static io_writer *openmvg_open(const collection_job *j, const char *name, io_error *error)
{
    char *path = io_path_join(j->openmvg, name);
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
static void openmvg_intrinsic(io_json *json, const io_camera *c, const features *f, uint32_t id, uint32_t views)
{
    bool two = c->model == IO_PINHOLE || c->model == IO_OPENCV, radial = c->model != IO_SIMPLE_PINHOLE && c->model != IO_PINHOLE;
    const double *p = c->parameters;
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
        io_json_number(json, NULL, radial && i < (c->model == IO_SIMPLE_RADIAL ? 1 : 2) ? p[(two ? 4 : 3) + i] : 0);
    io_json_end(json);
    for (int i = 0; i < 4; i++) io_json_end(json);
}

/* Calls take for every image that has features. */
static bool each_image(const collection_job *j, bool (*take)(void *context, size_t image, const features *f, io_error *error),
                       void *context, io_error *error)
{
    for (size_t i = 0; i < j->images.count; i++) {
        features f;
        if (!j->good[i]) continue;
        if (!collection_features_read(j, i, &f)) return io_fail(error, "%s: its features are gone", j->images.items[i]);
        bool ok = take(context, i, &f, error);
        features_free(&f);
        if (!ok) return false;
    }
    return true;
}

/* IMAGE.feat; to be freed. */
static char *openmvg_features_name(const collection_job *j, size_t image)
{
    char *stem = io_path_stem(j->names.items[image]), *name = io_alloc(strlen(stem) + 6, 1);
    sprintf(name, "%s.feat", stem);
    free(stem);
    return name;
}

/* x y scale angle per line, the angle in radians. */
static bool openmvg_features(void *context, size_t image, const features *f, io_error *error)
{
    openmvg_output *o = context;
    char *name = openmvg_features_name(o->j, image);
    io_writer *writer = openmvg_open(o->j, name, error);
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
    openmvg_view(&o->json, o->j->names.items[image], f, o->ids[image]);
    return true;
}

static bool openmvg_intrinsic_take(void *context, size_t image, const features *f, io_error *error)
{
    openmvg_output *o = context;
    io_camera camera = collection_camera(o->j, f);
    (void)error;
    openmvg_intrinsic(&o->json, &camera, f, o->ids[image], o->count);
    return true;
}

/* The folder that all names are below, as an absolute path. */
static char *root_path(const collection_job *j)
{
    char *first = realpath(j->images.items[0], NULL);
    const char *path = first ? first : j->images.items[0];
    size_t name = strlen(j->names.items[0]), all = strlen(path);
    char *root = io_copy_string(path);
    if (all > name && strcmp(path + all - name, j->names.items[0]) == 0) root[all - name - 1] = '\0';
    free(first);
    return root;
}

static bool openmvg_data(openmvg_output *o, io_error *error)
{
    io_writer *writer = openmvg_open(o->j, "sfm_data.json", error);
    if (!writer) return false;
    io_json *json = &o->json;
    char *root = root_path(o->j);
    io_json_begin(json, io_writer_file(writer));
    io_json_object(json, NULL);
    io_json_string(json, "sfm_data_version", "0.3");
    io_json_string(json, "root_path", root);
    free(root);
    io_json_array(json, "views");
    bool ok = each_image(o->j, openmvg_view_take, o, error);
    io_json_end(json);
    io_json_array(json, "intrinsics");
    ok = ok && each_image(o->j, openmvg_intrinsic_take, o, error);
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
static bool openmvg_describer(const collection_job *j, io_error *error)
{
    io_writer *writer = openmvg_open(j, "image_describer.json", error);
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
    o->writer = openmvg_open(o->j, "matches.f.txt", error);
    if (!o->writer) return false;
    if (collection_pairs_read(o->j, openmvg_pair, o, error)) return io_writer_commit(o->writer, error);
    io_writer_abandon(o->writer);
    return false;
}

static int compare_strings(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* OpenMVG names the features of a/1.jpg and b/1.jpg alike. */
static bool openmvg_stems(const collection_job *j, io_error *error)
{
    size_t n = j->images.count;
    char **stems = io_alloc(n + 1, sizeof *stems);
    bool ok = true;
    for (size_t i = 0; i < n; i++) stems[i] = io_path_stem(j->names.items[i]);
    qsort(stems, n, sizeof *stems, compare_strings);
    for (size_t i = 1; ok && i < n; i++)
        if (strcmp(stems[i - 1], stems[i]) == 0)
            ok = io_fail(error, "--openmvg: two images are called \"%s\", which OpenMVG does not tell apart", stems[i]);
    for (size_t i = 0; i < n; i++) free(stems[i]);
    free(stems);
    return ok;
}

static bool openmvg_claim_one(const collection_job *j, const char *name, io_error *error)
{
    char *path = io_path_join(j->openmvg, name);
    bool ok = cli_claim_output(j->common, path, error);
    free(path);
    return ok;
}

bool collection_openmvg_claim(const collection_job *j, io_error *error)
{
    bool ok = openmvg_stems(j, error) && openmvg_claim_one(j, "sfm_data.json", error) &&
              openmvg_claim_one(j, "image_describer.json", error) && openmvg_claim_one(j, "matches.f.txt", error);
    for (size_t i = 0; ok && i < j->images.count; i++) {
        char *name = openmvg_features_name(j, i);
        ok = openmvg_claim_one(j, name, error);
        free(name);
    }
    return ok;
}

bool collection_openmvg_write(const collection_job *j, io_error *error)
{
    openmvg_output o = {.j = j, .ids = io_alloc(j->images.count + 1, sizeof *o.ids)};
    bool ok = io_folder_make(j->openmvg, error) && each_image(j, openmvg_features, &o, error) &&
              openmvg_data(&o, error) && openmvg_describer(j, error) && openmvg_matches(&o, error);
    free(o.ids);
    return ok;
}

/* ---- matches alone ---- */

typedef struct text_output {
    const collection_job *j;
    io_writer *writer;
} text_output;

static bool text_pair(void *context, const collection_pair *p, io_error *error)
{
    text_output *t = context;
    FILE *out = io_writer_file(t->writer);
    fprintf(out, "%s %s\n", t->j->names.items[p->a], t->j->names.items[p->b]);
    for (size_t i = 0; i < p->inliers; i++) fprintf(out, "%d %d\n", p->matches[i].a, p->matches[i].b);
    fputc('\n', out);
    return io_writer_check(t->writer, error);
}

static bool matches_text(const collection_job *j, io_error *error)
{
    text_output t = {j, io_writer_open(j->matches, error)};
    if (!t.writer) return false;
    if (collection_pairs_read(j, text_pair, &t, error)) return io_writer_commit(t.writer, error);
    io_writer_abandon(t.writer);
    return false;
}

/* Sizes are known before anything is written: one pass counts. */
typedef struct npz_output {
    io_npz *npz;
    size_t pairs, matches, keypoints, longest;
    int64_t end;
} npz_output;

static bool npz_count(void *context, const collection_pair *p, io_error *error)
{
    npz_output *o = context;
    (void)error;
    o->pairs++;
    o->matches += p->inliers;
    return true;
}

static bool npz_pair(void *context, const collection_pair *p, io_error *error)
{
    const int32_t pair[2] = {(int32_t)p->a, (int32_t)p->b};
    (void)error;
    io_npz_data(((npz_output *)context)->npz, pair, 2);
    return true;
}

static bool npz_end(void *context, const collection_pair *p, io_error *error)
{
    npz_output *o = context;
    (void)error;
    o->end += p->inliers;
    io_npz_data(o->npz, &o->end, 1);
    return true;
}

static bool npz_match(void *context, const collection_pair *p, io_error *error)
{
    (void)error;
    for (size_t i = 0; i < p->inliers; i++) {
        const int32_t match[2] = {p->matches[i].a, p->matches[i].b};
        io_npz_data(((npz_output *)context)->npz, match, 2);
    }
    return true;
}

static bool npz_model(void *context, const collection_pair *p, io_error *error)
{
    (void)error;
    io_npz_data(((npz_output *)context)->npz, p->model, 9);
    return true;
}

static bool npz_kind(void *context, const collection_pair *p, io_error *error)
{
    const uint8_t homography = p->geometry == KB_GEOMETRY_HOMOGRAPHY;
    (void)error;
    io_npz_data(((npz_output *)context)->npz, &homography, 1);
    return true;
}

static bool npz_keypoints(void *context, size_t image, const features *f, io_error *error)
{
    npz_output *o = context;
    (void)image;
    (void)error;
    for (size_t i = 0; i < f->keypoints.count; i++) {
        const float xy[2] = {f->keypoints.items[i].x, f->keypoints.items[i].y};
        io_npz_data(o->npz, xy, 2);
    }
    return true;
}

/* Names as rows of bytes of one length, filled up with zeros. */
static void npz_names(const collection_job *j, npz_output *o)
{
    for (size_t i = 0; i < j->names.count; i++)
        if (strlen(j->names.items[i]) > o->longest) o->longest = strlen(j->names.items[i]);
    const size_t shape[2] = {j->names.count, o->longest};
    char *row = io_alloc(o->longest + 1, 1);
    io_npz_array(o->npz, "names", IO_U8, 2, shape);
    for (size_t i = 0; i < j->names.count; i++) {
        memset(row, 0, o->longest + 1);
        memcpy(row, j->names.items[i], strlen(j->names.items[i]));
        io_npz_data(o->npz, row, o->longest);
    }
    free(row);
}

/* Ends of the keypoints of each image, those without features too. */
static bool npz_points(const collection_job *j, npz_output *o, io_error *error)
{
    const size_t count = j->images.count;
    int64_t *ends = io_alloc(count + 1, sizeof *ends), end = 0;
    for (size_t i = 0; i < count; i++) {
        features f = {0};
        if (j->good[i] && collection_features_read(j, i, &f)) end += (int64_t)f.keypoints.count;
        features_free(&f);
        ends[i] = end;
    }
    const size_t shape[2] = {(size_t)end, 2};
    io_npz_array(o->npz, "keypoint_ends", IO_I64, 1, &count);
    io_npz_data(o->npz, ends, count);
    free(ends);
    io_npz_array(o->npz, "keypoints", IO_F32, 2, shape);
    return each_image(j, npz_keypoints, o, error);
}

static bool npz_pairs(const collection_job *j, npz_output *o, io_error *error)
{
    const struct {
        const char *name;
        io_dtype type;
        int32_t dimensions;
        size_t shape[3];
        bool (*take)(void *context, const collection_pair *pair, io_error *error);
    } arrays[] = {{"pairs", IO_I32, 2, {o->pairs, 2}, npz_pair},
                  {"match_ends", IO_I64, 1, {o->pairs}, npz_end},
                  {"matches", IO_I32, 2, {o->matches, 2}, npz_match},
                  {"homography", IO_BOOL, 1, {o->pairs}, npz_kind},
                  {"models", IO_F64, 3, {o->pairs, 3, 3}, npz_model}};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        io_npz_array(o->npz, arrays[i].name, arrays[i].type, arrays[i].dimensions, arrays[i].shape);
        if (!collection_pairs_read(j, arrays[i].take, o, error)) return false;
    }
    return true;
}

static bool matches_npz(const collection_job *j, io_error *error)
{
    npz_output o = {.npz = io_npz_open(j->matches, error)};
    if (!o.npz) return false;
    npz_names(j, &o);
    if (npz_points(j, &o, error) && collection_pairs_read(j, npz_count, &o, error) && npz_pairs(j, &o, error))
        return io_npz_commit(o.npz, error);
    io_npz_abandon(o.npz);
    return false;
}

bool collection_matches_write(const collection_job *j, io_error *error)
{
    return io_path_has_suffix(j->matches, ".npz") ? matches_npz(j, error) : matches_text(j, error);
}
