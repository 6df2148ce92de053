/* SPDX-License-Identifier: Apache-2.0 */
/* Vocabularies as files: which format, and what all of them share. */
#include "io/vocabulary.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"

const char *const io_vocabulary_formats[] = {"keybits", "orbslam", "dbow2", "dbow3", "fbow", "vins", NULL};

/* ---- the tree that is being read ---- */

void io_tree_reserve(io_tree *tree, uint32_t id)
{
    if (id >= tree->room) {
        uint32_t room = id < 1024 ? 2048 : id + id / 2 + 1;
        tree->parents = io_grow(tree->parents, room, sizeof *tree->parents);
        tree->weights = io_grow(tree->weights, room, sizeof *tree->weights);
        tree->rows = io_grow(tree->rows, room, tree->row_bytes);
        tree->room = room;
    }
    for (; tree->nodes <= id; tree->nodes++) {
        tree->parents[tree->nodes] = UINT32_MAX; /* not given yet */
        tree->weights[tree->nodes] = 0;
        memset(tree->rows + tree->nodes * tree->row_bytes, 0, tree->row_bytes);
    }
}

void io_tree_free(io_tree *tree)
{
    free(tree->parents);
    free(tree->weights);
    free(tree->rows);
}

static bool tree_pack(const char *path, const io_tree *tree, kb_vocabulary **out, io_error *error)
{
    kb_vocabulary_spec spec;
    kb_error why;
    if (tree->nodes < 2) return io_fail(error, "%s: a vocabulary without words", path);
    for (uint32_t i = 1; i < tree->nodes; i++)
        if (tree->parents[i] == UINT32_MAX) return io_fail(error, "%s: node %u is missing", path, i);
    KB_INIT(spec);
    spec.nodes = tree->nodes;
    spec.parents = tree->parents;
    spec.rows = tree->rows;
    spec.weights = tree->weights;
    spec.row_bytes = (int32_t)tree->row_bytes;
    spec.branching = tree->branching;
    spec.levels = tree->levels;
    spec.scoring = tree->scoring;
    spec.weighting = (kb_weighting)tree->weighting;
    if (kb_vocabulary_create(&spec, NULL, out, &why) != KB_OK) return io_fail(error, "%s: %s", path, why.text);
    return true;
}

/* ---- reading ---- */

static bool looks_like_text(const io_mapping *file)
{
    size_t n = file->size < 64 ? file->size : 64;
    for (size_t i = 0; i < n; i++)
        if (!isprint(file->data[i]) && !isspace(file->data[i])) return false;
    return true;
}

static bool format_find(const char *path, const io_mapping *file, io_vocabulary_format *format, io_error *error)
{
    uint64_t mark = file->size >= 8 ? kbi_get_u64(file->data) : 0;
    if (file->data[0] == 0x8b) *format = IO_VOCABULARY_KEYBITS;
    else if (mark == IO_DBOW3_MARK) *format = IO_VOCABULARY_DBOW3;
    else if (mark == IO_FBOW_MARK) *format = IO_VOCABULARY_FBOW;
    else if (io_vins_fits(file->data, file->size)) *format = IO_VOCABULARY_VINS;
    else if (!looks_like_text(file))
        return io_fail(error, "%s: not a vocabulary that can be read (keybits, ORB-SLAM text, DBoW2 YAML, DBoW3, FBoW, "
                              "VINS)", path);
    else *format = file->size >= 5 && memcmp(file->data, "%YAML", 5) == 0 ? IO_VOCABULARY_DBOW2 : IO_VOCABULARY_ORBSLAM;
    return true;
}

/* Text is parsed in place, which wants a zero byte behind it. */
static bool read_text(const char *path, io_vocabulary_format format, io_tree *tree, io_error *error)
{
    io_bytes text;
    if (!io_file_read(path, &text, error)) return false;
    bool ok = format == IO_VOCABULARY_DBOW2 ? io_dbow2_read(path, (char *)text.data, text.size, tree, error)
                                            : io_orbslam_read(path, (char *)text.data, text.size, tree, error);
    io_bytes_free(&text);
    return ok;
}

static bool read_foreign(const char *path, io_vocabulary *v, io_error *error)
{
    io_tree tree = {0};
    bool ok = false;
    switch (v->format) {
    case IO_VOCABULARY_DBOW3: ok = io_dbow3_read(path, v->file.data, v->file.size, &tree, error); break;
    case IO_VOCABULARY_FBOW: ok = io_fbow_read(path, v->file.data, v->file.size, &tree, error); break;
    case IO_VOCABULARY_VINS: ok = io_vins_read(path, v->file.data, v->file.size, &tree, error); break;
    default: ok = read_text(path, v->format, &tree, error);
    }
    ok = ok && tree_pack(path, &tree, &v->vocabulary, error);
    io_tree_free(&tree);
    io_mapping_close(&v->file);
    return ok;
}

