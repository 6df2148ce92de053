/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing. */
/* Describing: from keypoints or ready patches to rows (describe.h lists the steps). Workers take the next free regions
 * until none is left. A keypoint's row depends on nothing but the model, the image and the keypoint, so neither threads
 * nor the order of work show in the result. */
#include <stdatomic.h>

#include "common/cpu.h"
#include "common/features.h"
#include "describe/steps.h"

/* What a call gives. */
typedef struct product {
    const kb_model *model; /* NULL: samples */
    kbi_grid grid;
    bool floats;
} product;

typedef struct describer {
    kbi_measuring measure;
    kbi_rows rows;
    const kb_parallel *parallel;
    int32_t count;                /* of workers: one per thread, at most one per batch */
    kbi_measure_scratch *workers; /* the memory of each */
    atomic_size_t next;           /* the first item that no worker has taken */
} describer;

/* The beginning that all calls share; parallel is the option. */
static void describer_start(describer *d, product p, size_t n, const kb_parallel *parallel)
{
    const int32_t batch = kbi_image_kernels_get()->batch;
    size_t octaves = (size_t)p.grid.octaves, batches = n / (size_t)batch + 1;
    size_t bytes = p.floats  ? KB_SIFT_VALUES * sizeof(float)
                   : p.model ? (size_t)p.model->row_bytes
                             : octaves * (size_t)(p.grid.side * p.grid.side);
    *d = (describer){.measure = {p.model, p.grid, p.floats, batch},
                     .rows = {NULL, bytes, bytes, bytes / octaves, p.model && octaves > 1},
                     .parallel = parallel,
                     .count = kbi_parallel_threads(parallel)};
    if ((size_t)d->count > batches) d->count = (int32_t)batches;
    atomic_init(&d->next, 0);
}

/* Where the rows of features go, and what the features say of them once they are there. */
static kb_status describer_rows(describer *d, kb_features *f, kb_error *error)
{
    const kb_model *model = d->measure.model;
    kbi_rows *rows = &d->rows;
    if (f->floats && !model->row_floats)
        return kbi_fail_at(error, KB_E_KIND, "floats", -1, "the model %s gives bits, not floats", model->spec.name);
    if (f->row_stride) rows->stride = f->row_stride;
    if (rows->stride < rows->bytes || (d->measure.floats && rows->stride % sizeof(float)) ||
        (f->n && rows->stride > PTRDIFF_MAX / f->n))
        return kbi_fail_at(error, KB_E_ARGUMENT, "row_stride", -1, "row_stride is %zu for rows of %zu bytes",
                           rows->stride, rows->bytes);
    size_t needed = f->n ? (f->n - 1) * rows->stride + rows->bytes : 0;
    if (f->rows_size < needed)
        return kbi_fail_at(error, KB_E_SPACE, "rows_size", -1, "rows_size is %zu, but %zu rows take %zu bytes",
                           f->rows_size, f->n, needed);
    if (f->n && !f->rows) return kbi_fail_at(error, KB_E_ARGUMENT, "rows", -1, "rows is NULL");
    rows->rows = f->rows;
    f->row_bytes = rows->bytes;
    f->model_id = model->id;
    return KB_OK;
}

static kb_status workers_get(describer *d, kb_workspace *workspace)
{
    d->workers = kbi_workspace_array(workspace, (size_t)d->count, sizeof *d->workers);
    if (!d->workers) return KB_E_MEMORY;
    for (int32_t i = 0; i < d->count; i++) {
        kbi_measure_scratch memory;
        if (!kbi_measure_get(&d->measure, &memory, d->rows.bytes, workspace)) return KB_E_MEMORY;
        if (!workspace->measures) d->workers[i] = memory;
    }
    return KB_OK;
}

/* Takes the next items below `end`: *first is the first of them. Returns how many they are, at most a batch; 0: none is
 * left. */
static int32_t take_items(describer *d, size_t end, size_t *first)
{
    size_t max = (size_t)d->measure.batch;
    *first = atomic_fetch_add_explicit(&d->next, max, memory_order_relaxed);
    return *first >= end ? 0 : (int32_t)(end - *first < max ? end - *first : max);
}

/* Measures n grids and writes the rows of keypoints which[i] or, where that is NULL, `first` + i. */
static void measure_and_write(const describer *d, const kbi_measure_scratch *memory, const uint8_t *grids,
                              const uint32_t *which, size_t first, int32_t n)
{
    const uint8_t *part = kbi_measure_grids(&d->measure, memory, grids, n);
    for (size_t i = 0; i < (size_t)n; i++, part += d->rows.part)
        kbi_rows_write(&d->rows, which ? which[i] : first + i, part, (size_t)n * d->rows.part);
}

/* ---- from an image ---- */

typedef struct region_job {
    describer *describer;
    const kbi_image_kernels *kernels;
    kbi_pyramid levels;
    kbi_plan plan;
    kbi_order order;
} region_job;

