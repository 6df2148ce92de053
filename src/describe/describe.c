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

typedef struct worker {
    kbi_measure_scratch scratch;
    kbi_batch batches[KB_OCTAVES];
} worker;

typedef struct describer {
    kbi_grid grid;
    kbi_measuring measure;
    kbi_rows rows;
    const kb_parallel *parallel;
    int32_t count; /* of workers: one per thread, at most one per batch */
    worker *workers;
    atomic_size_t next; /* the first item that no worker has taken */
} describer;

/* The beginning that all calls share; parallel is the option. */
static void describer_start(describer *d, product p, size_t n, const kb_parallel *parallel)
{
    *d = (describer){.grid = p.grid, .measure = {.model = p.model, .floats = p.floats}, .parallel = parallel};
    size_t bytes = p.floats  ? KB_SIFT_VALUES * sizeof(float)
                   : p.model ? (size_t)p.model->row_bytes
                             : (size_t)(kbi_grid_octaves(p.grid) * kbi_grid_bytes(p.grid.side));
    d->rows = (kbi_rows){NULL, bytes, bytes, bytes / (size_t)kbi_grid_octaves(p.grid),
                         p.model && kbi_has_octaves(p.grid)};
    d->measure.batch = kbi_image_kernels_get()->batch;
    size_t batches = n / (size_t)d->measure.batch + 1;
    d->count = kbi_parallel_threads(parallel);
    if ((size_t)d->count > batches) d->count = (int32_t)batches;
    atomic_init(&d->next, 0);
}

/* Where the rows of features go. */
static kb_status describer_rows(describer *d, const kb_features *f, kb_error *error)
{
    kbi_rows *rows = &d->rows;
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
    return KB_OK;
}

static bool worker_get(const describer *d, worker *w, kb_workspace *workspace)
{
    bool ok = kbi_measure_get(&d->measure, &w->scratch, d->rows.part, workspace);
    for (int32_t k = 0; ok && k < kbi_grid_octaves(d->grid); k++)
        ok = kbi_batch_get(&w->batches[k], d->measure.batch, d->grid.side, workspace);
    return ok;
}

