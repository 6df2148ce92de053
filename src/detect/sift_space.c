/* SPDX-License-Identifier: Apache-2.0 */
/* Scale space: the image, doubled unless told otherwise, blurred to `sigma`; then layer after layer 2^(1/layers) times
 * more, until two layers past twice the blur. The layer with just twice the blur, every second pixel of it, starts the
 * next octave. The image's own blur is taken as 0.5 px. Doubling puts pixel x of the image at 2 x and takes the mean
 * between, so no place is shifted.
 *
 * A row of a layer needs rows of the layer before it, as far up and down as its blur reaches. So when the last layer is
 * made row by row, those before it run ahead, each by a fixed number of rows, and rows that no one needs any more give
 * their place to new ones: the memory of an octave grows with its width alone. Where single pixels outside of the
 * window are asked for, which is rare, a patch of the layers around them is made from the image. */
#include <math.h>

#include "detect/sift_space.h"

#define CAMERA_BLUR 0.5
#define LN2 0.69314718055994530942
#define FARTHEST_LAYER 0.6 /* of an extremum from its layer */
#define ROOM_TO_MOVE 4     /* rows that an extremum may move with its directions' region still inside of the window */
#define BATCH 8            /* rows of a layer that are made at once: they share most of the rows they are made of */
#define STRIP 384          /* columns of them */

/* ---- plan ---- */

static void plan_blurs(kbi_scale_space *space, double sigma)
{
    double camera = space->doubled ? 2 * CAMERA_BLUR : CAMERA_BLUR, start = sigma * sigma - camera * camera;
    int32_t all = space->layers + 3;
    kbi_blur_plan(&space->blur[0], sqrt(start > 0.01 ? start : 0.01), camera);
    for (int32_t i = 1; i < all; i++) {
        double before = sigma * kbi_exp(LN2 * (i - 1) / space->layers);
        double after = sigma * kbi_exp(LN2 * i / space->layers);
        kbi_blur_plan(&space->blur[i], sqrt(after * after - before * before), before);
    }
    space->after[all - 1] = 0;
    for (int32_t i = all - 1; i > 0; i--) space->after[i - 1] = space->after[i] + space->blur[i].reach;
    space->halo = space->after[0] + space->blur[0].reach;
    double widest = sigma * kbi_exp(LN2 * (space->layers + FARTHEST_LAYER) / space->layers);
    space->margin = kbi_directions_reach(widest) + ROOM_TO_MOVE;
}

void kbi_scale_space_plan(kbi_scale_space *space, const kbi_detect_job *job, const kbi_detect_kernels *kernels)
{
    *space = (kbi_scale_space){.image = &job->image, .kernels = kernels, .doubled = !job->options.no_upsampling,
                               .layers = job->options.layers};
    int32_t number = space->doubled ? -1 : 0;
    int32_t width = job->image.width << -number, height = job->image.height << -number;
    double pixel = space->doubled ? 0.5 : 1;
    /* as long as there is a pixel inside the border */
    while (kbi_min_i(width, height) > 2 * KBI_SIFT_BORDER && space->octaves < KBI_SIFT_MAX_OCTAVES) {
        space->octave[space->octaves++] = (kbi_octave){.width = width, .height = height, .pixel = pixel,
                                                       .stride = (ptrdiff_t)kbi_round_up((size_t)width),
                                                       .number = number};
        width /= 2;
        height /= 2;
        pixel *= 2;
        number++;
    }
    plan_blurs(space, job->options.sigma);
}

/* ---- memory ---- */

/* Rows of a layer that are in memory at a time: for the window and the rows ahead of it, or for the next layer's
 * blur. */
static int32_t ring_rows(const kbi_scale_space *space, const kbi_octave *octave, int32_t layer)
{
    int32_t rows = 2 * space->margin + 3 + space->after[layer];
    if (layer < space->layers + 2) rows = kbi_max_i(rows, 2 * space->blur[layer + 1].reach);
    return kbi_min_i(rows + BATCH + 1, octave->height);
}

static int32_t image_ring_rows(const kbi_scale_space *space)
{
    return kbi_min_i(2 * space->blur[0].reach + 2 + BATCH, space->octave[0].height);
}

bool kbi_scale_space_get(kbi_scale_space *space, kb_workspace *workspace)
{
    for (int32_t i = 1; i < space->octaves; i++) {
        kbi_octave *o = &space->octave[i];
        if ((size_t)o->height > SIZE_MAX / 4 / (size_t)o->stride) return false; /* on 32-bit machines */
        o->layer[0] = kbi_workspace_get(workspace, (size_t)o->stride * (size_t)o->height * sizeof *o->layer[0]);
        if (!o->layer[0]) return false;
    }
    return true;
}

static int32_t patch_side(const kbi_scale_space *space, int32_t side)
{
    return kbi_min_i(side, 2 * (space->halo + space->margin) + 1);
}

