/* Describing: from keypoints or ready patches to rows. The patches go through the kernels in batches, and each
 * thread takes the next free batch. A keypoint's row depends on nothing but the model, the image and
 * the keypoint, so neither threads nor the order of work can be seen in the result. */
#include <math.h>
#include <stdatomic.h>

#include "common/cpu.h"
#include "describe/kernels.h"
#include "image/kernels.h"

/* ---- presets ---- */

static const kb_preset presets[] = {{"orb", 1.0f},   {"hessian", 1.0f}, {"fast", 5.0f},
                                    {"agast", 5.0f}, {"brisk", 5.0f},   {"akaze", 5.0f},
                                    {"kaze", 6.25f}, {"surf", 6.25f},   {"sift", 6.75f}};

kb_preset kb_preset_at(int32_t index)
{
    return index >= 0 && index < (int32_t)KBI_COUNT(presets) ? presets[index] : (kb_preset){NULL, 0};
}

static bool same_word(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if ((*a | 32) != (*b | 32)) return false;
    return *a == *b;
}

float kb_preset_scale(const char *name)
{
    for (size_t i = 0; name && i < KBI_COUNT(presets); i++)
        if (same_word(name, presets[i].name)) return presets[i].scale;
    return 0;
}

float kb_model_scale(const kb_model *model, const char *preset)
{
    if (!model) return 0;
    float scale = kb_preset_scale(preset);
    if (scale == 0 || model->spec.sift_support == 0 || !same_word(preset, "sift")) return scale;
    return scale * (model->spec.sift_support / model->spec.support);
}

float kb_patch_width(const kb_model *model, const kb_keypoint *keypoint, float scale)
{
    if (!model || !keypoint) return NAN;
    return scale * keypoint->size * model->spec.support;
}

/* ---- what a task computes ---- */

/* What a batch of patches turns into. */
typedef enum product {
    OUT_ROWS,   /* descriptor bytes */
    OUT_FLOATS, /* SIFT or RootSIFT as floats */
    OUT_PATCHES, /* the patches themselves */
    OUT_OCTAVES  /* or the octaves */
} product;
static bool of_samples(product output) { return output >= OUT_PATCHES; }

/* Regions of one octave that go through the kernels together. */
typedef struct batch {
    uint8_t *grids;
    kbi_sampling *samplings;
    uint32_t *regions;
    int32_t filled, sampled;
} batch;

/* Scratch of one task: batches, and what its model needs. */
typedef struct scratch {
    void *kernel;
    uint32_t *histograms;
    uint8_t *values;
    uint8_t *rows;
    batch batches[KB_OCTAVES];
} scratch;

typedef struct job {
    const kb_model *model; /* NULL for OUT_PATCHES and OUT_OCTAVES */
    kbi_image_kernels image_kernels;
    kbi_describe_kernels kernels;
    product output;
    kbi_sample_grid grid; /* what regions are sampled to */
    size_t row_size; /* bytes of a row of output */
    size_t part;     /* and of an octave's part of it */
    size_t stride;   /* bytes from one row of output to the next */
    uint8_t *rows;
    size_t n;
    const kb_parallel *parallel;
    int32_t pieces; /* tasks: as many as threads */
    atomic_size_t next; /* the first item of the next batch, or the next batch */
    scratch *scratches;
    /* from an image */
    const kb_keypoint *keypoints;
    bool single; /* one level of the pyramid at a time */
    kbi_pyramid levels;
    size_t planned; /* regions, n x octaves: those of a keypoint are neighbours, the whole one first */
    kbi_sampling *samplings;
    uint32_t *order;   /* regions that can be described, in the order of work */
    size_t first[KB_OCTAVES + 1]; /* where those of an octave begin in it, of the first one all if `single` */
    uint32_t wanted; /* levels that they are sampled from, and those that these are made of */
    size_t cells, first_cell[KBI_PYRAMID_LEVELS]; /* of the sort that makes the order */
    double width_scale; /* region width a unit of keypoint size */
    kbi_integral integral;
    float scale;
    uint8_t *flags;
    /* from ready patches */
    const uint8_t *patches;
    int32_t patch_side;
} job;
/* Octaves of a keypoint: regions, grids, and parts of its row; and the side of a grid. */
static int32_t octaves_of(const job *j) { return kbi_grid_octaves(j->grid); }
static int32_t side_of(const job *j) { return kbi_grid_side(j->grid); }
static bool is_single(const job *j) { return KBI_ONE_THREAD || j->single; }

