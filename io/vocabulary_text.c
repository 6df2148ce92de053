/* SPDX-License-Identifier: Apache-2.0 */
/* Vocabularies as text: ORB-SLAM's lines and DBoW2's YAML. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "io/number.h"
#include "io/vocabulary.h"

/* ---- ORB-SLAM ---- */

typedef struct lines {
    const char *path;
    const char *at, *end; /* of the current line */
    const char *stop;     /* of the text */
    size_t number;
    io_error *error;
} lines;

static bool lines_next(lines *l)
{
    do {
        if (l->end >= l->stop) return false;
        l->at = l->end + (l->number > 0);
        const char *found = memchr(l->at, '\n', (size_t)(l->stop - l->at));
        l->end = found ? found : l->stop;
        l->number++;
        while (l->at < l->end && isspace((unsigned char)*l->at)) l->at++;
    } while (l->at == l->end);
    return true;
}

/* A whole number of the line, not negative. */
static bool line_integer(lines *l, uint32_t most, uint32_t *value)
{
    uint64_t sum = 0;
    while (l->at < l->end && (*l->at == ' ' || *l->at == '\t')) l->at++;
    const char *start = l->at;
    for (; l->at < l->end && *l->at >= '0' && *l->at <= '9' && sum <= most; l->at++)
        sum = 10 * sum + (uint64_t)(*l->at - '0');
    if (l->at == start || sum > most || (l->at < l->end && !isspace((unsigned char)*l->at)))
        return io_fail(l->error, "%s:%zu: a whole number from 0 to %u is expected", l->path, l->number, most);
    *value = (uint32_t)sum;
    return true;
}

/* How many numbers follow on the line. */
static size_t line_count(const lines *l)
{
    size_t count = 0;
    for (const char *at = l->at; at < l->end; at++)
        count += !isspace((unsigned char)*at) && (at + 1 == l->end || isspace((unsigned char)at[1]));
    return count;
}

static bool orbslam_node(lines *l, io_tree *tree, uint32_t id)
{
    uint32_t parent, leaf, byte;
    double weight;
    const char *end;
    if (tree->row_bytes == 0) {
        size_t numbers = line_count(l);
        if (numbers < 4 || numbers > 4096 + 3)
            return io_fail(l->error, "%s:%zu: parent, leaf, bytes and weight are expected", l->path, l->number);
        tree->row_bytes = numbers - 3;
    }
    if (!line_integer(l, id - 1, &parent) || !line_integer(l, 1, &leaf)) return false;
    io_tree_reserve(tree, id);
    tree->parents[id] = parent;
    for (size_t i = 0; i < tree->row_bytes; i++) {
        if (!line_integer(l, 255, &byte)) return false;
        tree->rows[id * tree->row_bytes + i] = (uint8_t)byte;
    }
    if (!io_number_parse(l->at, &end, &weight) || end > l->end)
        return io_fail(l->error, "%s:%zu: the weight is missing", l->path, l->number);
    tree->weights[id] = leaf ? weight : 0;
    while (end < l->end && isspace((unsigned char)*end)) end++;
    return end == l->end || io_fail(l->error, "%s:%zu: more than a node", l->path, l->number);
}

bool io_orbslam_read(const char *path, const char *text, size_t size, io_tree *tree, io_error *error)
{
    lines l = {path, text, text, text + size, 0, error};
    uint32_t head[4];
    static const uint32_t most[4] = {1 << 20, 64, 5, 3};
    if (!lines_next(&l)) return io_fail(error, "%s: the file is empty", path);
    for (int i = 0; i < 4; i++)
        if (!line_integer(&l, most[i], &head[i])) return false;
    if (line_count(&l) > 0 || head[0] < 1 || head[1] < 1)
        return io_fail(error, "%s:1: four numbers, branching, levels, scoring and weighting, are expected", path);
    tree->branching = (int32_t)head[0];
    tree->levels = (int32_t)head[1];
    tree->scoring = (int32_t)head[2];
    tree->weighting = (int32_t)head[3];
    for (uint32_t id = 1; lines_next(&l); id++)
        if (!orbslam_node(&l, tree, id)) return false;
    return true;
}