bool kbi_scale_window_get(kbi_scale_window *window, const kbi_scale_space *space, kb_workspace *workspace)
{
    const kbi_octave *first = &space->octave[0];
    size_t rows = (size_t)image_ring_rows(space), width = (size_t)first->stride;
    size_t patch = (size_t)patch_side(space, first->width) * (size_t)patch_side(space, first->height);
    for (int32_t k = 0; k < space->layers + 3; k++) rows += (size_t)ring_rows(space, first, k);
    *window = (kbi_scale_window){.space = space};
    window->memory = kbi_workspace_get(workspace, rows * width * sizeof *window->memory);
    window->row = kbi_workspace_get(workspace, BATCH * (width + 2 * KBI_BLUR_MAX_TAPS) * sizeof *window->row);
    window->patch_memory =
        kbi_workspace_get(workspace, ((size_t)space->layers + 4) * patch * sizeof *window->patch_memory);
    return window->memory && window->row && window->patch_memory;
}

/* ---- rows ---- */

/* Row y of the doubled image, in units of 1/KBI_SIFT_ONE. */
static void doubled_row(const kb_image *image, int32_t y, uint16_t *restrict out)
{
    int32_t below = kbi_min_i(y / 2 + (y & 1), image->height - 1), last = image->width - 1;
    const uint8_t *restrict a = (const uint8_t *)image->data + (y / 2) * image->stride;
    const uint8_t *restrict b = (const uint8_t *)image->data + below * image->stride;
    for (int32_t x = 0; x < last; x++) {
        int32_t here = a[x] + b[x], next = a[x + 1] + b[x + 1];
        out[2 * x] = (uint16_t)(here * (KBI_SIFT_ONE / 2));
        out[2 * x + 1] = (uint16_t)((here + next) * (KBI_SIFT_ONE / 4));
    }
    out[2 * last] = out[2 * last + 1] = (uint16_t)((a[last] + b[last]) * (KBI_SIFT_ONE / 2));
}

static void plain_row(const kb_image *image, int32_t y, uint16_t *restrict out)
{
    const uint8_t *restrict row = (const uint8_t *)image->data + y * image->stride;
    for (int32_t x = 0; x < image->width; x++) out[x] = (uint16_t)(row[x] * KBI_SIFT_ONE);
}

static void image_row(const kbi_scale_space *space, int32_t y, uint16_t *out)
{
    if (space->doubled) doubled_row(space->image, y, out);
    else plain_row(space->image, y, out);
}

static uint16_t *image_ring_row(const kbi_scale_window *w, int32_t y)
{
    return w->image + y % w->image_ring * w->here.stride;
}

/* The row of layer `layer` (-1: of the image) that is blurred to the next one. */
static const uint16_t *source_row(const kbi_scale_window *w, int32_t layer, int32_t y)
{
    return layer < 0 ? image_ring_row(w, y) : kbi_octave_row(&w->here, layer, y);
}

/* Row i of a batch when its columns are blurred, with room for the mirrored border. */
static uint16_t *blurred_row(const kbi_scale_window *w, int32_t i)
{
    return w->row + i * (w->here.stride + 2 * KBI_BLUR_MAX_TAPS) + KBI_BLUR_MAX_TAPS;
}

/* Every second pixel of every second row of the layer with twice the blur. */
static void start_next_octave(const kbi_scale_window *w, int32_t y)
{
    if (!w->next || y % 2 || y / 2 >= w->next->height || y < w->first_own || y >= w->last_own) return;
    const uint16_t *restrict in = kbi_octave_row(&w->here, w->space->layers, y);
    uint16_t *restrict out = w->next->layer[0] + y / 2 * w->next->stride;
    for (int32_t x = 0; x < w->next->width; x++) out[x] = in[2 * x];
}

/* Blurs columns of n rows from `first` on of layer - 1. The rows that they are made of share most of theirs, so that a
 * strip of them stays in the first-level cache. */