/* n grids of an octave to their parts of n rows, which have no gaps. */
static void describe_grids(const job *j, scratch *s, int32_t octave, const uint8_t *grids, int32_t n, uint8_t *rows)
{
    const kb_model *model = j->model;
    if (KB_BAD_ONLY || kbi_kind_has_boxes(model->spec.kind)) {
        j->kernels.boxes(&model->tables[octave], grids, n, rows, s->kernel);
        return;
    }
    bool root = model->spec.kind == KB_ROOTSIFT || model->spec.root;
    j->kernels.sift(grids, n, s->histograms, s->kernel);
    if (j->output == OUT_FLOATS) {
        for (size_t i = 0; i < (size_t)n; i++)
            kbi_sift_floats(s->histograms + i * KB_SIFT_VALUES, root, (float *)(void *)rows + i * KB_SIFT_VALUES);
        return;
    }
    j->kernels.sift_bytes(s->histograms, n, root, model->spec.kind == KB_HASHSIFT ? s->values : rows);
    if (model->spec.kind == KB_HASHSIFT) j->kernels.project(model, s->values, n, rows);
}

/* ---- the order of levels ---- */

/* Levels in an order in which each can take the place of the one it is made of: 0, 1, 3, 5 ... 31, 2, 4 ... 30. */
static int32_t level_at(int32_t place)
{
    if (place == 0) return 0;
    return place <= KBI_PYRAMID_LEVELS / 2 ? 2 * place - 1 : 2 * place - KBI_PYRAMID_LEVELS;
}

/* ---- the tasks ---- */

static void task_image_sampler(void *context, int32_t piece)
{
    const job *j = context;
    for (size_t i = kbi_piece(j->n, j->pieces, piece), end = kbi_piece(j->n, j->pieces, piece + 1); i < end; i++) {
        uint8_t *row = j->rows + i * j->stride;
        uint8_t flags = kbi_boxes_describe_image(j->model, &j->integral, &j->keypoints[i], j->scale, row);
        if (flags & (KB_KP_OUTSIDE | KB_KP_INVALID)) memset(row, 0, j->row_size);
        if (j->flags) j->flags[i] = flags;
    }
}

/* Takes the next items of `total`: *first is the first of them, the result how many they are; 0: none is left. */
static int32_t take_items(job *j, size_t total, size_t *first)
{
    size_t most = (size_t)j->kernels.batch;
    *first = atomic_fetch_add_explicit(&j->next, most, memory_order_relaxed);
    return *first >= total ? 0 : (int32_t)(total - *first < most ? total - *first : most);
}

/* Takes the next regions of one octave, as above. */
static int32_t take_regions(job *j, int32_t *octave, size_t *first)
{
    size_t most = (size_t)j->kernels.batch, index = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed);
    for (*octave = 0; *octave < octaves_of(j); ++*octave) {
        size_t n = j->first[*octave + 1] - j->first[*octave], batches = (n + most - 1) / most;
        if (index < batches) {
            *first = j->first[*octave] + index * most;
            return (int32_t)(n - index * most < most ? n - index * most : most);
        }
        index -= batches;
    }
    return 0;
}

/* The octave of a region. How many there are is a power of two. */
static int32_t octave_of(const job *j, size_t region) { return (int32_t)(region & (size_t)(octaves_of(j) - 1)); }

/* An octave's part of the row of item `index`: octaves take turns in its bytes; samples stand octave by octave. */
static void write_part(const job *j, size_t index, int32_t octave, const uint8_t *part)
{
    uint8_t *row = j->rows + index * j->stride;
    if (octaves_of(j) == 1 || of_samples(j->output)) {
        memcpy(row + (size_t)octave * j->part, part, j->part);
        return;
    }
    for (size_t i = 0; i < j->part; i++) row[i * KB_OCTAVES + (size_t)octave] = part[i];
}

static void batch_add(const job *j, batch *b, uint32_t region)
{
    b->regions[b->filled] = region;
    b->samplings[b->filled++] = j->samplings[region];
}

