/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing. */
/* Describing: from keypoints or ready patches to rows (describe.h lists the steps). Workers take the next free regions
 * until none is left. A keypoint's row depends on nothing but the model, the image and the keypoint, so neither threads
 * nor the order of work show in the result. */
#include <stdatomic.h>

#include "common/features.h"
#include "describe/steps.h"

/* One call. */
typedef struct describer {
    kbi_measuring measure; /* its model and grid say what the call gives */
    kb_describe_options options;
    kb_features features;
    const kbi_image_kernels *kernels;
    kbi_rows rows;
    kb_workspace *workspace, local;
    size_t mark;                  /* of the workspace */
    int32_t count;                /* of workers: one per thread, at most one per batch */
    kbi_measure_scratch *workers; /* the memory of each */
    atomic_size_t next;           /* the first item that no worker has taken */
} describer;

/* ---- the beginning and the end that all calls share ---- */

static kb_status read_call(describer *d, const kb_features *features, const kb_describe_options *options,
                           uint32_t needs, kb_workspace *workspace, kb_error *error)
{
    kb_features *f = &d->features;
    kbi_error_clear(error);
    d->workspace = kbi_workspace_or(workspace, &d->local);
    d->mark = kbi_workspace_mark(d->workspace);
    if (KBI_STRUCT_READ(kb_describe_options, &d->options, options) != KB_OK) return kbi_fail_struct(error);
    kb_status status = kbi_features_read(f, features, "features", needs, SIZE_MAX, error);
    if (status == KB_OK && f->floats != 0 && f->floats != 1)
        return kbi_fail_at(error, KB_E_ARGUMENT, "floats", -1, "floats is %d, but must be 0 or 1", (int)f->floats);
    if (status == KB_OK && (needs & KBI_KEYPOINTS)) status = kbi_features_scale(f, &d->options.scale, error);
    return status;
}

/* Reads the call, takes the memory of workers, and chooses the kernels. Whatever it returns, describer_end follows. */
static kb_status describer_begin(describer *d, const kb_features *features, const kb_describe_options *options,
                                 uint32_t needs, kb_workspace *workspace, kb_error *error)
{
    const kb_model *model = d->measure.model;
    kb_status status = read_call(d, features, options, needs, workspace, error);
    if (status != KB_OK) return status;
    int32_t threads = kbi_parallel_threads(d->options.parallel);
    d->workers = kbi_workspace_array(d->workspace, (size_t)threads, sizeof *d->workers);
    if (!d->workers) return KB_E_MEMORY;

    if (model && (!options || options->scale == 0))
        d->options.scale = kb_model_scale(model, kbi_preset_of(d->features.detector));
    if (model && kbi_kind_has_boxes(model->spec.kind)) {
        d->measure.boxes = kbi_boxes_kernels_get();
        d->measure.scratch_bytes = d->measure.boxes->boxes_scratch(model);
    } else if (model) {
        d->measure.sift = kbi_sift_kernels_get();
        d->measure.scratch_bytes = d->measure.sift->scratch_bytes;
    }
    d->kernels = kbi_image_kernels_get();
    d->measure.floats = model && d->features.floats;
    d->measure.batch = d->kernels->batch;
    const size_t batches = d->features.n / (size_t)d->kernels->batch + 1;
    d->count = batches < (size_t)threads ? (int32_t)batches : threads;
    const size_t octaves = (size_t)d->measure.grid.octaves, side = (size_t)d->measure.grid.side;
    d->measure.turns = model && octaves > 1;
    size_t bytes = d->measure.floats ? KB_SIFT_VALUES * sizeof(float)
                   : model           ? (size_t)model->row_bytes
                                     : octaves * side * side;
    d->rows = (kbi_rows){NULL, bytes, bytes, model ? bytes : bytes / octaves};
    atomic_init(&d->next, 0);
    return KB_OK;
}

/* `features` receives what the call found; NULL for none. */
static kb_status describer_end(describer *d, kb_status status, kb_features *features, const char *limits,
                               kb_error *error)
{
    if (status == KB_OK && features) kbi_features_write(features, &d->features);
    return kbi_workspace_end(&d->local, status, limits, error);
}

