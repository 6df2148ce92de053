/* SPDX-License-Identifier: Apache-2.0 */
/* Vocabularies in the binary forms of DBoW3, VINS and FBoW. All are little endian. */
#include <stdlib.h>
#include <string.h>

#include "io/vocabulary.h"
#include "common/bytes.h"

/* Bytes with an end; reading past it gives zeros and is remembered. */
typedef struct reader {
    const uint8_t *at;
    size_t left;
    bool ended;
} reader;

static const uint8_t *read_bytes(reader *r, size_t n)
{
    static const uint8_t zeros[4096];
    if (n > r->left) {
        r->ended = true;
        return zeros;
    }
    const uint8_t *found = r->at;
    r->at += n;
    r->left -= n;
    return found;
}
static uint32_t read_u32(reader *r) { return kbi_get_u32(read_bytes(r, 4)); }
static double read_f64(reader *r) { return kbi_get_f64(read_bytes(r, 8)); }

static void write_u32(FILE *file, uint32_t v)
{
    uint8_t bytes[4];
    kbi_put_u32(bytes, v);
    fwrite(bytes, 1, 4, file);
}
static void write_u64(FILE *file, uint64_t v)
{
    uint8_t bytes[8];
    kbi_put_u64(bytes, v);
    fwrite(bytes, 1, 8, file);
}
static void write_f64(FILE *file, double v)
{
    uint8_t bytes[8];
    kbi_put_f64(bytes, v);
    fwrite(bytes, 1, 8, file);
}

static kb_vocabulary_info info_of(const kb_vocabulary *vocabulary)
{
    kb_vocabulary_info info;
    KB_INIT(info);
    kb_vocabulary_get_info(vocabulary, &info);
    return info;
}

static void vocabulary_write_head(FILE *file, const kb_vocabulary_info *info)
{
    write_u32(file, (uint32_t)info->branching);
    write_u32(file, (uint32_t)info->levels);
    write_u32(file, (uint32_t)info->scoring);
    write_u32(file, (uint32_t)info->weighting);
}

static void read_head(reader *r, io_tree *tree)
{
    tree->branching = (int32_t)read_u32(r);
    tree->levels = (int32_t)read_u32(r);
    tree->scoring = (int32_t)read_u32(r);
    tree->weighting = (int32_t)read_u32(r);
}

/* ---- DBoW3 ---- */

#define DBOW3_NODE 28 /* bytes besides the row */

static bool dbow3_node(const char *path, reader *r, uint32_t nodes, io_tree *tree, io_error *error)
{
    size_t left = r->left;
    uint32_t id = read_u32(r), parent = read_u32(r);
    double weight = read_f64(r);
    uint32_t columns = read_u32(r), rows = read_u32(r), type = read_u32(r);
    if (r->ended) return io_fail(error, "%s: the file ends too early", path);
    if (rows != 1 || type != 0 || columns < 1 || columns > 4096 ||
        (tree->row_bytes > 0 && columns != tree->row_bytes))
        return io_fail(error, "%s: node %u has a descriptor of %u x %u and type %u; bytes are expected", path, id, rows,
                       columns, type);
    if (id < 1 || id >= nodes) return io_fail(error, "%s: node %u of %u", path, id, nodes);
    /* Before memory for all of them is asked for. */
    if (tree->row_bytes == 0 && nodes - 1 > left / (DBOW3_NODE + columns))
        return io_fail(error, "%s: %u nodes with rows of %u bytes, but the file is too short", path, nodes, columns);
    tree->row_bytes = columns;
    io_tree_reserve(tree, nodes - 1);
    tree->parents[id] = parent;
    tree->weights[id] = weight;
    memcpy(tree->rows + id * tree->row_bytes, read_bytes(r, columns), columns);
    return true;
}

