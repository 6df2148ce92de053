/* Describing: from keypoints or ready patches to rows. The patches go through the kernels in batches; batches are spread over
 * threads in pieces. A keypoint's row depends on nothing but the model, the image and the keypoint. */
#include <math.h>

#include "describe/describe.h"
#include "kernels/kernels.h"

/* ---- presets ---- */

static const kb_preset presets[] = {{"orb", 1.0f},   {"fast", 5.0f},  {"agast", 5.0f}, {"brisk", 5.0f},
                                    {"akaze", 5.0f}, {"kaze", 6.25f}, {"surf", 6.25f}, {"sift", 6.75f}};

kb_preset kb_preset_at(int32_t index)
{
    return index >= 0 && index < (int32_t)KB_COUNT(presets) ? presets[index] : (kb_preset){NULL, 0};
}

static bool same_word(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if ((*a | 32) != (*b | 32)) return false;
    return *a == *b;
}

float kb_preset_scale(const char *name)
{
    for (size_t i = 0; name && i < KB_COUNT(presets); i++)
        if (same_word(name, presets[i].name)) return presets[i].scale;
    return 0;
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
    OUT_PATCHES /* the patches themselves */
} product;

/* Scratch of one task. */
typedef struct scratch {
    uint8_t kernel[KB_KERNEL_SCRATCH];
    uint8_t patches[KB_BATCH * KB_PATCH_BYTES];
    uint32_t histograms[KB_BATCH * KB_SIFT_VALUES];
    uint8_t values[KB_BATCH * KB_SIFT_VALUES];
} scratch;

typedef struct job {
    const kb_model *model; /* NULL for OUT_PATCHES */
    kb_kernels kernels;
    product output;
    size_t row_size; /* bytes of a row of output */
    uint8_t *rows;
    size_t n;
    int32_t pieces;
    scratch *scratches;
    /* from an image */
    const kb_keypoint *keypoints;
    kb_levels levels;
    const kb_sampling *samplings;
    kb_integral integral;
    float scale;
    uint8_t *flags;
    /* from ready patches */
    const uint8_t *patches;
    int32_t side;
} job;

/* n patches in s->patches, or at `patches`, to n rows at `rows`. */
static void describe_batch(const job *j, scratch *s, const uint8_t *patches, int32_t n, uint8_t *rows)
{
    if (j->output == OUT_PATCHES) {
        memcpy(rows, patches, (size_t)n * KB_PATCH_BYTES);
        return;
    }
    const kb_model *model = j->model;
    if (kb_kind_has_boxes(model->spec.kind)) {
        j->kernels.boxes(model, patches, n, rows, s->kernel);
        return;
    }
    bool root = model->spec.kind == KB_ROOTSIFT || model->spec.root;
    j->kernels.sift(patches, n, s->histograms, s->kernel);
    if (j->output == OUT_FLOATS) {
        for (size_t i = 0; i < (size_t)n; i++)
            kb_sift_floats(s->histograms + i * KB_SIFT_VALUES, root, (float *)(void *)rows + i * KB_SIFT_VALUES);
        return;
    }
    j->kernels.sift_bytes(s->histograms, n, root, model->spec.kind == KB_HASHSIFT ? s->values : rows);
    if (model->spec.kind == KB_HASHSIFT) j->kernels.project(model, s->values, n, rows);
}

/* ---- the tasks ---- */

static void task_image_sampler(void *context, int32_t piece)
{
    const job *j = context;
    for (size_t i = kb_piece(j->n, j->pieces, piece), end = kb_piece(j->n, j->pieces, piece + 1); i < end; i++) {
        uint8_t *row = j->rows + i * j->row_size;
        uint8_t flags = kb_boxes_describe_image(j->model, &j->integral, &j->keypoints[i], j->scale, row);
        if (flags & (KB_KP_OUTSIDE | KB_KP_INVALID)) memset(row, 0, j->row_size);
        if (j->flags) j->flags[i] = flags;
    }
}

static bool usable(const kb_sampling *sampling) { return sampling->level >= 0; }

/* A run of keypoints that all have a region goes straight to the output; one without gets zeros. */
static void task_patch_sampler(void *context, int32_t piece)
{
    const job *j = context;
    scratch *s = &j->scratches[piece];
    size_t i = kb_piece(j->n, j->pieces, piece), end = kb_piece(j->n, j->pieces, piece + 1);
    while (i < end) {
        int32_t n = 0;
        while (i + (size_t)n < end && n < KB_BATCH && usable(&j->samplings[i + (size_t)n])) n++;
        if (n == 0) {
            memset(j->rows + i * j->row_size, 0, j->row_size);
            i++;
            continue;
        }
        j->kernels.cut(&j->samplings[i], n, &j->levels, s->patches);
        describe_batch(j, s, s->patches, n, j->rows + i * j->row_size);
        i += (size_t)n;
    }
}

static void task_ready_patches(void *context, int32_t piece)
{
    const job *j = context;
    scratch *s = &j->scratches[piece];
    size_t bytes = (size_t)j->side * (size_t)j->side;
    for (size_t i = kb_piece(j->n, j->pieces, piece), end = kb_piece(j->n, j->pieces, piece + 1); i < end; i += KB_BATCH) {
        int32_t n = end - i < KB_BATCH ? (int32_t)(end - i) : KB_BATCH;
        for (int32_t k = 0; k < n; k++)
            kb_patch_shrink(j->patches + (i + (size_t)k) * bytes, j->side, s->patches + (size_t)k * KB_PATCH_BYTES);
        describe_batch(j, s, s->patches, n, j->rows + i * j->row_size);
    }
}

