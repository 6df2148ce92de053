/* Integral images side by side, and the values of features read from them. */
#include "learn/box_values.h"

#include <stdlib.h>

#include "describe/describe.h"
#include "learn/clones.h"

#define SIDE KB_PATCH_SIDE
#define CORNERS ((SIDE + 1) * (SIDE + 1))
#define LANES KBI_STORE_LANES

#define PIECES 8

/* What one piece of filling works in; too large for the stack of a thread. */
struct kbi_fill_scratch {
    kbi_gradients gradients[LANES];
    uint8_t rows[LANES * KBI_PATCH_BYTES], interleaved[LANES * KBI_PATCH_BYTES];
};

bool kbi_box_store_create(kbi_box_store *store, size_t n, uint32_t channels)
{
    memset(store, 0, sizeof *store);
    store->patches = (n + LANES - 1) / LANES * LANES;
    store->channels = channels;
    if (store->patches > SIZE_MAX / (CORNERS * sizeof(uint16_t))) return false;
    bool ok = (store->scratch = malloc(PIECES * sizeof *store->scratch)) != NULL;
    for (int32_t c = 0; ok && c < KB_CHANNELS; c++) {
        if (!(channels >> c & 1)) continue;
        store->sums[c] = malloc(CORNERS * store->patches * sizeof(uint16_t));
        ok = store->sums[c] != NULL;
    }
    if (!ok) kbi_box_store_free(store);
    return ok;
}

void kbi_box_store_free(kbi_box_store *store)
{
    for (int32_t c = 0; c < KB_CHANNELS; c++) free(store->sums[c]);
    free(store->scratch);
    memset(store, 0, sizeof *store);
}

/* Planes of LANES patches, pixel by pixel side by side, to integral images at `to`, whose corners lie `stride` apart.
 */
KBI_CLONES
static void integrate(const uint8_t *planes, size_t stride, uint16_t *to)
{
    for (int x = 0; x <= SIDE; x++) memset(to + (size_t)x * stride, 0, LANES * sizeof *to);
    for (int y = 0; y < SIDE; y++) {
        const uint16_t *above = to + (size_t)(y * (SIDE + 1)) * stride;
        uint16_t *here = to + (size_t)((y + 1) * (SIDE + 1)) * stride, run[LANES] = {0};
        memset(here, 0, sizeof run);
        for (int x = 0; x < SIDE; x++) {
            const uint8_t *pixels = planes + (y * SIDE + x) * LANES;
            above += stride;
            here += stride;
            for (int i = 0; i < LANES; i++) {
                run[i] = (uint16_t)(run[i] + pixels[i]);
                here[i] = (uint16_t)(above[i] + run[i]);
            }
        }
    }
}

/* rows: LANES planes one after the other. */
static void interleave(const uint8_t *rows, uint8_t *out)
{
    for (int lane = 0; lane < LANES; lane += 8) {
        const uint8_t *r = rows + lane * KBI_PATCH_BYTES;
        for (int i = 0; i < KBI_PATCH_BYTES; i++) {
            uint8_t eight[8];
            for (int k = 0; k < 8; k++) eight[k] = r[k * KBI_PATCH_BYTES + i];
            memcpy(out + i * LANES + lane, eight, sizeof eight);
        }
    }
}

typedef struct fill_job {
    kbi_box_store *store;
    const uint8_t *patches;
    size_t first, n;
} fill_job;

/* LANES patches from number `start` of the job on; fewer at its end. */
static void fill_group(const fill_job *job, size_t start, struct kbi_fill_scratch *scratch)
{
    kbi_box_store *store = job->store;
    size_t used = job->n - start < LANES ? job->n - start : LANES;
    const uint8_t *patches = job->patches + start * KBI_PATCH_BYTES;
    memset(scratch->rows, 0, sizeof scratch->rows);
    if (store->channels >> 1) {
        for (size_t k = 0; k < used; k++) kbi_gradients_of(patches + k * KBI_PATCH_BYTES, &scratch->gradients[k]);
    }
    for (int32_t c = 0; c < KB_CHANNELS; c++) {
        if (!store->sums[c]) continue;
        for (size_t k = 0; k < used; k++) {
            uint8_t *row = scratch->rows + k * KBI_PATCH_BYTES;
            if (c == 0) memcpy(row, patches + k * KBI_PATCH_BYTES, KBI_PATCH_BYTES);
            else kbi_plane_of(&scratch->gradients[k], c, row);
        }
        interleave(scratch->rows, scratch->interleaved);
        integrate(scratch->interleaved, store->patches, store->sums[c] + job->first + start);
    }
}

static void fill_piece(void *context, int32_t index)
{
    const fill_job *job = context;
    size_t groups = (job->n + LANES - 1) / LANES, end = kbi_piece(groups, PIECES, index + 1);
    for (size_t g = kbi_piece(groups, PIECES, index); g < end; g++)
        fill_group(job, g * LANES, &job->store->scratch[index]);
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

static box_rows rows_of(const kbi_box_store *store, int32_t channel, int32_t x, int32_t y, int32_t r)
{
    const uint16_t *sums = store->sums[channel];
    size_t top = (size_t)((y - r) * (SIDE + 1)), bottom = (size_t)((y + r + 1) * (SIDE + 1));
    size_t left = (size_t)(x - r), right = (size_t)(x + r + 1), n = store->patches;
    return (box_rows){sums + (top + left) * n,     sums + (top + right) * n, sums + (bottom + left) * n,
                      sums + (bottom + right) * n, kbi_mean_rules[r].shift,   kbi_mean_rules[r].factor};
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

void kbi_box_store_values(const kbi_box_store *store, const kb_box_pair *pair, size_t from, size_t to, int16_t *values)
{
    const box_rows one = rows_of(store, pair->channel1, pair->x1, pair->y1, pair->radius1);
    const box_rows two = rows_of(store, pair->channel2, pair->x2, pair->y2, pair->radius2);
    subtract_means(&one, &two, from, to, values);
}