static void write_row(FILE *file, const uint8_t *row, int32_t bytes)
{
    for (int32_t i = 0; i < bytes; i++) fprintf(file, "%d ", row[i]);
}

void io_orbslam_write(FILE *file, const kb_vocabulary *vocabulary, const uint32_t *parents)
{
    kb_vocabulary_info info;
    kb_vocabulary_node node;
    char number[32];
    KB_INIT(info);
    kb_vocabulary_get_info(vocabulary, &info);
    fprintf(file, "%d %d %d %d", info.branching, info.levels, info.scoring, (int)info.weighting);
    for (uint32_t i = 1; kb_vocabulary_get_node(vocabulary, i, &node); i++) {
        fprintf(file, "\n%u %d ", parents[i], node.children == 0);
        write_row(file, node.row, info.row_bytes);
        fputs(io_number_shortest(number, node.weight, false), file);
    }
}

/* ---- DBoW2's YAML: {key:value, ...} records in two lists ---- */

typedef struct yaml {
    const char *path, *at, *stop;
    size_t line, size;
    io_error *error;
} yaml;

static void yaml_skip(yaml *y)
{
    for (; y->at < y->stop && (isspace((unsigned char)*y->at) || strchr(",-[]", *y->at)); y->at++)
        y->line += *y->at == '\n';
}

/* A key and the colon behind it; false at anything else. */
static bool yaml_key(yaml *y, char *key, size_t room)
{
    size_t n = 0;
    yaml_skip(y);
    const char *at = y->at;
    while (at < y->stop && (isalnum((unsigned char)*at) || *at == '_') && n + 1 < room) key[n++] = *at++;
    key[n] = 0;
    if (n == 0 || at >= y->stop || *at != ':') return false;
    y->at = at + 1;
    return true;
}

static bool yaml_number(yaml *y, double *value)
{
    const char *end;
    while (y->at < y->stop && isspace((unsigned char)*y->at)) y->line += *y->at++ == '\n';
    if (!io_number_parse(y->at, &end, value))
        return io_fail(y->error, "%s:%zu: a number is expected", y->path, y->line);
    y->at = end;
    return true;
}

static bool yaml_integer(yaml *y, uint32_t most, uint32_t *value)
{
    double number;
    if (!yaml_number(y, &number)) return false;
    if (!(number >= 0 && number <= most) || number != (double)(uint32_t)number)
        return io_fail(y->error, "%s:%zu: %g is not a whole number from 0 to %u", y->path, y->line, number, most);
    *value = (uint32_t)number;
    return true;
}

/* "12 255 ..." in quotes; the first one decides how long rows are. */
static bool yaml_row(yaml *y, uint8_t *row, size_t *bytes)
{
    *bytes = 0;
    while (y->at < y->stop && isspace((unsigned char)*y->at)) y->line += *y->at++ == '\n';
    if (y->at >= y->stop || *y->at != '"') return io_fail(y->error, "%s:%zu: a string is expected", y->path, y->line);
    y->at++;
    for (;;) {
        while (y->at < y->stop && isspace((unsigned char)*y->at)) y->line += *y->at++ == '\n';
        if (y->at < y->stop && *y->at == '"') break;
        unsigned value = 0;
        const char *start = y->at;
        for (; y->at < y->stop && isdigit((unsigned char)*y->at) && value < 256; y->at++)
            value = 10 * value + (unsigned)(*y->at - '0');
        if (y->at == start || value > 255 || *bytes == 4096)
            return io_fail(y->error, "%s:%zu: the descriptor is not a list of bytes", y->path, y->line);
        row[(*bytes)++] = (uint8_t)value;
    }
    y->at++;
    return true;
}

