/* SPDX-License-Identifier: Apache-2.0 */
/* Integral images side by side, and the values of features read from them. */
#include "learn/box_values.h"

#include <math.h>
#include <stdlib.h>

#include "describe/describe.h"
#include "learn/clones.h"
#include "learn/threshold.h"

#define LANES KBI_STORE_LANES

#define PIECES 8

/* What one piece of filling works in; too large for the stack of a thread. */
struct kbi_fill_scratch {
    kbi_channels channels[LANES];
    uint8_t gray[LANES][KBI_CELLS];
    uint16_t interleaved[LANES * KBI_PATCH_BYTES];
};

/* Side of the numbers that are summed. */
static int32_t side_of(const kbi_box_store *store)
{
    return store->sampler == KB_SAMPLER_OCTAVES ? KBI_OCTAVE_CELLS_SIDE
           : store->sampler == KB_SAMPLER_CELLS ? KBI_CELLS_SIDE
                                                : KB_PATCH_SIDE;
}

bool kbi_box_store_create(kbi_box_store *store, size_t n, uint32_t channels, kb_sampler sampler)
{
    memset(store, 0, sizeof *store);
    store->patches = (n + LANES - 1) / LANES * LANES;
    store->channels = channels;
    store->sampler = sampler;
    size_t corners = (size_t)(side_of(store) + 1) * (size_t)(side_of(store) + 1);
    if (store->patches > SIZE_MAX / (corners * sizeof(uint16_t))) return false;
    bool ok = (store->scratch = malloc(PIECES * sizeof *store->scratch)) != NULL;
    for (int32_t k = 0; ok && k < kbi_octaves(sampler); k++) {
        ok = (store->inverse[k] = calloc(store->patches, sizeof *store->inverse[k])) != NULL;
        for (int32_t c = 0; ok && c < KB_CHANNELS; c++)
            if (channels >> c & 1) ok = (store->sums[k][c] = malloc(corners * store->patches * sizeof(uint16_t))) != NULL;
    }
    if (!ok) kbi_box_store_free(store);
    return ok;
}

void kbi_box_store_free(kbi_box_store *store)
{
    for (int32_t k = 0; k < KB_OCTAVES; k++) {
        for (int32_t c = 0; c < KB_CHANNELS; c++) free(store->sums[k][c]);
        free(store->inverse[k]);
    }
    free(store->scratch);
    memset(store, 0, sizeof *store);
}

/* A channel of LANES patches, number by number side by side, to integral images at `to`, whose corners lie `stride`
 * apart. */
KBI_CLONES
static void integrate(const uint16_t *numbers, int32_t side, size_t stride, uint16_t *to)
{
    for (int x = 0; x <= side; x++) memset(to + (size_t)x * stride, 0, LANES * sizeof *to);
    for (int y = 0; y < side; y++) {
        const uint16_t *above = to + (size_t)(y * (side + 1)) * stride;
        uint16_t *here = to + (size_t)((y + 1) * (side + 1)) * stride, run[LANES] = {0};
        memset(here, 0, sizeof run);
        for (int x = 0; x < side; x++, numbers += LANES) {
            above += stride;
            here += stride;
            for (int i = 0; i < LANES; i++) {
                run[i] = (uint16_t)(run[i] + numbers[i]);
                here[i] = (uint16_t)(above[i] + run[i]);
            }
        }
    }
}

typedef struct fill_job {
    kbi_box_store *store;
    const uint8_t *patches;
    size_t first, n;
} fill_job;

/* The numbers of a channel of up to LANES patches side by side, zeros for the rest. */
static void interleave(const fill_job *job, size_t start, size_t used, int32_t channel, struct kbi_fill_scratch *scratch)
{
    const uint8_t *patches = job->patches + start * KBI_PATCH_BYTES;
    size_t side = (size_t)side_of(job->store);
    bool cells = job->store->sampler == KB_SAMPLER_CELLS;
    for (size_t i = 0; i < side * side; i++) {
        uint16_t *to = scratch->interleaved + i * LANES;
        for (size_t k = 0; k < used; k++)
            to[k] = channel ? scratch->channels[k].cells[channel - 1][i]
                    : cells ? scratch->gray[k][i]
                            : patches[k * KBI_PATCH_BYTES + i];
        for (size_t k = used; k < LANES; k++) to[k] = 0;
    }
}