/* Samples what has come into the batch. */
static void batch_sample(const job *j, batch *b)
{
    if (b->sampled < b->filled)
        j->image_kernels.sample(b->samplings + b->sampled, b->filled - b->sampled, side_of(j), &j->levels,
                                b->grids + b->sampled * kbi_grid_bytes(side_of(j)));
    b->sampled = b->filled;
}

/* Describes the sampled grids; rows go where their keypoints are. */
static void batch_finish(const job *j, scratch *s, int32_t octave)
{
    batch *b = &s->batches[octave];
    const uint8_t *part = of_samples(j->output) ? b->grids : s->rows;
    if (b->filled > 0 && !of_samples(j->output)) describe_grids(j, s, octave, b->grids, b->filled, s->rows);
    for (int32_t i = 0; i < b->filled; i++, part += j->part)
        write_part(j, octaves_of(j) == 1 ? b->regions[i] : b->regions[i] / KB_OCTAVES, octave, part);
    b->filled = b->sampled = 0;
}

static void task_patch_sampler(void *context, int32_t piece)
{
    job *j = context;
    scratch *s = &j->scratches[piece];
    size_t first;
    int32_t octave;
    for (int32_t n; (n = take_regions(j, &octave, &first)) > 0;) {
        for (int32_t i = 0; i < n; i++) batch_add(j, &s->batches[octave], j->order[first + (size_t)i]);
        batch_sample(j, &s->batches[octave]);
        batch_finish(j, s, octave);
    }
}

/* ---- one level at a time, on one thread; a batch may span several ---- */

/* The next region in the order of work. */
static void take_region(job *j, uint32_t region)
{
    scratch *s = &j->scratches[0];
    int32_t octave = octave_of(j, region);
    batch *b = &s->batches[octave];
    batch_add(j, b, region);
    if (b->filled < j->kernels.batch) return;
    batch_sample(j, b);
    batch_finish(j, s, octave);
}

/* Samples what has come into the batches, while its pixels are there. */
static void sample_batches(job *j)
{
    for (int32_t k = 0; k < octaves_of(j); k++) batch_sample(j, &j->scratches[0].batches[k]);
}

static void finish_batches(job *j)
{
    for (int32_t k = 0; k < octaves_of(j); k++) batch_finish(j, &j->scratches[0], k);
}

static void describe_level_by_level(job *j)
{
    size_t done = 0, regions = j->first[1];
    for (int32_t place = 0; place < KBI_PYRAMID_LEVELS && done < regions; place++) {
        int32_t level = level_at(place);
        if (!(j->wanted >> level & 1)) continue;
        if (level > 0) kbi_pyramid_advance(&j->levels, &j->image_kernels, level);
        for (; done < regions && j->samplings[j->order[done]].level == level; done++) take_region(j, j->order[done]);
        sample_batches(j);
    }
    finish_batches(j);
}

/* A ready patch as the model takes it, number i of the batches. */
static void prepare_patch(const job *j, const uint8_t *patch, scratch *s, size_t i)
{
    uint8_t all[KBI_PATCH_BYTES], *grid = s->batches[0].grids + i * (size_t)kbi_grid_bytes(side_of(j));
    if (octaves_of(j) > 1) {
        if (j->patch_side != side_of(j)) {
            kbi_patch_octaves(patch, j->patch_side, all);
            patch = all;
        }
        for (int32_t k = 0; k < octaves_of(j); k++, patch += KBI_OCTAVE_BYTES)
            memcpy(s->batches[k].grids + i * KBI_OCTAVE_BYTES, patch, KBI_OCTAVE_BYTES);
    } else if (side_of(j) == KB_PATCH_SIDE) {
        kbi_patch_shrink(patch, j->patch_side, grid);
    } else if (j->patch_side == KB_PATCH_SIDE) {
        kbi_patch_cells(patch, grid);
    } else {
        kbi_patch_shrink(patch, j->patch_side, all);
        kbi_patch_cells(all, grid);
    }
}

