/* The fourth step of describing: grids of samples become the bytes of a model's kind. */
#include "describe/steps.h"

bool kbi_measure_get(const kbi_measuring *m, kbi_measure_scratch *scratch, size_t part_bytes, kb_workspace *workspace)
{
    size_t n = (size_t)m->kernels.batch;
    *scratch = (kbi_measure_scratch){.kernel = NULL};
    if (!m->model) return true;
    scratch->kernel = kbi_workspace_get(workspace, m->kernels.scratch_bytes(m->model));
    scratch->parts = kbi_workspace_array(workspace, n, part_bytes);
    if (KB_BAD_ONLY || kbi_kind_has_boxes(m->model->spec.kind)) return scratch->kernel && scratch->parts;
    scratch->histograms = kbi_workspace_array(workspace, n, KB_SIFT_VALUES * sizeof *scratch->histograms);
    scratch->values = kbi_workspace_array(workspace, n, KB_SIFT_VALUES);
    return scratch->kernel && scratch->parts && scratch->histograms && scratch->values;
}

const uint8_t *kbi_measure_grids(const kbi_measuring *m, const kbi_measure_scratch *s, int32_t octave,
                                 const uint8_t *grids, int32_t n)
{
    if (!m->model) return grids;
    const kb_model_spec *spec = &m->model->spec;
    if (KB_BAD_ONLY || kbi_kind_has_boxes(spec->kind)) {
        m->kernels.boxes(&m->model->tables[octave], grids, n, s->parts, s->kernel);
        return s->parts;
    }
    bool root = spec->kind == KB_KIND_ROOTSIFT || spec->root, hash = spec->kind == KB_KIND_HASHSIFT;
    m->kernels.sift(grids, n, s->histograms, s->kernel);
    if (m->floats)
        for (size_t i = 0; i < (size_t)n; i++)
            kbi_sift_floats(s->histograms + i * KB_SIFT_VALUES, root, (float *)(void *)s->parts + i * KB_SIFT_VALUES);
    else m->kernels.sift_bytes(s->histograms, n, root, hash ? s->values : s->parts);
    if (hash) m->kernels.project(m->model, s->values, n, s->parts);
    return s->parts;
}