/* An octave of LANES patches from number `start` of the job on; fewer at its end. */
static void fill_octave(const fill_job *job, int32_t octave, size_t start, struct kbi_fill_scratch *scratch)
{
    kbi_box_store *store = job->store;
    size_t used = job->n - start < LANES ? job->n - start : LANES;
    for (size_t k = 0; k < used; k++) {
        const uint8_t *patch = job->patches + (start + k) * KBI_PATCH_BYTES;
        if (store->sampler == KB_SAMPLER_CELLS) kbi_patch_cells(patch, scratch->gray[k]);
        if (store->sampler != KB_SAMPLER_OCTAVES) continue;
        kbi_channels_of(patch + octave * KBI_OCTAVE_BYTES, &scratch->channels[k]);
        store->inverse[octave][job->first + start + k] = 1.0 / scratch->channels[k].contrast;
    }
    for (int32_t c = 0; c < KB_CHANNELS; c++) {
        if (!store->sums[octave][c]) continue;
        interleave(job, start, used, c, scratch);
        integrate(scratch->interleaved, side_of(store), store->patches, store->sums[octave][c] + job->first + start);
    }
}

static void fill_piece(void *context, int32_t index)
{
    const fill_job *job = context;
    size_t groups = (job->n + LANES - 1) / LANES, end = kbi_piece(groups, PIECES, index + 1);
    for (size_t g = kbi_piece(groups, PIECES, index); g < end; g++)
        for (int32_t k = 0; k < kbi_octaves(job->store->sampler); k++)
            fill_octave(job, k, g * LANES, &job->store->scratch[index]);
}

void kbi_box_store_fill(kbi_box_store *store, size_t first, const uint8_t *patches, size_t n, const kb_parallel *parallel)
{
    fill_job job = {store, patches, first, n};
    kbi_parallel_run(parallel, PIECES, fill_piece, &job);
}

/* The four corners of a box as rows of sums, and what makes the mean of the sum. */
typedef struct box_rows {
    const uint16_t *top_left, *top_right, *bottom_left, *bottom_right;
    uint8_t shift;
    uint16_t factor;
} box_rows;

static box_rows rows_of(const kbi_box_store *store, int32_t octave, kbi_box box)
{
    const kbi_grid grid = kbi_sampler_grid(store->sampler);
    const uint16_t *sums = store->sums[octave][box.channel];
    const kbi_mean_rule rule = kbi_mean_rule_of(box, grid);
    kbi_box_span span = kbi_box_span_of(box, grid);
    int32_t width = side_of(store) + 1;
    size_t top = (size_t)(span.top * width), bottom = (size_t)(span.bottom * width);
    size_t left = (size_t)span.left, right = (size_t)span.right, n = store->patches;
    return (box_rows){sums + (top + left) * n,     sums + (top + right) * n, sums + (bottom + left) * n,
                      sums + (bottom + right) * n, rule.shift,               rule.factor};
}

KBI_INLINE uint16_t mean_at(const box_rows *b, size_t i)
{
    uint16_t sum = (uint16_t)(b->bottom_right[i] - b->bottom_left[i] - b->top_right[i] + b->top_left[i]);
    return (uint16_t)((uint32_t)(uint16_t)(sum << b->shift) * b->factor >> 16);
}

KBI_CLONES
static void subtract_means(const box_rows *one, const box_rows *two, size_t from, size_t to, int16_t *values)
{
    const box_rows first = *one, second = *two; /* which the values cannot overlap */
    for (size_t i = from; i < to; i++) values[i - from] = (int16_t)(mean_at(&first, i) - mean_at(&second, i));
}

/* From a difference d of means to the least threshold t with d <= kbi_threshold_at(t, contrast): that is
 * t >= (2^15 d - 2^14) / contrast. A quotient that is no integer is at least 2^-15 from the next one, and that of
 * doubles is less than 2^-20 off, so that ceil after subtracting it is exact. */
KBI_CLONES
static void divide_by_contrast(const double *inverse, size_t n, int16_t *values)
{
    for (size_t i = 0; i < n; i++) {
        double least = ceil((32768.0 * values[i] - 16384.0) * inverse[i] - 0x1p-20);
        least = least < -KBI_VALUE_LIMIT ? -KBI_VALUE_LIMIT : least;
        values[i] = (int16_t)(least > KBI_VALUE_LIMIT ? KBI_VALUE_LIMIT : least);
    }
}

void kbi_box_store_values(const kbi_box_store *store, int32_t octave, const kb_box_pair *pair, size_t from, size_t to,
                         int16_t *values)
{
    const box_rows one = rows_of(store, octave, (kbi_box){pair->channel1, pair->x1, pair->y1, pair->radius1});
    const box_rows two = rows_of(store, octave, (kbi_box){pair->channel2, pair->x2, pair->y2, pair->radius2});
    subtract_means(&one, &two, from, to, values);
    if (pair->channel1) divide_by_contrast(store->inverse[octave] + from, to - from, values);
}