static void task_ready_patches(void *context, int32_t piece)
{
    job *j = context;
    scratch *s = &j->scratches[piece];
    bool as_they_are = octaves_of(j) == 1 && j->patch_side == side_of(j);
    bool in_place = as_they_are && j->stride == j->row_size;
    size_t first, bytes = (size_t)kbi_grid_bytes(j->patch_side);
    if (j->patch_side == side_of(j)) bytes *= (size_t)octaves_of(j);
    for (int32_t n; (n = take_items(j, j->n, &first)) > 0;) {
        const uint8_t *patches = j->patches + first * bytes;
        for (size_t i = 0; !as_they_are && i < (size_t)n; i++) prepare_patch(j, patches + i * bytes, s, i);
        for (int32_t k = 0; k < octaves_of(j); k++) {
            uint8_t *rows = in_place ? j->rows + first * j->row_size : s->rows;
            describe_grids(j, s, k, as_they_are ? patches : s->batches[k].grids, n, rows);
            for (size_t i = 0; !in_place && i < (size_t)n; i++) write_part(j, first + i, k, rows + i * j->part);
        }
    }
}

static bool batch_get(const job *j, batch *b, kb_workspace *workspace)
{
    size_t most = (size_t)j->kernels.batch;
    b->grids = kbi_workspace_get(workspace, most * (size_t)kbi_grid_bytes(side_of(j)));
    b->samplings = kbi_workspace_get(workspace, most * sizeof *b->samplings);
    b->regions = kbi_workspace_get(workspace, most * sizeof *b->regions);
    return b->grids && b->samplings && b->regions;
}

static bool scratch_get(const job *j, scratch *s, kb_workspace *workspace)
{
    size_t most = (size_t)j->kernels.batch;
    bool sift = j->model && !kbi_kind_has_boxes(j->model->spec.kind);
    s->kernel = kbi_workspace_get(workspace, j->model ? j->kernels.scratch_bytes(j->model) : 0);
    s->histograms = kbi_workspace_get(workspace, sift ? most * KB_SIFT_VALUES * sizeof *s->histograms : 0);
    s->values = kbi_workspace_get(workspace, sift ? most * KB_SIFT_VALUES : 0);
    s->rows = kbi_workspace_get(workspace, of_samples(j->output) ? 0 : most * j->row_size);
    bool ok = s->kernel && s->histograms && s->values && s->rows;
    for (int32_t k = 0; ok && k < octaves_of(j); k++) ok = batch_get(j, &s->batches[k], workspace);
    return ok;
}

static kb_status scratches_get(job *j, kb_workspace *workspace)
{
    atomic_init(&j->next, 0);
    j->scratches = kbi_workspace_get(workspace, (size_t)j->pieces * sizeof *j->scratches);
    if (!j->scratches) return KB_E_MEMORY;
    for (int32_t i = 0; i < j->pieces; i++) {
        scratch s = {.kernel = NULL};
        if (!scratch_get(j, &s, workspace)) return KB_E_MEMORY;
        if (!workspace->measures) j->scratches[i] = s;
    }
    return KB_OK;
}

/* ---- from an image ---- */

static bool usable(const kbi_sampling *sampling) { return sampling->level >= 0; }

static void task_plan(void *context, int32_t piece)
{
    job *j = context;
    uint8_t flags[KBI_BATCH];
    size_t end = kbi_piece(j->n, j->pieces, piece + 1), octaves = (size_t)octaves_of(j);
    for (size_t i = kbi_piece(j->n, j->pieces, piece); i < end; i += KBI_BATCH) {
        size_t n = end - i < KBI_BATCH ? end - i : KBI_BATCH;
        j->image_kernels.plan(j->keypoints + i, (int32_t)n, j->width_scale, j->grid, &j->levels,
                              j->samplings + i * octaves, flags);
        if (j->flags) memcpy(j->flags + i, flags, n);
        for (size_t k = i; k < i + n; k++)
            if (!usable(&j->samplings[k * octaves])) memset(j->rows + k * j->stride, 0, j->row_size);
    }
}

/* Neighbours are described one after the other, so that their pixels are still in the cache: a counting sort by octave,
 * unless levels come one at a time, by level and by cells of it. */
#define CELL_WIDTH 64
#define CELL_HEIGHT 32

static size_t cells_across(const kbi_pyramid *levels, int32_t level)
{
    return (size_t)levels->width[level] / CELL_WIDTH + 1;
}

