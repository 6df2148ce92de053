/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing. */
/* The fourth step of describing: grids of samples become the bytes of a model's kind. */
#include "describe/steps.h"

#define TURNS 16 /* bytes of a part that take turns at once */

bool kbi_measure_get(const kbi_measuring *m, kbi_measure_scratch *scratch, size_t row_bytes, kb_workspace *workspace)
{
    size_t n = (size_t)m->batch;
    size_t grids = (size_t)(m->grid.octaves * m->grid.side * m->grid.side);
    *scratch = (kbi_measure_scratch){.grids = kbi_workspace_array(workspace, n, grids)};
    if (!m->model) return scratch->grids;
    scratch->kernel = kbi_workspace_get(workspace, m->scratch_bytes);
    scratch->rows = kbi_workspace_get(workspace, n * row_bytes + KB_OCTAVES * TURNS);
    scratch->parts = m->turns ? kbi_workspace_get(workspace, n * row_bytes + TURNS) : scratch->rows;
    if (m->boxes) return scratch->grids && scratch->kernel && scratch->rows && scratch->parts;
    scratch->histograms = kbi_workspace_array(workspace, n, KB_SIFT_VALUES * sizeof *scratch->histograms);
    scratch->values = kbi_workspace_array(workspace, n, KB_SIFT_VALUES);
    return scratch->grids && scratch->kernel && scratch->rows && scratch->histograms && scratch->values;
}

/* Bytes of octaves take turns in a row, so in n rows too: `part` bytes of each octave, and what follows up to a
 * multiple of TURNS. Compilers make vectors of it. */
static void take_turns(const uint8_t *restrict parts, size_t part, uint8_t *restrict rows)
{
    for (size_t i = 0; i < part; i += TURNS, rows += KB_OCTAVES * TURNS) {
        const uint8_t *a = parts + i, *b = a + part, *c = b + part, *d = c + part;
        for (size_t k = 0; k < TURNS; k++) {
            rows[4 * k] = a[k];
            rows[4 * k + 1] = b[k];
            rows[4 * k + 2] = c[k];
            rows[4 * k + 3] = d[k];
        }
    }
}

static void measure_boxes(const kbi_measuring *m, const uint8_t *grids, int32_t n, const kbi_measure_scratch *s)
{
    const kbi_grid grid = m->grid;
    const int32_t part = m->model->row_bytes / grid.octaves;
    for (int32_t k = 0; k < grid.octaves; k++)
        m->boxes->boxes(&m->model->tables[k], grids + k * n * grid.side * grid.side, n, s->parts + k * n * part,
                        s->kernel);
    if (m->turns) take_turns(s->parts, (size_t)(n * part), s->rows);
}

static void measure_gradients(const kbi_measuring *m, const uint8_t *patches, int32_t n, const kbi_measure_scratch *s)
{
    const kb_model_spec *spec = &m->model->spec;
    bool root = spec->kind == KB_KIND_ROOTSIFT || spec->root, hash = spec->kind == KB_KIND_HASHSIFT;
    m->sift->sift(patches, n, s->histograms, s->kernel);
    if (m->floats)
        for (size_t i = 0; i < (size_t)n; i++)
            kbi_sift_floats(s->histograms + i * KB_SIFT_VALUES, root, (float *)(void *)s->rows + i * KB_SIFT_VALUES);
    else m->sift->sift_bytes(s->histograms, n, root, hash ? s->values : s->rows);
    if (hash) m->sift->project(m->model, s->values, n, s->rows);
}

const uint8_t *kbi_measure_grids(const kbi_measuring *m, const kbi_measure_scratch *s, const uint8_t *grids, int32_t n)
{
    if (!m->model) return grids;
    if (kbi_kind_has_boxes(m->model->spec.kind)) measure_boxes(m, grids, n, s);
    else measure_gradients(m, grids, n, s);
    return s->rows;
}