/* The rest of a node's record, behind its brace. */
static bool yaml_node(yaml *y, io_tree *tree)
{
    char key[32];
    uint8_t row[4096];
    size_t bytes = 0;
    uint32_t id = 0, parent = UINT32_MAX;
    double weight = 0;
    while (yaml_key(y, key, sizeof key)) {
        bool ok;
        if (strcmp(key, "nodeId") == 0) ok = yaml_integer(y, INT32_MAX, &id);
        else if (strcmp(key, "parentId") == 0) ok = yaml_integer(y, INT32_MAX, &parent);
        else if (strcmp(key, "weight") == 0) ok = yaml_number(y, &weight);
        else if (strcmp(key, "descriptor") == 0) ok = yaml_row(y, row, &bytes);
        else return io_fail(y->error, "%s:%zu: a node has no %s", y->path, y->line, key);
        if (!ok) return false;
    }
    if (tree->row_bytes == 0) tree->row_bytes = bytes;
    if (id == 0 || parent == UINT32_MAX || bytes == 0 || bytes != tree->row_bytes)
        return io_fail(y->error, "%s:%zu: a node needs nodeId, parentId and a descriptor of %zu bytes", y->path,
                       y->line, tree->row_bytes);
    if (id > y->size / (16 + 2 * bytes)) /* a node takes more than that, so the file cannot hold all before it */
        return io_fail(y->error, "%s:%zu: node %u, but the file is too short for so many", y->path, y->line, id);
    io_tree_reserve(tree, id);
    tree->parents[id] = parent;
    tree->weights[id] = weight;
    memcpy(tree->rows + id * tree->row_bytes, row, bytes);
    return true;
}

/* Words say which node is which word; their order follows from the nodes. */
static bool yaml_record(yaml *y, io_tree *tree, bool nodes)
{
    char key[32];
    uint32_t ignored;
    y->at++; /* the brace */
    if (nodes && !yaml_node(y, tree)) return false;
    while (!nodes && yaml_key(y, key, sizeof key))
        if (!yaml_integer(y, INT32_MAX, &ignored)) return false;
    yaml_skip(y);
    if (y->at >= y->stop || *y->at != '}') return io_fail(y->error, "%s:%zu: } is expected", y->path, y->line);
    y->at++;
    return true;
}

bool io_dbow2_read(const char *path, const char *text, size_t size, io_tree *tree, io_error *error)
{
    yaml y = {path, text, text + size, 1, size, error};
    char key[32];
    bool nodes = false;
    uint32_t number = 0;
    const char *start = memchr(text, '\n', size); /* behind %YAML:1.0 */
    y.at = start ? start : y.stop;
    for (yaml_skip(&y); y.at < y.stop; yaml_skip(&y)) {
        if (*y.at == '{') {
            if (!yaml_record(&y, tree, nodes)) return false;
            continue;
        }
        if (!yaml_key(&y, key, sizeof key)) return io_fail(error, "%s:%zu: not what DBoW2 writes", path, y.line);
        int32_t *target = strcmp(key, "k") == 0               ? &tree->branching
                          : strcmp(key, "L") == 0             ? &tree->levels
                          : strcmp(key, "scoringType") == 0   ? &tree->scoring
                          : strcmp(key, "weightingType") == 0 ? &tree->weighting
                                                              : NULL;
        if (target) {
            if (!yaml_integer(&y, 1 << 20, &number)) return false;
            *target = (int32_t)number;
        } else {
            nodes = strcmp(key, "nodes") == 0;
        }
    }
    return true;
}

void io_dbow2_write(FILE *file, const kb_vocabulary *vocabulary, const uint32_t *parents)
{
    kb_vocabulary_info info;
    kb_vocabulary_node node;
    char number[32];
    KB_INIT(info);
    kb_vocabulary_get_info(vocabulary, &info);
    fprintf(file, "%%YAML:1.0\n---\nvocabulary:\n   k: %d\n   L: %d\n   scoringType: %d\n   weightingType: %d\n",
            info.branching, info.levels, info.scoring, (int)info.weighting);
    fputs("   nodes:\n", file);
    for (uint32_t i = 1; kb_vocabulary_get_node(vocabulary, i, &node); i++) {
        io_number_shortest(number, node.weight, false);
        fprintf(file, "      - { nodeId:%u, parentId:%u, weight:%s%s,\n          descriptor:\"", i, parents[i], number,
                strpbrk(number, ".e") ? "" : ".");
        write_row(file, node.row, info.row_bytes);
        fputs("\" }\n", file);
    }
    fputs("   words:\n", file);
    for (uint32_t i = 1; kb_vocabulary_get_node(vocabulary, i, &node); i++)
        if (node.children == 0) fprintf(file, "      - { wordId:%u, nodeId:%u }\n", node.word, i);
}