/* Sets first[i] to the number of level i's first cell; returns how many cells there are in all levels. */
static size_t number_cells(const kbi_pyramid *levels, size_t first[KBI_PYRAMID_LEVELS])
{
    size_t cells = 0;
    for (int32_t place = 0; place < KBI_PYRAMID_LEVELS; place++) {
        int32_t level = level_at(place);
        first[level] = cells;
        cells += cells_across(levels, level) * ((size_t)levels->height[level] / CELL_HEIGHT + 1);
    }
    return cells;
}

static size_t cell_of(const job *j, size_t region)
{
    /* A centre may lie half a pixel outside. */
    const kbi_sampling *s = &j->samplings[region];
    size_t x = (size_t)kbi_max_i(s->px, 0) / CELL_WIDTH, y = (size_t)kbi_max_i(s->py, 0) / CELL_HEIGHT;
    size_t octave = is_single(j) ? 0 : (size_t)octave_of(j, region);
    return octave * j->cells + j->first_cell[s->level] + y * cells_across(&j->levels, s->level) + x;
}

/* How many cells the sort has. */
static size_t all_cells(const job *j) { return is_single(j) ? j->cells : j->cells * (size_t)octaves_of(j); }

static void fill_order(job *j)
{
    size_t cells = all_cells(j);
    uint32_t *start = j->order + j->planned; /* of every cell in the list */
    memset(start, 0, (cells + 1) * sizeof *start);
    for (size_t i = 0; i < j->planned; i++)
        if (usable(&j->samplings[i])) start[cell_of(j, i) + 1]++;
    for (size_t c = 0; c < cells; c++) start[c + 1] += start[c];
    for (size_t k = 1; k <= (is_single(j) ? 1 : (size_t)octaves_of(j)); k++) j->first[k] = start[k * j->cells];
    for (size_t i = 0; i < j->planned; i++)
        if (usable(&j->samplings[i])) j->order[start[cell_of(j, i)]++] = (uint32_t)i;
}

/* Task 0 fills the order, the others build the levels. */
static void task_order_and_levels(void *context, int32_t index)
{
    job *j = context;
    if (index == 0) fill_order(j);
    else kbi_pyramid_band(&j->levels, &j->image_kernels, index - 1);
}

/* Memory for the regions of j->n keypoints. It depends on the image's size and on n, not on what they are. */
static kb_status regions_get(job *j, const kb_image *gray, kb_workspace *workspace)
{
    kbi_pyramid_plan(&j->levels, gray);
    j->planned = j->n * (size_t)octaves_of(j);
    j->single = j->pieces == 1;
    j->cells = number_cells(&j->levels, j->first_cell);
    j->samplings = kbi_workspace_get(workspace, j->planned * sizeof *j->samplings);
    j->order = kbi_workspace_get(workspace, (j->planned + all_cells(j) + 1) * sizeof *j->order);
    if (!j->samplings || !j->order) return KB_E_MEMORY;
    return scratches_get(j, workspace);
}

static void find_wanted_levels(job *j)
{
    for (size_t i = 0; i < j->planned; i++)
        if (usable(&j->samplings[i])) j->wanted |= (uint32_t)1 << j->samplings[i].level;
    for (int32_t i = KBI_PYRAMID_LEVELS - 1; i > 2; i--)
        if (j->wanted >> i & 1) j->wanted |= (uint32_t)1 << (i - 2);
}

/* Plans every keypoint's region, builds the levels they need, and describes. */
static kb_status describe_regions(job *j, const kb_image *gray, kb_workspace *workspace)
{
    kb_status status = regions_get(j, gray, workspace);
    if (status != KB_OK) return status;
    if (is_single(j)) status = kbi_pyramid_single(&j->levels, gray, workspace);
    else if (workspace->measures) status = kbi_pyramid_start(&j->levels, gray, 0, workspace);
    if (status != KB_OK || workspace->measures) return status;
    kbi_parallel_run(j->parallel, j->pieces, task_plan, j);
    find_wanted_levels(j);
    if (is_single(j)) {
        fill_order(j);
        describe_level_by_level(j);
        return KB_OK;
    }
    status = kbi_pyramid_start(&j->levels, gray, j->wanted, workspace);
    if (status != KB_OK) return status;
    kbi_parallel_run(j->parallel, j->levels.bands + 1, task_order_and_levels, j);
    kbi_pyramid_finish(&j->levels, &j->image_kernels);
    kbi_parallel_run(j->parallel, j->pieces, task_patch_sampler, j);
    return KB_OK;
}