bool io_vocabulary_read(const char *path, io_vocabulary *out, io_error *error)
{
    kb_error why;
    *out = (io_vocabulary){0};
    if (!io_mapping_open(path, &out->file, error)) return false;
    bool ok = format_find(path, &out->file, &out->format, error);
    if (ok && out->format == IO_VOCABULARY_KEYBITS) {
        ok = kb_vocabulary_load(out->file.data, out->file.size, NULL, &out->vocabulary, &why) == KB_OK;
        if (!ok) io_fail(error, "%s: %s", path, why.text);
    } else if (ok) {
        ok = read_foreign(path, out, error);
    }
    if (!ok) io_vocabulary_free(out);
    return ok;
}

void io_vocabulary_free(io_vocabulary *vocabulary)
{
    kb_vocabulary_free(vocabulary->vocabulary);
    if (vocabulary->file.data) io_mapping_close(&vocabulary->file);
    *vocabulary = (io_vocabulary){0};
}

/* ---- writing ---- */

bool io_vocabulary_format_of(const char *path, io_vocabulary_format *format)
{
    static const struct {
        const char *suffix;
        io_vocabulary_format format;
    } suffixes[] = {{".kbv", IO_VOCABULARY_KEYBITS}, {".txt", IO_VOCABULARY_ORBSLAM}, {".yml", IO_VOCABULARY_DBOW2},
                    {".yaml", IO_VOCABULARY_DBOW2}, {".dbow3", IO_VOCABULARY_DBOW3}, {".fbow", IO_VOCABULARY_FBOW},
                    {".bin", IO_VOCABULARY_VINS}};
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        if (!io_path_has_suffix(path, suffixes[i].suffix)) continue;
        *format = suffixes[i].format;
        return true;
    }
    return false;
}

static uint32_t *parents_of(const kb_vocabulary *vocabulary, uint32_t nodes)
{
    uint32_t *parents = io_alloc(nodes, sizeof *parents);
    kb_vocabulary_node node;
    for (uint32_t i = 0; kb_vocabulary_get_node(vocabulary, i, &node); i++)
        for (uint32_t c = 0; c < node.children; c++) parents[node.first_child + c] = i;
    return parents;
}

/* What a format cannot hold. */
static bool write_check(const char *path, const kb_vocabulary_info *info, io_vocabulary_format format, io_error *error)
{
    if (format == IO_VOCABULARY_VINS && info->row_bytes != 32)
        return io_fail(error, "%s: VINS has rows of 32 bytes, the vocabulary has %d", path, info->row_bytes);
    if (format == IO_VOCABULARY_ORBSLAM && (info->branching > 20 || info->levels > 10))
        return io_fail(error, "%s: ORB-SLAM reads up to 20 children and 10 levels, the vocabulary has %d and %d", path,
                       info->branching, info->levels);
    if (format == IO_VOCABULARY_FBOW && info->branching > 65535)
        return io_fail(error, "%s: FBoW has up to 65535 children, the vocabulary has %d", path, info->branching);
    return true;
}

bool io_vocabulary_write(const char *path, const kb_vocabulary *vocabulary, io_vocabulary_format format,
                         io_error *error)
{
    kb_vocabulary_info info;
    KB_INIT(info);
    kb_vocabulary_get_info(vocabulary, &info);
    if (!write_check(path, &info, format, error)) return false;
    if (format == IO_VOCABULARY_KEYBITS) return io_file_write(path, info.data, info.bytes, error);
    io_writer *writer = io_writer_open(path, error);
    if (!writer) return false;
    FILE *file = io_writer_file(writer);
    uint32_t *parents = parents_of(vocabulary, info.nodes);
    switch (format) {
    case IO_VOCABULARY_ORBSLAM: io_orbslam_write(file, vocabulary, parents); break;
    case IO_VOCABULARY_DBOW2: io_dbow2_write(file, vocabulary, parents); break;
    case IO_VOCABULARY_DBOW3: io_dbow3_write(file, vocabulary, parents); break;
    case IO_VOCABULARY_FBOW: io_fbow_write(file, vocabulary); break;
    default: io_vins_write(file, vocabulary, parents);
    }
    free(parents);
    return io_writer_commit(writer, error);
}