bool io_dbow3_read(const char *path, const uint8_t *data, size_t size, io_tree *tree, io_error *error)
{
    reader r = {data, size, false};
    read_bytes(&r, 8);
    if (read_bytes(&r, 1)[0])
        return io_fail(error, "%s: compressed; let DBoW3 save it with binary_compressed = false", path);
    uint32_t nodes = read_u32(&r);
    if (nodes < 2 || nodes > size / DBOW3_NODE) return io_fail(error, "%s: %u nodes in %zu bytes", path, nodes, size);
    read_head(&r, tree);
    for (uint32_t i = 1; i < nodes; i++)
        if (!dbow3_node(path, &r, nodes, tree, error)) return false;
    uint32_t words = read_u32(&r);
    if (r.ended || words > r.left / 8) return io_fail(error, "%s: the file ends too early", path);
    return true;
}

void io_dbow3_write(FILE *file, const kb_vocabulary *vocabulary, const uint32_t *parents)
{
    kb_vocabulary_info info = info_of(vocabulary);
    kb_vocabulary_node node;
    write_u64(file, IO_DBOW3_MARK);
    fputc(0, file); /* not compressed */
    write_u32(file, info.nodes);
    vocabulary_write_head(file, &info);
    for (uint32_t i = 1; kb_vocabulary_get_node(vocabulary, i, &node); i++) {
        write_u32(file, i);
        write_u32(file, parents[i]);
        write_f64(file, node.weight);
        write_u32(file, (uint32_t)info.row_bytes); /* columns, rows, type of a matrix of bytes */
        write_u32(file, 1);
        write_u32(file, 0);
        fwrite(node.row, 1, (size_t)info.row_bytes, file);
    }
    write_u32(file, info.words);
    for (uint32_t i = 1; kb_vocabulary_get_node(vocabulary, i, &node); i++) {
        if (node.children > 0) continue;
        write_u32(file, node.word);
        write_u32(file, i);
    }
}

/* ---- VINS: the root is not counted; rows are four 64-bit words ---- */

#define VINS_HEAD 24
#define VINS_NODE 48
#define VINS_WORD 8
#define VINS_ROW 32

bool io_vins_fits(const uint8_t *data, size_t size)
{
    if (size < VINS_HEAD) return false;
    uint64_t nodes = kbi_get_u32(data + 16), words = kbi_get_u32(data + 20);
    return kbi_get_u32(data + 8) <= 5 && kbi_get_u32(data + 12) <= 3 &&
           VINS_HEAD + nodes * VINS_NODE + words * VINS_WORD == size;
}

bool io_vins_read(const char *path, const uint8_t *data, size_t size, io_tree *tree, io_error *error)
{
    reader r = {data, size, false};
    read_head(&r, tree);
    uint32_t nodes = read_u32(&r);
    read_u32(&r);
    tree->row_bytes = VINS_ROW;
    if (nodes == 0) return io_fail(error, "%s: a vocabulary without nodes", path);
    io_tree_reserve(tree, nodes);
    for (uint32_t i = 0; i < nodes; i++) {
        uint32_t id = read_u32(&r), parent = read_u32(&r);
        if (id < 1 || id > nodes) return io_fail(error, "%s: node %u of %u", path, id, nodes);
        tree->parents[id] = parent;
        tree->weights[id] = read_f64(&r);
        memcpy(tree->rows + (size_t)id * VINS_ROW, read_bytes(&r, VINS_ROW), VINS_ROW);
    }
    return true;
}

void io_vins_write(FILE *file, const kb_vocabulary *vocabulary, const uint32_t *parents)
{
    kb_vocabulary_info info = info_of(vocabulary);
    kb_vocabulary_node node;
    vocabulary_write_head(file, &info);
    write_u32(file, info.nodes - 1);
    write_u32(file, info.words);
    for (uint32_t i = 1; kb_vocabulary_get_node(vocabulary, i, &node); i++) {
        write_u32(file, i);
        write_u32(file, parents[i]);
        write_f64(file, node.weight);
        fwrite(node.row, 1, VINS_ROW, file);
    }
    for (uint32_t i = 1; kb_vocabulary_get_node(vocabulary, i, &node); i++) {
        if (node.children > 0) continue;
        write_u32(file, i);
        write_u32(file, node.word);
    }
}

