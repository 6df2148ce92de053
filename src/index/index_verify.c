/* The query against one kept image: matches, and the geometry between the two. */
#include <math.h>

#include "index/index.h"

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

/* The similarity of matches added up; with inliers, those count twice and the whole is halved. */
static double matches_score(const kb_index *index, const kb_features *query, size_t position, const kb_match *matches,
                            size_t count, const uint32_t *similarity, const uint8_t *inliers)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t one = similarity[(size_t)matches[i].distance];
        sum += inliers && inliers[i] ? 2 * (uint64_t)one : one;
    }
    /* The root of a product is not below the lesser factor, even rounded; so the score is never above 1. */
    double norm = sqrt((double)query->n * (double)index->images[position].rows) * (inliers ? 2 : 1);
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

/* The points of matches, and their distances. */
static void pairs_of(const kb_index *index, const kb_features *query, size_t position, const kb_match *matches,
                     size_t count, kb_point_pair *pairs, float *quality)
{
    const uint8_t *points = index->images[position].kept_points;
    for (size_t i = 0; i < count; i++) {
        const kb_keypoint *k = &query->keypoints[matches[i].a];
        const uint8_t *at = points + (size_t)matches[i].b * KBI_POINT;
        pairs[i] = (kb_point_pair){(double)k->x, (double)k->y, (double)kbi_get_f32(at), (double)kbi_get_f32(at + 4)};
        quality[i] = matches[i].distance;
    }
}

kb_status kbi_index_verify(const kb_index *index, const kb_features *query, size_t position,
                           const kb_index_query_options *o, kb_workspace *ws, kb_index_result *result)
{
    kb_match *matches;
    size_t count;
    kb_status status = match_image(index, query, position, ws, &matches, &count);
    if (status != KB_OK) return status;
    kb_point_pair *pairs = kbi_workspace_array(ws, count, sizeof *pairs);
    float *quality = kbi_workspace_array(ws, count, sizeof *quality);
    uint8_t *inliers = kbi_workspace_get(ws, count);
    uint32_t *similarity = kbi_workspace_array(ws, 8 * query->row_bytes + 1, sizeof *similarity);
    if (!pairs || !quality || !inliers || !similarity) return KB_E_MEMORY;
    pairs_of(index, query, position, matches, count, pairs, quality);
    kb_fit_options fit;
    kb_fit_report report;
    KB_INIT(fit);
    KB_INIT(report);
    fit.geometry = o->geometry;
    fit.threshold = o->threshold;
    fit.quality = quality;
    memset(inliers, 0, count);
    status = kb_fit(pairs, count, &fit, ws, inliers, &report, NULL);
    if (status != KB_OK) return status;
    bool found = report.result == KB_FIT_FOUND;
    if (!found) memset(inliers, 0, count);
    kbi_similarity_table(query->row_bytes, similarity);
    result->score = matches_score(index, query, position, matches, count, similarity, inliers);
    result->inliers = found ? report.inliers : 0;
    for (int i = 0; i < 9; i++) result->model[i] = found ? report.model[i] : 0;
    return KB_OK;
}