static void describe_ordered(void *context, int32_t index)
{
    const region_job *j = context;
    const kbi_measure_scratch *memory = &j->describer->workers[index];
    size_t first;
    for (int32_t n; (n = take_items(j->describer, j->order.count, &first)) > 0;) {
        const uint32_t *which = j->order.keypoints + first;
        j->kernels->sample(j->plan.samplings, which, n, j->plan.grid, &j->levels, memory->grids);
        measure_and_write(j->describer, memory, memory->grids, which, 0, n);
    }
}

/* Memory depends on the size of the image and on n, not on what they are. */
static kb_status describe_regions(describer *d, const kb_image *image, const kb_keypoint *keypoints, size_t n,
                                  double width_scale, kb_workspace *workspace, uint8_t *flags)
{
    region_job j = {.describer = d,
                    .kernels = kbi_image_kernels_get(),
                    .plan = {d->measure.grid, width_scale, keypoints, n, NULL, &d->rows, flags}};
    kb_image gray;
    kb_status status = kbi_gray8(image, workspace, &gray);
    if (status == KB_OK) status = kbi_pyramid_get(&j.levels, &gray, j.kernels->margin, workspace);
    if (status == KB_OK) status = kbi_plan_get(&j.plan, workspace);
    if (status == KB_OK) status = kbi_order_get(&j.order, image, n, workspace);
    if (status == KB_OK) status = workers_get(d, workspace);
    if (status != KB_OK || workspace->measures) return status;
    kbi_plan_regions(&j.plan, &j.levels, d->count, d->parallel);
    kbi_order_fill(&j.order, &j.plan);
    kbi_pyramid_make(&j.levels, j.kernels, j.order.levels, d->parallel);
    kbi_parallel_run(d->parallel, d->count, describe_ordered, &j);
    return KB_OK;
}

static kb_status describe_image(describer *d, const kb_image *image, const kb_keypoint *keypoints, size_t n,
                                float scale, kb_workspace *workspace, uint8_t *flags)
{
    const kb_model *model = d->measure.model;
    if (n == 0) return KB_OK;
    if (model && model->spec.sampler == KB_SAMPLER_IMAGE)
        return kbi_bad_describe_image(model, image, keypoints, n, scale, d->parallel, workspace, &d->rows, flags);
    double width_scale = (double)scale * (model ? (double)model->spec.support : 1);
    return describe_regions(d, image, keypoints, n, width_scale, workspace, flags);
}

/* What describing and sampling read alike. */
static kb_status read_call(const kb_features *given, const kb_describe_options *options, kb_features *f,
                           kb_describe_options *o, uint32_t needs, kb_error *error)
{
    kbi_error_clear(error);
    kb_status status = kbi_features_read(f, given, "features", needs, SIZE_MAX, error);
    if (status == KB_OK && KBI_STRUCT_READ(kb_describe_options, o, options) != KB_OK) status = kbi_fail_struct(error);
    if (status == KB_OK && f->floats != 0 && f->floats != 1)
        return kbi_fail_at(error, KB_E_ARGUMENT, "floats", -1, "floats is %d, but must be 0 or 1", (int)f->floats);
    return status;
}

static kb_status run_on_image(describer *d, const kb_image *image, const kb_features *f, float scale,
                              kb_workspace *workspace, kb_error *error)
{
    kb_workspace local, *ws = kbi_workspace_or(workspace, &local);
    size_t mark = kbi_workspace_mark(ws);
    kb_status status = describe_image(d, image, f->keypoints, f->n, scale, ws, f->flags);
    return kbi_workspace_end(ws, mark, &local, status, "model, keypoints, width, height, format, threads", error);
}

kb_status kb_describe(const kb_model *model, const kb_image *image, const kb_describe_options *options,
                      kb_workspace *workspace, kb_features *features, kb_error *error)
{
    kb_describe_options o;
    kb_features f;
    describer d;
    kb_status status = read_call(features, options, &f, &o, KBI_KEYPOINTS, error);
    if (status != KB_OK) return status;
    if (!model) return kbi_fail(error, KB_E_ARGUMENT, "model: a pointer is NULL");
    status = kbi_image_check(image);
    if (status != KB_OK) return kbi_fail_status(error, status);
    if (o.scale == 0) o.scale = kb_model_scale(model, kbi_preset_of(f.detector));
    status = kbi_features_scale(&f, &o.scale, error);
    if (status != KB_OK) return status;
    describer_start(&d, (product){model, model->grid, f.floats}, f.n, o.parallel);
    status = describer_rows(&d, &f, error);
    if (status == KB_OK) status = run_on_image(&d, image, &f, o.scale, workspace, error);
    if (status != KB_OK) return status;
    f.width = image->width;
    f.height = image->height;
    kbi_features_write(features, &f);
    return KB_OK;
}