static kb_status describe_image(job *j, const kb_image *image, kb_workspace *workspace)
{
    kb_image gray;
    kb_status status = kbi_gray8(image, workspace, &gray);
    if (status != KB_OK || j->n == 0) return status;
    if (j->n > UINT32_MAX / KB_OCTAVES) return KB_E_ARGUMENT;
    if (j->n > SIZE_MAX / (KB_OCTAVES * sizeof *j->samplings)) return KB_E_MEMORY; /* where a size has 32 bits */
    if (!j->model || j->model->spec.sampler != KB_SAMPLER_IMAGE) return describe_regions(j, &gray, workspace);
    status = kbi_integral_build(&j->integral, &gray, workspace);
    if (status == KB_OK && !workspace->measures) kbi_parallel_run(j->parallel, j->pieces, task_image_sampler, j);
    return status;
}

/* As many tasks as threads, but none without a batch. */
static void spread(job *j, size_t n, const kb_parallel *parallel)
{
    kbi_image_kernels_init(&j->image_kernels, kbi_cpu_flags());
    kbi_describe_kernels_init(&j->kernels, kbi_cpu_flags());
    j->n = n;
    j->parallel = parallel;
    j->pieces = kbi_parallel_threads(parallel);
    size_t batches = n / (size_t)j->kernels.batch + 1;
    if ((size_t)j->pieces > batches) j->pieces = (int32_t)batches;
}

static bool stride_fits(size_t stride, size_t row_size, size_t n, size_t unit)
{
    return stride >= row_size && stride % unit == 0 && (n == 0 || stride <= PTRDIFF_MAX / n);
}

/* The beginning that all describing calls share: options, and what the model can do. model is NULL for samples. */
static kb_status start(job *j, const kb_model *model, product output, size_t n, const kb_describe_options *given)
{
    kb_describe_options o;
    if (!model && !of_samples(output)) return KB_E_ARGUMENT;
    kb_status status = KBI_STRUCT_READ(kb_describe_options, &o, given);
    if (status != KB_OK) return status;
    if (o.scale == 0) o.scale = 1;
    if (!(o.scale > 0 && o.scale <= 100)) return KB_E_ARGUMENT;
    if (output == OUT_FLOATS && model->row_floats == 0) return KB_E_KIND;
    memset(j, 0, sizeof *j);
    j->model = model;
    j->output = output;
    j->grid = model ? kbi_sampler_grid(model->spec.sampler) : output == OUT_OCTAVES ? KBI_GRID_OCTAVES : KBI_GRID_PATCH;
    j->row_size = of_samples(output)     ? (size_t)(octaves_of(j) * kbi_grid_bytes(side_of(j)))
                  : output == OUT_FLOATS ? KB_SIFT_VALUES * sizeof(float)
                                         : (size_t)model->row_bytes;
    j->part = j->row_size / (size_t)octaves_of(j);
    j->stride = o.row_stride ? o.row_stride : j->row_size;
    if (!stride_fits(j->stride, j->row_size, n, output == OUT_FLOATS ? sizeof(float) : 1)) return KB_E_ARGUMENT;
    j->scale = o.scale;
    j->width_scale = (double)o.scale * (model ? (double)model->spec.support : 1);
    spread(j, n, o.parallel);
    return KB_OK;
}

static kb_status describe_keypoints(const kb_model *model, product output, const kb_image *image,
                                    const kb_keypoint *keypoints, size_t n, const kb_describe_options *given,
                                    kb_workspace *workspace, void *rows, uint8_t *flags)
{
    job j;
    kb_workspace local;
    kb_status status = start(&j, model, output, n, given);
    if (status != KB_OK) return status;
    if (n > 0 && (!keypoints || !rows)) return KB_E_ARGUMENT;
    j.keypoints = keypoints;
    j.rows = rows;
    j.flags = flags;
    workspace = kbi_workspace_or(workspace, &local);
    size_t mark = kbi_workspace_mark(workspace);
    status = describe_image(&j, image, workspace);
    kbi_workspace_rewind(workspace, mark);
    kbi_workspace_release(&local);
    return status;
}