/* ---- FBoW: a block per inner node, which holds the rows of its children ---- */

#define FBOW_PARAMS 120
#define FBOW_ALIGNMENT 8
#define FBOW_LEAF 0x80000000u

typedef struct fbow_layout {
    uint64_t blocks, row_room, block_bytes, rows_at, children_at, total; /* bytes */
    uint64_t row_bytes, k;
} fbow_layout;

static fbow_layout fbow_layout_of(uint64_t row_bytes, uint64_t k, uint64_t blocks)
{
    fbow_layout l = {.blocks = blocks, .row_bytes = row_bytes, .k = k};
    l.row_room = (row_bytes + FBOW_ALIGNMENT - 1) / FBOW_ALIGNMENT * FBOW_ALIGNMENT;
    l.rows_at = 8;
    l.children_at = l.rows_at + k * l.row_room;
    l.block_bytes = l.children_at + k * 8;
    l.total = l.block_bytes * blocks;
    return l;
}

static bool fbow_head(const char *path, const uint8_t *data, size_t size, fbow_layout *l, io_error *error)
{
    if (size < 8 + FBOW_PARAMS) return io_fail(error, "%s: the file ends too early", path);
    const uint8_t *p = data + 8;
    l->blocks = kbi_get_u32(p + 56);
    l->row_room = kbi_get_u64(p + 64);
    l->block_bytes = kbi_get_u64(p + 72);
    l->rows_at = kbi_get_u64(p + 80);
    l->children_at = kbi_get_u64(p + 88);
    l->total = kbi_get_u64(p + 96);
    uint32_t type = kbi_get_u32(p + 104);
    l->row_bytes = kbi_get_u32(p + 108);
    l->k = kbi_get_u32(p + 112);
    if (type != 0) return io_fail(error, "%s: rows of type %u; bytes are expected", path, type);
    if (l->row_bytes < 1 || l->row_bytes > 4096 || l->row_room < l->row_bytes || l->row_room > 8192 || l->k < 1 ||
        l->k > 65535 || l->blocks < 1 || l->rows_at < 8 || l->rows_at > 4096 ||
        l->children_at < l->rows_at + l->k * l->row_room || l->children_at > (uint64_t)1 << 32 ||
        l->block_bytes < l->children_at + l->k * 8 || l->block_bytes > (uint64_t)1 << 33)
        return io_fail(error, "%s: not the head of an FBoW vocabulary", path);
    if (l->blocks > (size - 8 - FBOW_PARAMS) / l->block_bytes || l->total != l->block_bytes * l->blocks)
        return io_fail(error, "%s: the file ends too early", path);
    return true;
}

/* Blocks breadth first: the children of a node get the next numbers. */
bool io_fbow_read(const char *path, const uint8_t *data, size_t size, io_tree *tree, io_error *error)
{
    fbow_layout l = {0};
    if (!fbow_head(path, data, size, &l, error)) return false;
    const uint8_t *blocks = data + 8 + FBOW_PARAMS;
    uint32_t *node_of = io_alloc((size_t)l.blocks, sizeof *node_of), *queue = io_alloc((size_t)l.blocks, sizeof *queue);
    uint16_t *level = io_alloc((size_t)l.blocks, sizeof *level);
    uint64_t head = 0, tail = 1;
    uint32_t next = 1;
    bool ok = true;
    tree->row_bytes = (size_t)l.row_bytes;
    tree->branching = (int32_t)l.k;
    tree->levels = 1;
    tree->scoring = 1; /* L2 */
    io_tree_reserve(tree, 0);
    for (; ok && head < tail; head++) {
        const uint8_t *block = blocks + queue[head] * l.block_bytes;
        uint32_t n = (uint32_t)block[0] | (uint32_t)block[1] << 8;
        ok = n >= 1 && n <= l.k;
        for (uint32_t i = 0; ok && i < n; i++, next++) {
            const uint8_t *child = block + l.children_at + i * 8;
            uint32_t id = kbi_get_u32(child);
            io_tree_reserve(tree, next);
            tree->parents[next] = node_of[head];
            memcpy(tree->rows + next * tree->row_bytes, block + l.rows_at + i * l.row_room, tree->row_bytes);
            if (id & FBOW_LEAF) {
                tree->weights[next] = (double)kbi_get_f32(child + 4);
                continue;
            }
            ok = id > 0 && id < l.blocks && tail < l.blocks && level[head] < 63;
            if (!ok) break;
            queue[tail] = id;
            node_of[tail] = next;
            level[tail] = (uint16_t)(level[head] + 1);
            if (level[tail] + 1 > tree->levels) tree->levels = level[tail] + 1;
            tail++;
        }
    }
    free(node_of);
    free(queue);
    free(level);
    return ok || io_fail(error, "%s: block %u is damaged", path, (unsigned)head);
}