/* Where the rows of features go, and what the features say of them once they are there. */
static kb_status describer_rows(describer *d, kb_error *error)
{
    const kb_model *model = d->measure.model;
    kbi_rows *rows = &d->rows;
    kb_features *f = &d->features;
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

static kb_status workers_get(describer *d)
{
    for (int32_t i = 0; i < d->count; i++) {
        kbi_measure_scratch memory;
        if (!kbi_measure_get(&d->measure, &memory, d->rows.bytes, d->workspace)) return KB_E_MEMORY;
        if (!d->workspace->measures) d->workers[i] = memory;
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
    kbi_pyramid levels;
    kbi_regions regions;
    kbi_order order;
    kbi_sampling *samplings; /* of a batch, for every worker */
} region_job;

static void describe_ordered(void *context, int32_t index)
{
    const region_job *j = context;
    const kbi_measure_scratch *memory = &j->describer->workers[index];
    const kbi_regions *r = &j->regions;
    const kbi_image_kernels *kernels = j->describer->kernels;
    kbi_sampling *samplings = j->samplings + index * kernels->batch * r->grid.octaves;
    uint8_t flags[KBI_BATCH], *all = j->describer->features.flags;
    size_t first;
    for (int32_t n; (n = take_items(j->describer, j->order.count, &first)) > 0;) {
        const uint32_t *which = j->order.keypoints + first;
        kernels->plan(r->keypoints, which, n, r->width_scale, r->grid, &j->levels, samplings, flags);
        for (int32_t i = 0; all && i < n; i++) all[which[i]] = flags[i];
        kernels->sample(samplings, n, r->grid, &j->levels, memory->grids);
        measure_and_write(j->describer, memory, memory->grids, which, 0, n);
    }
}

/* Memory depends on the size of the image and on n, not on what they are. */
static kb_status describe_regions(describer *d, const kb_image *image)
{
    const kb_model *model = d->measure.model;
    const kb_features *f = &d->features;
    const kb_parallel *parallel = d->options.parallel;
    double width_scale = (double)d->options.scale * (model ? (double)model->spec.support : 1);
    region_job j = {.describer = d, .regions = {d->measure.grid, width_scale, f->keypoints, f->n}};
    const size_t each = (size_t)(d->kernels->batch * d->measure.grid.octaves);
    kb_image gray;
    kb_status status = kbi_gray8(image, d->workspace, &gray);
    if (status != KB_OK || f->n == 0) return status;
    status = kbi_pyramid_get(&j.levels, &gray, d->kernels->margin, d->workspace);
    if (status == KB_OK) status = kbi_order_get(&j.order, image, f->n, d->workspace);
    if (status == KB_OK) status = workers_get(d);
    if (status != KB_OK) return status;
    j.samplings = kbi_workspace_array(d->workspace, (size_t)d->count * each, sizeof *j.samplings);
    if (!j.samplings) return KB_E_MEMORY;
    if (d->workspace->measures) return KB_OK;
    kbi_order_fill(&j.order, &j.regions, &j.levels, &d->rows, f->flags);
    kbi_pyramid_make(&j.levels, d->kernels, j.order.levels, parallel);
    kbi_parallel_run(parallel, d->count, describe_ordered, &j);
    return KB_OK;
}

static kb_status describe_image(describer *d, const kb_image *image)
{
    const kb_model *model = d->measure.model;
    const kb_features *f = &d->features;
    if (!model || model->spec.sampler != KB_SAMPLER_IMAGE) return describe_regions(d, image);
    return kbi_bad_describe_image(model, image, f->keypoints, f->n, d->options.scale, d->options.parallel,
                                  d->workspace, &d->rows, f->flags);
}

#define IMAGE_LIMITS "model, keypoints, width, height, format, threads"

kb_status kb_describe(const kb_model *model, const kb_image *image, const kb_describe_options *options,
                      kb_workspace *workspace, kb_features *features, kb_error *error)
{
    if (!model) return kbi_fail(error, KB_E_ARGUMENT, "model: a pointer is NULL");
    describer d = {.measure = {.model = model, .grid = model->grid}};
    kb_status status = describer_begin(&d, features, options, KBI_KEYPOINTS, workspace, error);
    if (status == KB_OK) status = describer_rows(&d, error);
    if (status == KB_OK) status = describe_image(&d, image);
    if (status == KB_OK) {
        d.features.width = image->width;
        d.features.height = image->height;
    }
    return describer_end(&d, status, features, IMAGE_LIMITS, error);
}

kb_status kb_sample(const kb_image *image, kb_sampler sampler, const kb_describe_options *options,
                    kb_workspace *workspace, kb_features *features, uint8_t *samples, kb_error *error)
{
    if (sampler != KB_SAMPLER_PATCH && (sampler != KB_SAMPLER_OCTAVES || !kbi_kind_built(KB_KIND_BAG)))
        return kbi_fail(error, KB_E_KIND, "the sampler %s gives no samples", kbi_sampler_name(sampler));
    describer d = {.measure = {.grid = sampler == KB_SAMPLER_PATCH ? KBI_GRID_PATCH : KBI_GRID_OCTAVES}};
    kb_status status = describer_begin(&d, features, options, KBI_KEYPOINTS, workspace, error);
    if (status == KB_OK && d.features.n && !samples)
        status = kbi_fail(error, KB_E_ARGUMENT, "samples: a pointer is NULL");
    d.rows.rows = samples;
    if (status == KB_OK) status = describe_image(&d, image);
    return describer_end(&d, status, NULL, IMAGE_LIMITS, error);
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
    if (!model) return kbi_fail(error, KB_E_ARGUMENT, "model: a pointer is NULL");
    bool ready = kbi_has_octaves(model->grid) && side == KB_OCTAVE_SIDE;
    if (!ready && (side < KB_PATCH_SIDE || side > 1024))
        return kbi_fail_at(error, KB_E_ARGUMENT, "side", -1, "side is %d, but must be %d to 1024", (int)side,
                           KB_PATCH_SIDE);
    describer d = {.measure = {.model = model, .grid = model->grid}};
    kb_status status = describer_begin(&d, features, options, 0, workspace, error);
    if (status == KB_OK && d.features.n && !patches)
        status = kbi_fail(error, KB_E_ARGUMENT, "patches: a pointer is NULL");
    if (status == KB_OK) status = describer_rows(&d, error);
    if (status == KB_OK) status = workers_get(&d);
    if (status == KB_OK) {
        ready_job job = {&d, patches, d.features.n, side};
        kbi_parallel_run(d.options.parallel, d.count, describe_ready_patches, &job);
    }
    return describer_end(&d, status, features, "model, threads", error);
}

/* ---- memory ---- */

/* Of a call with keypoints of the image or, where it is NULL, with ready patches. */
static kb_status measure_call(kbi_measuring measure, const kb_image *image, size_t n, const kb_parallel *parallel,
                              kb_workspace *workspace)
{
    describer d = {.measure = measure};
    kb_features f = {.struct_size = sizeof f, .n = n};
    kb_describe_options o = {.struct_size = sizeof o, .parallel = parallel};
    f.floats = measure.model && measure.model->row_floats > 0; /* they take more than bytes */
    kb_status status = describer_begin(&d, &f, &o, 0, workspace, NULL);
    if (status == KB_OK) status = image ? describe_image(&d, image) : workers_get(&d);
    kbi_workspace_rewind(workspace, d.mark);
    return status;
}

kb_status kbi_sample_measure(const kb_image *image, size_t n, const kb_parallel *parallel, kb_workspace *workspace)
{
    return measure_call((kbi_measuring){.grid = KBI_GRID_PATCH}, image, n, parallel, workspace);
}

kb_status kbi_describe_measure(const kb_model *model, const kb_image *image, size_t n, const kb_parallel *parallel,
                               kb_workspace *workspace)
{
    const kbi_measuring rows = {.model = model, .grid = model->grid};
    kb_status status = measure_call(rows, NULL, n, parallel, workspace);
    if (status == KB_OK) status = measure_call(rows, image, n, parallel, workspace);
    if (status == KB_OK) status = kbi_sample_measure(image, n, parallel, workspace);
    if (status == KB_OK && kbi_kind_built(KB_KIND_BAG))
        status = measure_call((kbi_measuring){.grid = KBI_GRID_OCTAVES}, image, n, parallel, workspace);
    return status;
}