/* Splits the job over threads. A few pieces a thread even out what the others of the machine do. */
static kb_status run(job *j, const kb_parallel *parallel, kb_workspace *workspace, void (*task)(void *, int32_t))
{
    int32_t threads = kb_parallel_threads(parallel);
    size_t batches = (j->n + KB_BATCH - 1) / KB_BATCH;
    j->pieces = threads == 1 ? 1 : (int32_t)(batches < 4u * (size_t)threads ? batches : 4u * (size_t)threads);
    kb_kernels_init(&j->kernels, kb_cpu_flags());
    j->scratches = kb_workspace_get(workspace, KB_SLOT_DESCRIBE, (size_t)j->pieces * sizeof *j->scratches);
    if (!j->scratches) return KB_E_MEMORY;
    kb_parallel_run(parallel, j->pieces, task, j);
    return KB_OK;
}

/* ---- from an image ---- */

/* Plans every keypoint's region and builds the levels they need. width_scale: region width a unit of keypoint size. */
static kb_status plan_regions(job *j, const kb_image *gray, double width_scale, kb_workspace *workspace)
{
    kb_sampling *samplings = kb_workspace_get(workspace, KB_SLOT_SETUP, j->n * sizeof *samplings);
    if (!samplings) return KB_E_MEMORY;
    uint32_t wanted = 0;
    kb_levels_plan(&j->levels, gray);
    for (size_t i = 0; i < j->n; i++) {
        samplings[i].level = -1;
        uint8_t flags = kb_sampling_plan(&samplings[i], &j->keypoints[i], width_scale * (double)j->keypoints[i].size, &j->levels);
        if (j->flags) j->flags[i] = flags;
        if (usable(&samplings[i])) wanted |= (uint32_t)1 << samplings[i].level;
    }
    j->samplings = samplings;
    return kb_levels_build(&j->levels, gray, wanted, workspace);
}

static kb_status describe_image(job *j, const kb_image *image, double width_scale, const kb_parallel *parallel,
                                kb_workspace *workspace)
{
    kb_image gray;
    kb_status status = kb_gray8(image, workspace, &gray);
    if (status != KB_OK || j->n == 0) return status;
    if (j->model && j->model->spec.sampler == KB_SAMPLER_IMAGE) {
        status = kb_integral_build(&j->integral, &gray, workspace);
        return status == KB_OK ? run(j, parallel, workspace, task_image_sampler) : status;
    }
    status = plan_regions(j, &gray, width_scale, workspace);
    return status == KB_OK ? run(j, parallel, workspace, task_patch_sampler) : status;
}

/* The beginning that all describing calls share: options, and what the model can do. */
static kb_status start(job *j, const kb_model *model, product output, const kb_describe_options *given,
                       kb_describe_options *options)
{
    if (!model || !KB_OPTIONS_READ(*options, given)) return KB_E_ARGUMENT;
    if (options->scale == 0) options->scale = 1;
    if (!(options->scale > 0 && options->scale <= 100)) return KB_E_ARGUMENT;
    if (output == OUT_FLOATS && model->row_floats == 0) return KB_E_KIND;
    memset(j, 0, sizeof *j);
    j->model = model;
    j->output = output;
    j->row_size = output == OUT_FLOATS ? KB_SIFT_VALUES * sizeof(float) : (size_t)model->row_bytes;
    j->scale = options->scale;
    return KB_OK;
}

static kb_status describe_keypoints(const kb_model *model, product output, const kb_image *image, const kb_keypoint *keypoints,
                                    size_t n, const kb_describe_options *given, kb_workspace *workspace, void *rows,
                                    uint8_t *flags)
{
    job j;
    kb_describe_options options;
    kb_workspace local;
    kb_status status = start(&j, model, output, given, &options);
    if (status != KB_OK) return status;
    if (n > 0 && (!keypoints || !rows)) return KB_E_ARGUMENT;
    j.keypoints = keypoints;
    j.n = n;
    j.rows = rows;
    j.flags = flags;
    status = describe_image(&j, image, (double)options.scale * (double)model->spec.support, options.parallel,
                            kb_workspace_or(workspace, &local));
    kb_workspace_release(&local);
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

kb_status kb_sample_patches(const kb_image *image, const kb_keypoint *keypoints, size_t n, float width_scale,
                            const kb_parallel *parallel, kb_workspace *workspace, uint8_t *patches, uint8_t *flags)
{
    kb_workspace local;
    if (n > 0 && (!keypoints || !patches)) return KB_E_ARGUMENT;
    if (!(width_scale > 0 && width_scale <= 1000)) return KB_E_ARGUMENT;
    job j = {.output = OUT_PATCHES, .row_size = KB_PATCH_BYTES, .rows = patches, .n = n, .keypoints = keypoints, .flags = flags};
    kb_status status = describe_image(&j, image, (double)width_scale, parallel, kb_workspace_or(workspace, &local));
    kb_workspace_release(&local);
    return status;
}

/* ---- from ready patches ---- */

static kb_status describe_ready(const kb_model *model, product output, const uint8_t *patches, size_t n, int32_t side,
                                const kb_describe_options *given, kb_workspace *workspace, void *rows)
{
    job j;
    kb_describe_options options;
    kb_workspace local;
    kb_status status = start(&j, model, output, given, &options);
    if (status != KB_OK) return status;
    if (side < KB_PATCH_SIDE || side > 1024 || (n > 0 && (!patches || !rows))) return KB_E_ARGUMENT;
    if (n == 0) return KB_OK;
    j.patches = patches;
    j.side = side;
    j.n = n;
    j.rows = rows;
    status = run(&j, options.parallel, kb_workspace_or(workspace, &local), task_ready_patches);
    kb_workspace_release(&local);
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