kb_status kb_describe(const kb_model *model, const kb_image *image, const kb_keypoint *keypoints, size_t n,
                      const kb_describe_options *options, kb_workspace *workspace, uint8_t *rows, uint8_t *flags)
{
    return describe_keypoints(model, OUT_ROWS, image, keypoints, n, options, workspace, rows, flags);
}

kb_status kb_describe_float(const kb_model *model, const kb_image *image, const kb_keypoint *keypoints, size_t n,
                            const kb_describe_options *options, kb_workspace *workspace, float *rows, uint8_t *flags)
{
    return describe_keypoints(model, OUT_FLOATS, image, keypoints, n, options, workspace, rows, flags);
}

kb_status kb_sample_patches(const kb_image *image, const kb_keypoint *keypoints, size_t n,
                            const kb_describe_options *options, kb_workspace *workspace, uint8_t *patches,
                            uint8_t *flags)
{
    return describe_keypoints(NULL, OUT_PATCHES, image, keypoints, n, options, workspace, patches, flags);
}

kb_status kb_sample_octaves(const kb_image *image, const kb_keypoint *keypoints, size_t n,
                            const kb_describe_options *options, kb_workspace *workspace, uint8_t *octaves,
                            uint8_t *flags)
{
    if (KB_BAD_ONLY) return KB_E_KIND;
    return describe_keypoints(NULL, OUT_OCTAVES, image, keypoints, n, options, workspace, octaves, flags);
}

kb_status kbi_describe_measure(const kb_model *model, const kb_image *image, size_t n, const kb_parallel *parallel,
                               kb_workspace *workspace)
{
    kb_status status = KB_OK;
    kb_describe_options options = {.struct_size = sizeof options, .parallel = parallel};
    for (int output = OUT_ROWS; output <= OUT_OCTAVES && status == KB_OK; output++) {
        job j;
        if (output == OUT_FLOATS && model->row_floats == 0) continue;
        if (output == OUT_OCTAVES && kbi_model_octaves(model) == 1) continue; /* as much as four other models */
        status = start(&j, of_samples((product)output) ? NULL : model, (product)output, n, &options);
        size_t mark = kbi_workspace_mark(workspace);
        if (status == KB_OK) status = describe_image(&j, image, workspace);
        kbi_workspace_rewind(workspace, mark);
    }
    return status;
}

/* ---- from ready patches ---- */

static kb_status describe_ready(const kb_model *model, product output, const uint8_t *patches, size_t n, int32_t side,
                                const kb_describe_options *given, kb_workspace *workspace, void *rows)
{
    job j;
    kb_workspace local;
    kb_status status = start(&j, model, output, n, given);
    if (status != KB_OK) return status;
    bool ready = octaves_of(&j) > 1 && side == KB_OCTAVE_SIDE;
    if ((!ready && (side < KB_PATCH_SIDE || side > 1024)) || (n > 0 && (!patches || !rows))) return KB_E_ARGUMENT;
    if (n == 0) return KB_OK;
    j.patches = patches;
    j.patch_side = side;
    j.rows = rows;
    workspace = kbi_workspace_or(workspace, &local);
    size_t mark = kbi_workspace_mark(workspace);
    status = scratches_get(&j, workspace);
    if (status == KB_OK) kbi_parallel_run(j.parallel, j.pieces, task_ready_patches, &j);
    kbi_workspace_rewind(workspace, mark);
    kbi_workspace_release(&local);
    return status;
}

kb_status kb_describe_patches(const kb_model *model, const uint8_t *patches, size_t n, int32_t side,
                              const kb_describe_options *options, kb_workspace *workspace, uint8_t *rows)
{
    return describe_ready(model, OUT_ROWS, patches, n, side, options, workspace, rows);
}

kb_status kb_describe_patches_float(const kb_model *model, const uint8_t *patches, size_t n, int32_t side,
                                    const kb_describe_options *options, kb_workspace *workspace, float *rows)
{
    return describe_ready(model, OUT_FLOATS, patches, n, side, options, workspace, rows);
}
