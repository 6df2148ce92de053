/* SPDX-License-Identifier: Apache-2.0 */
/* The query against one kept image: matches, and the geometry between the two. */
#include <math.h>

#include "index/index.h"
#include "match/match.h"

static kb_status match_image(const kb_index *index, const kb_features *query, size_t position, kb_workspace *ws,
                             kb_match **matches, size_t *count)
{
    const kbi_indexed *image = &index->images[position];
    *matches = kbi_workspace_array(ws, query->n, sizeof **matches);
    if (!*matches) return KB_E_MEMORY;
    kb_features kept;
    KB_INIT(kept);
    kept.rows = (void *)(uintptr_t)image->kept_rows; /* which is read only */
    kept.n = image->rows;
    kept.row_bytes = query->row_bytes;
    return kb_match_features(query, &kept, NULL, ws, *matches, count, NULL);
}

kb_status kbi_index_exact_measure(size_t query_rows, size_t rows, size_t row_bytes, kb_workspace *ws)
{
    size_t mark = kbi_workspace_mark(ws);
    kb_status status = kbi_workspace_array(ws, query_rows, sizeof(kb_match)) ? KB_OK : KB_E_MEMORY;
    if (status == KB_OK) status = kbi_match_measure(query_rows, rows, row_bytes, 1, ws);
    kbi_workspace_rewind(ws, mark);
    return status;
}

/* The similarity of matches added up; with marks, inliers count twice and the whole is halved. */
static double matches_score(const kb_index *index, const kb_features *query, size_t position, const kb_match *matches,
                            size_t count, const uint32_t *similarity, const uint8_t *marks)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t one = similarity[(size_t)matches[i].distance];
        sum += marks && marks[i] == KBI_MATCH_INLIER ? 2 * (uint64_t)one : one;
    }
    /* The root of a product is not below the lesser factor, even rounded; so the score is never above 1. */
    double norm = sqrt((double)query->n * (double)index->images[position].rows) * (marks ? 2 : 1);
    return norm > 0 ? (double)sum / (norm * KBI_SIMILARITY_ONE) : 0;
}

kb_status kbi_index_exact(const kb_index *index, const kb_features *query, size_t position,
                          const uint32_t *similarity, kb_workspace *ws, double *score)
{
    kb_match *matches;
    size_t count;
    kb_status status = match_image(index, query, position, ws, &matches, &count);
    if (status == KB_OK) *score = matches_score(index, query, position, matches, count, similarity, NULL);
    return status;
}

/* The kept features of an image. */
static kb_status kept_features(const kb_index *index, size_t position, kb_workspace *ws, kb_features *f)
{
    kb_keypoint *keypoints = kbi_workspace_array(ws, index->images[position].rows, sizeof *keypoints);
    if (!keypoints) return KB_E_MEMORY;
    KB_INIT(*f);
    f->keypoints = keypoints;
    f->capacity = index->images[position].rows;
    return kb_index_get_image(index, position, NULL, f, NULL);
}

typedef struct verify_buffers {
    kb_match *matches;
    uint8_t *marks;
    uint32_t *similarity;
} verify_buffers;

static bool buffers_get(verify_buffers *b, size_t rows, size_t row_bytes, kb_workspace *ws)
{
    b->matches = kbi_workspace_array(ws, rows, sizeof *b->matches);
    b->marks = kbi_workspace_get(ws, rows);
    b->similarity = kbi_workspace_array(ws, 8 * row_bytes + 1, sizeof *b->similarity);
    return b->matches && b->marks && b->similarity;
}

kb_status kbi_index_verify_measure(size_t rows, size_t row_bytes, kb_workspace *ws)
{
    verify_buffers b;
    size_t mark = kbi_workspace_mark(ws);
    bool fits = buffers_get(&b, rows, row_bytes, ws) && kbi_workspace_array(ws, rows, sizeof(kb_keypoint));
    kb_status status = fits ? kbi_pair_verify_measure(rows, row_bytes, false, ws) : KB_E_MEMORY;
    kbi_workspace_rewind(ws, mark);
    return status;
}

kb_status kbi_index_verify(const kb_index *index, const kb_features *query, size_t position,
                           const kb_index_query_options *o, int32_t plane, kb_workspace *ws, kb_index_result *result)
{
    kb_features image;
    kb_verification found;
    size_t count;
    verify_buffers b;
    if (!buffers_get(&b, query->n, query->row_bytes, ws)) return KB_E_MEMORY;
    kb_verify_options options;
    KB_INIT(options);
    options.geometry = o->geometry;
    options.threshold = o->threshold;
    kb_status status = kept_features(index, position, ws, &image);
    if (status == KB_OK)
        status = kbi_pair_verify(query, &image, &options, plane, ws, b.matches, b.marks, &count, &found);
    if (status != KB_OK) return status;
    kbi_similarity_table(query->row_bytes, b.similarity);
    result->score = matches_score(index, query, position, b.matches, count, b.similarity, b.marks);
    result->inliers = found.inliers;
    result->places = found.places;
    result->geometry = found.geometry;
    memcpy(result->model, found.model, sizeof result->model);
    return KB_OK;
}
