/* SPDX-License-Identifier: Apache-2.0 */
/* Verified matches as text or arrays. */
#include <stdlib.h>
#include <string.h>

#include "collection/collection.h"
#include "io/npz.h"

typedef struct text_output {
    const collection *c;
    io_writer *writer;
} text_output;

static bool text_pair(void *context, const collection_pair *p, io_error *error)
{
    text_output *t = context;
    FILE *out = io_writer_file(t->writer);
    fprintf(out, "%s %s\n", t->c->names.items[p->a], t->c->names.items[p->b]);
    for (size_t i = 0; i < p->inliers; i++) fprintf(out, "%d %d\n", p->matches[i].a, p->matches[i].b);
    fputc('\n', out);
    return io_writer_check(t->writer, error);
}

static bool matches_text(const collection *c, const char *path, io_error *error)
{
    text_output t = {c, io_writer_open(path, error)};
    if (!t.writer) return false;
    if (collection_pairs_read(c, text_pair, &t, error)) return io_writer_commit(t.writer, error);
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
    const int32_t geometry = (int32_t)p->geometry;
    (void)error;
    io_npz_data(((npz_output *)context)->npz, &geometry, 1);
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
static void npz_names(const collection *c, npz_output *o)
{
    for (size_t i = 0; i < c->names.count; i++)
        if (strlen(c->names.items[i]) > o->longest) o->longest = strlen(c->names.items[i]);
    const size_t shape[2] = {c->names.count, o->longest};
    char *row = io_alloc(o->longest + 1, 1);
    io_npz_array(o->npz, "names", IO_U8, 2, shape);
    for (size_t i = 0; i < c->names.count; i++) {
        memset(row, 0, o->longest + 1);
        memcpy(row, c->names.items[i], strlen(c->names.items[i]));
        io_npz_data(o->npz, row, o->longest);
    }
    free(row);
}

/* Ends of the keypoints of each image, those without features too. */
static bool npz_points(collection *c, npz_output *o, io_error *error)
{
    const size_t count = c->images.count;
    int64_t *ends = io_alloc(count + 1, sizeof *ends), end = 0;
    for (size_t i = 0; i < count; i++) {
        features f = {0};
        if (c->good[i] && collection_features_read(c, i, &f)) end += (int64_t)f.keypoints.count;
        features_free(&f);
        ends[i] = end;
    }
    const size_t shape[2] = {(size_t)end, 2};
    io_npz_array(o->npz, "keypoint_ends", IO_I64, 1, &count);
    io_npz_data(o->npz, ends, count);
    free(ends);
    io_npz_array(o->npz, "keypoints", IO_F32, 2, shape);
    return collection_each_image(c, npz_keypoints, o, error);
}

static bool npz_pairs(const collection *c, npz_output *o, io_error *error)
{
    const struct {
        const char *name;
        io_dtype type;
        int32_t dimensions;
        size_t shape[3];
        collection_take take;
    } arrays[] = {{"pairs", IO_I32, 2, {o->pairs, 2}, npz_pair},
                  {"match_ends", IO_I64, 1, {o->pairs}, npz_end},
                  {"matches", IO_I32, 2, {o->matches, 2}, npz_match},
                  {"geometries", IO_I32, 1, {o->pairs}, npz_kind},
                  {"models", IO_F64, 3, {o->pairs, 3, 3}, npz_model}};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        io_npz_array(o->npz, arrays[i].name, arrays[i].type, arrays[i].dimensions, arrays[i].shape);
        if (!collection_pairs_read(c, arrays[i].take, o, error)) return false;
    }
    return true;
}

static bool matches_npz(collection *c, const char *path, io_error *error)
{
    npz_output o = {.npz = io_npz_open(path, error)};
    if (!o.npz) return false;
    npz_names(c, &o);
    if (npz_points(c, &o, error) && collection_pairs_read(c, npz_count, &o, error) && npz_pairs(c, &o, error))
        return io_npz_commit(o.npz, error);
    io_npz_abandon(o.npz);
    return false;
}

bool collection_matches_check(const collection *c, const char *path, io_error *error)
{
    for (size_t i = 0; !io_path_has_suffix(path, ".npz") && i < c->names.count; i++)
        if (strpbrk(c->names.items[i], " \t\r\n"))
            return io_fail(error, "%s: COLMAP's lists of matches cannot hold names with spaces; FILE.npz can",
                           c->names.items[i]);
    return true;
}

bool collection_matches_write(collection *c, const char *path, io_error *error)
{
    if (!collection_matches_check(c, path, error)) return false;
    return io_path_has_suffix(path, ".npz") ? matches_npz(c, path, error) : matches_text(c, path, error);
}