static void fbow_params(FILE *file, const char *name, const fbow_layout *l)
{
    uint8_t p[FBOW_PARAMS] = {0};
    strncpy((char *)p, name, 49);
    kbi_put_u32(p + 52, FBOW_ALIGNMENT);
    kbi_put_u32(p + 56, (uint32_t)l->blocks);
    kbi_put_u64(p + 64, l->row_room);
    kbi_put_u64(p + 72, l->block_bytes);
    kbi_put_u64(p + 80, l->rows_at);
    kbi_put_u64(p + 88, l->children_at);
    kbi_put_u64(p + 96, l->total);
    kbi_put_u32(p + 104, 0); /* bytes */
    kbi_put_u32(p + 108, (uint32_t)l->row_bytes);
    kbi_put_u32(p + 112, (uint32_t)l->k);
    fwrite(p, 1, sizeof p, file);
}

static void fbow_block(uint8_t *block, const kb_vocabulary *vocabulary, const kb_vocabulary_node *node,
                       const fbow_layout *l, uint32_t parent_block, const uint32_t *block_of)
{
    kb_vocabulary_node child;
    bool leaves = true;
    memset(block, 0, (size_t)l->block_bytes);
    for (uint32_t i = 0; i < node->children; i++) {
        uint8_t *info = block + l->children_at + i * 8;
        kb_vocabulary_get_node(vocabulary, node->first_child + i, &child);
        memcpy(block + l->rows_at + i * l->row_room, child.row, (size_t)l->row_bytes);
        kbi_put_u32(info, child.children == 0 ? FBOW_LEAF | child.word : block_of[node->first_child + i]);
        kbi_put_f32(info + 4, (float)child.weight);
        leaves = leaves && child.children == 0;
    }
    block[0] = (uint8_t)node->children;
    block[1] = (uint8_t)(node->children >> 8);
    block[2] = leaves;
    kbi_put_u32(block + 4, parent_block);
}

void io_fbow_write(FILE *file, const kb_vocabulary *vocabulary)
{
    kb_vocabulary_info info = info_of(vocabulary);
    kb_vocabulary_node node;
    uint32_t *block_of = io_alloc(info.nodes, sizeof *block_of), *above = io_alloc(info.nodes, sizeof *above);
    uint32_t blocks = 0, k = 1;
    for (uint32_t i = 0; kb_vocabulary_get_node(vocabulary, i, &node); i++) {
        if (node.children == 0) continue;
        block_of[i] = blocks++;
        if (node.children > k) k = node.children;
        for (uint32_t c = 0; c < node.children; c++) above[node.first_child + c] = block_of[i];
    }
    fbow_layout l = fbow_layout_of((uint64_t)info.row_bytes, k, blocks);
    uint8_t *block = io_alloc((size_t)l.block_bytes, 1);
    write_u64(file, IO_FBOW_MARK);
    fbow_params(file, info.model_name, &l);
    for (uint32_t i = 0; kb_vocabulary_get_node(vocabulary, i, &node); i++) {
        if (node.children == 0) continue;
        fbow_block(block, vocabulary, &node, &l, above[i], block_of);
        fwrite(block, 1, (size_t)l.block_bytes, file);
    }
    free(block);
    free(block_of);
    free(above);
}
