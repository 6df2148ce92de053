/* The query against one kept image: matches, and the geometry between the two. */
#include <math.h>

#include "index/index.h"

static kb_status match_image(const kb_index *index, const kb_features *query, size_t position, kb_workspace *ws,
                             kb_match **matches, size_t *count)
{
    const kbi_indexed *image = &index->images[position];
    *matches = kbi_workspace_get(ws, query->n * sizeof **matches);
    if (!*matches) return KB_E_MEMORY;
    return kb_match_hamming(query->rows, query->n, image->kept_rows, image->rows, query->row_bytes, NULL, ws, *matches,
                            count);
}

kb_status kbi_index_exact(const kb_index *index, const kb_features *query, size_t position,
                          const uint32_t *similarity, kb_workspace *ws, double *score)
{
    kb_match *matches;
    size_t count;
    uint64_t sum = 0;
    kb_status status = match_image(index, query, position, ws, &matches, &count);
    if (status != KB_OK) return status;
    for (size_t i = 0; i < count; i++) sum += similarity[(size_t)matches[i].distance];
    double norm = sqrt((double)query->n) * sqrt((double)index->images[position].rows);
    *score = norm > 0 ? (double)sum / (norm * KBI_SIMILARITY_ONE) : 0;
    return KB_OK;
}

kb_status kbi_index_verify(const kb_index *index, const kb_features *query, size_t position,
                           const kb_index_query_options *o, kb_workspace *ws, kb_index_result *result)
{
    const uint8_t *points = index->images[position].kept_points;
    kb_match *matches;
    size_t count;
    kb_status status = match_image(index, query, position, ws, &matches, &count);
    if (status != KB_OK) return status;
    kb_point_pair *pairs = kbi_workspace_get(ws, count * sizeof *pairs);
    float *quality = kbi_workspace_get(ws, count * sizeof *quality);
    if (!pairs || !quality) return KB_E_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const kb_keypoint *k = &query->keypoints[matches[i].a];
        const uint8_t *at = points + (size_t)matches[i].b * KBI_POINT;
        pairs[i] = (kb_point_pair){(double)k->x, (double)k->y, (double)kbi_get_f32(at),
                                   (double)kbi_get_f32(at + 4)};
        quality[i] = matches[i].distance;
    }
    kb_fit_options fit;
    kb_fit_report report;
    KB_INIT(fit);
    KB_INIT(report);
    fit.geometry = o->geometry;
    fit.threshold = o->threshold;
    fit.quality = quality;
    status = kb_fit(pairs, count, &fit, ws, NULL, &report);
    if (status != KB_OK) return status;
    bool found = report.result == KB_FIT_FOUND;
    result->inliers = found ? report.inliers : 0;
    for (int i = 0; i < 9; i++) result->model[i] = found ? report.model[i] : 0;
    return KB_OK;
}