static void blur_down(const kbi_scale_window *w, int32_t layer, int32_t first, int32_t n)
{
    const kbi_blur *blur = &w->space->blur[layer];
    const uint16_t *row[2 * KBI_BLUR_MAX_TAPS + BATCH], *above[KBI_BLUR_MAX_TAPS], *below[KBI_BLUR_MAX_TAPS];
    int32_t reach = blur->reach, rows = n + 2 * reach;
    for (int32_t i = 0; i < rows; i++)
        row[i] = source_row(w, layer - 1, kbi_mirrored(first + i - reach, w->here.height));
    for (int32_t x = 0; x < w->here.width; x += STRIP)
        for (int32_t i = 0; i < n; i++) {
            for (int32_t k = 0; k < blur->taps; k++) {
                /* all of row[] is set: NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
                above[k] = row[i + reach - k * blur->step] + x;
                below[k] = row[i + reach + k * blur->step] + x;
            }
            w->space->kernels->blur_pairs(above, below, blur, kbi_min_i(STRIP, w->here.width - x),
                                          blurred_row(w, i) + x);
        }
}

static void make_batch(kbi_scale_window *w, int32_t layer, int32_t first, int32_t n)
{
    blur_down(w, layer, first, n);
    for (int32_t i = 0; i < n; i++) {
        kbi_blur_across(w->space->kernels, &w->space->blur[layer], w->here.width, blurred_row(w, i),
                        kbi_octave_row(&w->here, layer, first + i));
        if (layer == w->space->layers) start_next_octave(w, first + i);
    }
}

/* Makes the rows of a layer before row `end`, a batch at a time, and before each the rows that it needs of other
 * layers. */
static void make_rows(kbi_scale_window *w, int32_t layer, int32_t end)
{
    while (w->made[layer] < end) {
        int32_t batch = kbi_min_i(w->made[layer] + BATCH, end);
        int32_t needed = kbi_min_i(batch + w->space->blur[layer].reach, w->here.height);
        if (layer > 0) make_rows(w, layer - 1, needed);
        else for (; w->image_made < needed; w->image_made++)
            image_row(w->space, w->image_made, image_ring_row(w, w->image_made));
        make_batch(w, layer, w->made[layer], batch - w->made[layer]);
        w->made[layer] = batch;
    }
}

/* ---- window ---- */

void kbi_scale_window_start(kbi_scale_window *w, kbi_scale_space *space, int32_t octave, int32_t middle,
                            int32_t first_own, int32_t last_own)
{
    uint16_t *memory = w->memory;
    int32_t top = middle - space->margin - 1;
    w->here = space->octave[octave];
    w->next = octave + 1 < space->octaves ? &space->octave[octave + 1] : NULL;
    w->first_own = first_own;
    w->last_own = last_own;
    w->first_octave = octave == 0;
    for (int32_t k = w->first_octave ? 0 : 1; k < space->layers + 3; k++) {
        w->here.layer[k] = memory;
        w->here.ring[k] = ring_rows(space, &w->here, k);
        w->made[k] = kbi_max_i(0, top - space->after[k]);
        memory += w->here.ring[k] * w->here.stride;
    }
    if (!w->first_octave) w->made[0] = w->here.height;
    w->image = memory;
    w->image_ring = image_ring_rows(space);
    w->image_made = kbi_max_i(0, top - space->halo);
    w->bottom = w->made[space->layers + 2];
}

void kbi_scale_window_move(kbi_scale_window *w, int32_t middle)
{
    w->top = kbi_max_i(0, middle - w->space->margin - 1);
    int32_t needed = kbi_min_i(w->here.height, middle + w->space->margin + 2);
    if (w->bottom >= needed) return;
    w->bottom = kbi_min_i(w->here.height, needed + BATCH - 1);
    make_rows(w, w->space->layers + 2, w->bottom);
}

/* Where the borders of a patch are not borders of the image, its pixels are wrong as far in as the blurs reach. */
static const kbi_octave *patch_make(kbi_scale_window *w, int32_t y, int32_t x, int32_t reach)
{
    const kbi_scale_space *space = w->space;
    const kbi_octave *o = &w->here;
    int32_t wide = reach + space->halo, left = kbi_max_i(x - wide, 0), top = kbi_max_i(y - wide, 0);
    int32_t width = kbi_min_i(x + wide + 1, o->width) - left, height = kbi_min_i(y + wide + 1, o->height) - top;
    w->patch = (kbi_octave){.width = o->width, .height = o->height, .stride = width, .left = left, .top = top};
    ptrdiff_t size = (ptrdiff_t)width * height;
    uint16_t *image = w->patch_memory;
    for (int32_t k = 0; k < space->layers + 3; k++) w->patch.layer[k] = image + (k + 1) * size;
    for (int32_t r = 0; r < height; r++) {
        if (w->first_octave) image_row(space, top + r, w->row);
        /* there is a layer 0: NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
        memcpy(w->first_octave ? image + r * width : w->patch.layer[0] + r * width,
               (w->first_octave ? w->row : kbi_octave_row(o, 0, top + r)) + left, (size_t)width * sizeof *image);
    }
    for (int32_t k = w->first_octave ? 0 : 1; k < space->layers + 3; k++)
        kbi_blur_image(space->kernels, image + k * size, w->patch.layer[k], width, height, width, &space->blur[k],
                       w->row);
    return &w->patch;
}

const kbi_octave *kbi_scale_window_around(kbi_scale_window *w, int32_t y, int32_t x, int32_t reach)
{
    if (kbi_max_i(y - reach, 0) >= w->top && kbi_min_i(y + reach, w->here.height - 1) < w->bottom) return &w->here;
    return patch_make(w, y, x, reach);
}