kb_status kb_sample(const kb_image *image, kb_sampler sampler, const kb_describe_options *options,
                    kb_workspace *workspace, kb_features *features, uint8_t *samples, kb_error *error)
{
    kb_describe_options o;
    kb_features f;
    describer d;
    kb_status status = read_call(features, options, &f, &o, KBI_KEYPOINTS, error);
    if (status == KB_OK) status = kbi_features_scale(&f, &o.scale, error);
    if (status != KB_OK) return status;
    if (sampler != KB_SAMPLER_PATCH && (sampler != KB_SAMPLER_OCTAVES || !kbi_kind_built(KB_KIND_BAG)))
        return kbi_fail(error, KB_E_KIND, "the sampler %s gives no samples", kbi_sampler_name(sampler));
    if (f.n && !samples) return kbi_fail(error, KB_E_ARGUMENT, "samples: a pointer is NULL");
    status = kbi_image_check(image);
    if (status != KB_OK) return kbi_fail_status(error, status);
    kbi_grid grid = sampler == KB_SAMPLER_PATCH ? KBI_GRID_PATCH : KBI_GRID_OCTAVES;
    describer_start(&d, (product){NULL, grid, false}, f.n, o.parallel);
    d.rows.rows = samples;
    return run_on_image(&d, image, &f, o.scale, workspace, error);
}

/* ---- from ready patches ---- */

typedef struct ready_job {
    describer *describer;
    const uint8_t *patches;
    size_t n;
    int32_t side;
} ready_job;

static void describe_ready_patches(void *context, int32_t index)
{
    const ready_job *j = context;
    describer *d = j->describer;
    const kbi_grid grid = d->measure.grid;
    const kbi_measure_scratch *memory = &d->workers[index];
    bool as_they_are = !kbi_has_octaves(grid) && j->side == grid.side;
    size_t first, bytes = kbi_ready_bytes(grid, j->side);
    for (int32_t n; (n = take_items(d, j->n, &first)) > 0;) {
        const uint8_t *patches = j->patches + first * bytes;
        if (!as_they_are) kbi_ready_grids(grid, patches, n, j->side, memory->grids);
        measure_and_write(d, memory, as_they_are ? patches : memory->grids, NULL, first, n);
    }
}

kb_status kb_describe_patches(const kb_model *model, const uint8_t *patches, int32_t side,
                              const kb_describe_options *options, kb_workspace *workspace, kb_features *features,
                              kb_error *error)
{
    kb_describe_options o;
    kb_features f;
    describer d;
    kb_status status = read_call(features, options, &f, &o, 0, error);
    if (status != KB_OK) return status;
    if (!model || (f.n && !patches))
        return kbi_fail(error, KB_E_ARGUMENT, "%s: a pointer is NULL", model ? "patches" : "model");
    bool ready = kbi_has_octaves(model->grid) && side == KB_OCTAVE_SIDE;
    if (!ready && (side < KB_PATCH_SIDE || side > 1024))
        return kbi_fail_at(error, KB_E_ARGUMENT, "side", -1, "side is %d, but must be %d to 1024", (int)side,
                           KB_PATCH_SIDE);
    describer_start(&d, (product){model, model->grid, f.floats}, f.n, o.parallel);
    status = describer_rows(&d, &f, error);
    if (status != KB_OK) return status;
    kb_workspace local, *ws = kbi_workspace_or(workspace, &local);
    size_t mark = kbi_workspace_mark(ws);
    status = workers_get(&d, ws);
    ready_job job = {&d, patches, f.n, side};
    if (status == KB_OK) kbi_parallel_run(d.parallel, d.count, describe_ready_patches, &job);
    if (status == KB_OK) kbi_features_write(features, &f);
    return kbi_workspace_end(ws, mark, &local, status, "model, threads", error);
}

/* ---- memory ---- */

/* Of a call with keypoints of the image or, where it is NULL, with ready patches. */
static kb_status measure_call(product p, const kb_image *image, size_t n, const kb_parallel *parallel,
                              kb_workspace *workspace)
{
    describer d;
    size_t mark = kbi_workspace_mark(workspace);
    describer_start(&d, p, n, parallel);
    kb_status status = image ? describe_image(&d, image, NULL, n, 1, workspace, NULL) : workers_get(&d, workspace);
    kbi_workspace_rewind(workspace, mark);
    return status;
}

kb_status kbi_sample_measure(const kb_image *image, size_t n, const kb_parallel *parallel, kb_workspace *workspace)
{
    return measure_call((product){NULL, KBI_GRID_PATCH, false}, image, n, parallel, workspace);
}

kb_status kbi_describe_measure(const kb_model *model, const kb_image *image, size_t n, const kb_parallel *parallel,
                               kb_workspace *workspace)
{
    const product rows = {model, model->grid, model->row_floats > 0}; /* floats take more than bytes */
    kb_status status = measure_call(rows, NULL, n, parallel, workspace);
    if (status == KB_OK) status = measure_call(rows, image, n, parallel, workspace);
    if (status == KB_OK) status = kbi_sample_measure(image, n, parallel, workspace);
    if (status == KB_OK && kbi_kind_built(KB_KIND_BAG))
        status = measure_call((product){NULL, KBI_GRID_OCTAVES, false}, image, n, parallel, workspace);
    return status;
}