static kb_status workers_get(describer *d, kb_workspace *workspace)
{
    d->workers = kbi_workspace_array(workspace, (size_t)d->count, sizeof *d->workers);
    if (!d->workers) return KB_E_MEMORY;
    for (int32_t i = 0; i < d->count; i++) {
        worker w;
        if (!worker_get(d, &w, workspace)) return KB_E_MEMORY;
        if (!workspace->measures) d->workers[i] = w;
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

/* ---- from an image ---- */

typedef struct region_job {
    describer *describer;
    const kbi_image_kernels *kernels;
    kbi_pyramid levels;
    kbi_regions regions;
    kbi_order order;
    size_t end; /* of the pass in the order */
    bool last;  /* no pass with regions follows */
} region_job;

static void finish_batch(const region_job *j, worker *w, int32_t octave)
{
    const describer *d = j->describer;
    kbi_batch *b = &w->batches[octave];
    const uint8_t *part = kbi_measure_grids(&d->measure, &w->scratch, octave, b->grids, b->filled);
    for (int32_t i = 0; i < b->filled; i++, part += d->rows.part)
        kbi_rows_write(&d->rows, kbi_region_keypoint(&j->regions, b->regions[i]), octave, part);
    b->filled = b->sampled = 0;
}

static void sample_batch(const region_job *j, worker *w, int32_t octave)
{
    kbi_batch_sample(&w->batches[octave], j->kernels, j->regions.grid.side, &j->levels);
}

/* A worker's share of a pass. Batches that are not full wait for the next pass. */
static void describe_pass(void *context, int32_t index)
{
    const region_job *j = context;
    worker *w = &j->describer->workers[index];
    size_t first;
    for (int32_t n; (n = take_items(j->describer, j->end, &first)) > 0;)
        for (size_t i = first; i < first + (size_t)n; i++) {
            uint32_t region = j->order.regions[i];
            int32_t octave = kbi_region_octave(&j->regions, region);
            kbi_batch_add(&w->batches[octave], &j->regions, region);
            if (w->batches[octave].filled < j->describer->measure.batch) continue;
            sample_batch(j, w, octave);
            finish_batch(j, w, octave);
        }
    for (int32_t k = 0; k < kbi_grid_octaves(j->regions.grid); k++) {
        sample_batch(j, w, k);
        if (j->last && w->batches[k].filled > 0) finish_batch(j, w, k);
    }
}

static void describe_passes(region_job *j)
{
    const int32_t passes = kbi_pyramid_passes(&j->levels);
    const size_t *first = j->order.first;
    for (int32_t pass = 0; pass < passes && first[pass] < first[passes]; pass++) {
        kbi_pyramid_pass(&j->levels, j->kernels, pass, j->describer->parallel);
        if (first[pass] == first[pass + 1]) continue;
        atomic_store_explicit(&j->describer->next, first[pass], memory_order_relaxed);
        j->end = first[pass + 1];
        j->last = j->end == first[passes];
        kbi_parallel_run(j->describer->parallel, j->describer->count, describe_pass, j);
    }
}

/* Memory depends on the size of the image and on n, not on what they are. */
static kb_status describe_regions(describer *d, const kb_image *gray, const kb_keypoint *keypoints, size_t n,
                                  double width_scale, kb_workspace *workspace, uint8_t *flags)
{
    region_job j = {.describer = d};
    kb_status status = kbi_pyramid_get(&j.levels, gray, d->count == 1, workspace);
    if (status == KB_OK) status = kbi_regions_get(&j.regions, d->grid, n, workspace);
    if (status == KB_OK) status = kbi_order_get(&j.order, &j.regions, &j.levels, workspace);
    if (status == KB_OK) status = workers_get(d, workspace);
    if (status != KB_OK || workspace->measures) return status;
    j.kernels = kbi_image_kernels_get();
    kbi_plan plan = {&j.regions, keypoints, n, width_scale, &j.levels, j.kernels, &d->rows, flags, d->count};
    kbi_plan_regions(&plan, d->parallel);
    kbi_order_fill(&j.order, &j.regions, &j.levels);
    kbi_pyramid_want(&j.levels, j.order.wanted);
    describe_passes(&j);
    return KB_OK;
}

static kb_status describe_image(describer *d, const kb_image *image, const kb_keypoint *keypoints, size_t n,
                                float scale, kb_workspace *workspace, uint8_t *flags)
{
    const kb_model *model = d->measure.model;
    kb_image gray;
    kb_status status = kbi_gray8(image, workspace, &gray);
    if (status != KB_OK || n == 0) return status;
    if (model && model->spec.sampler == KB_SAMPLER_IMAGE)
        return kbi_bad_describe_image(model, &gray, keypoints, n, scale, d->parallel, workspace, &d->rows, flags);
    double width_scale = (double)scale * (model ? (double)model->spec.support : 1);
    return describe_regions(d, &gray, keypoints, n, width_scale, workspace, flags);
}

/* What describing and sampling read alike. */
static kb_status read_call(const kb_features *given, const kb_describe_options *options, kb_features *f,
                           kb_describe_options *o, uint32_t needs, kb_error *error)
{
    kbi_error_clear(error);
    if (KBI_STRUCT_READ(kb_describe_options, o, options) != KB_OK) return kbi_fail_struct(error);
    kb_status status = kbi_features_read(f, given, "features", needs, SIZE_MAX, error);
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

/* Notes what made the rows. */
static void note_model(const kb_model *model, const describer *d, kb_features *given, kb_features *f)
{
    f->row_bytes = d->rows.bytes;
    f->model_id = model->id;
    kbi_features_write(given, f);
}

static kb_status check_kind(const kb_model *model, const kb_features *f, kb_error *error)
{
    if (!f->floats || model->row_floats) return KB_OK;
    return kbi_fail_at(error, KB_E_KIND, "floats", -1, "the model %s gives bits, not floats", model->spec.name);
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
    status = check_kind(model, &f, error);
    if (status == KB_OK && o.scale == 0) o.scale = kb_model_scale(model, kbi_preset_of(f.detector));
    if (status == KB_OK) status = kbi_features_scale(&f, &o.scale, error);
    if (status != KB_OK) return status;
    describer_start(&d, (product){model, model->grid, f.floats}, f.n, o.parallel);
    status = describer_rows(&d, &f, error);
    if (status == KB_OK) status = run_on_image(&d, image, &f, o.scale, workspace, error);
    if (status != KB_OK) return status;
    f.width = image->width;
    f.height = image->height;
    note_model(model, &d, features, &f);
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
    worker *w = &d->workers[index];
    bool as_they_are = !kbi_has_octaves(d->grid) && j->side == d->grid.side;
    size_t first, bytes = kbi_ready_bytes(d->grid, j->side);
    for (int32_t n; (n = take_items(d, j->n, &first)) > 0;) {
        const uint8_t *patches = j->patches + first * bytes;
        for (int32_t i = 0; !as_they_are && i < n; i++, patches += bytes) {
            uint8_t *grids[KB_OCTAVES];
            for (int32_t k = 0; k < kbi_grid_octaves(d->grid); k++)
                grids[k] = w->batches[k].grids + i * kbi_grid_bytes(d->grid.side);
            kbi_ready_grids(d->grid, patches, j->side, grids);
        }
        for (int32_t k = 0; k < kbi_grid_octaves(d->grid); k++) {
            const uint8_t *grids = as_they_are ? patches : w->batches[k].grids;
            const uint8_t *part = kbi_measure_grids(&d->measure, &w->scratch, k, grids, n);
            for (size_t i = 0; i < (size_t)n; i++, part += d->rows.part)
                kbi_rows_write(&d->rows, first + i, k, part);
        }
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
    status = check_kind(model, &f, error);
    if (status != KB_OK) return status;
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
    if (status == KB_OK) note_model(model, &d, features, &f);
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
