/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing. */
/* Alignment of two regions by inverse-compositional Gauss-Newton steps (Baker and Matthews, IJCV 2004).
 *
 * T is the region in image a, I(W) image b under the affine map W of sample places. A step looks for the small affine
 * map d of the template that makes T(d) most like g I(W) + o, with gain g and offset o free, and replaces W by
 * W d^-1. To first order T(d) = T + sum_k s_k p_k, where the s_k are the gradient of T times the place: gx, gy,
 * gx x, gx y, gy x, gy y. Gain and offset drop out when the s_k are made orthogonal to the constant and to T: with
 * these s'_k and H = sum s' s'^T the step is
 *     p = g H^-1 sum s' I,     g = <T - mean, T - mean> / <I, T - mean>.
 * H belongs to the template and is factorised once. Because the projection is linear, it is made on sums: of s_k, T and
 * I only products are added up over the samples. These sums are exact integers (samples have 10 bits, s_k 11), so
 * their order does not matter and compilers may vectorise them; what follows is double precision in a fixed order. */
#include "match/align.h"

#include <math.h>

#define SIDE KBI_ALIGN_SIDE
#define SAMPLES KBI_ALIGN_SAMPLES
#define AROUND (SIDE + 2) /* of the template, with a border for the gradient */
#define PARAMETERS 6
#define MOST_STEP 4.0     /* px of a level between samples */
#define CONVERGED 0.02    /* px of a level */
#define LEAST_VARIANCE 64 /* of the samples, sum of squares per sample: (2 gray levels)^2 */

/* Rows of SAMPLES numbers: ones, T, and the s_k. */
enum { ONES, GRAY, SLOPES, ROWS = SLOPES + PARAMETERS };

typedef struct align_template {
    int parameters; /* 2 or 6 of them */
    int16_t rows[ROWS][SAMPLES];
    double sum, variance;               /* of T: the sum, and the sum of squares without the mean */
    double slope_sum[PARAMETERS];
    double slope_gray[PARAMETERS];           /* <s_k, T - mean> / variance */
    double factor[PARAMETERS * PARAMETERS]; /* Cholesky factor of H, lower */
} align_template;

/* ---- frames ---- */

bool kbi_frame_of(kbi_frame *frame, const kb_keypoint *keypoint, double width, const kbi_pyramid *levels)
{
    kbi_sampling plan;
    double sine, cosine;
    if (kbi_sampling_plan(&plan, keypoint, width, KBI_GRID_PATCH, levels) & (KB_KP_INVALID | KB_KP_OUTSIDE))
        return false;
    double step = width / SIDE;
    frame->level = kbi_pyramid_level_for(step, levels->count);
    double factor = kbi_pyramid_factor(frame->level);
    kbi_sincos_degrees((double)keypoint->angle, &sine, &cosine);
    step /= factor;
    frame->x = ((double)keypoint->x + 0.5) / factor - 0.5;
    frame->y = ((double)keypoint->y + 0.5) / factor - 0.5;
    frame->a[0] = frame->a[3] = step * cosine;
    frame->a[2] = step * sine;
    frame->a[1] = -frame->a[2];
    return step <= MOST_STEP && step >= 1.0 / 64;
}

void kbi_frame_point(const kbi_frame *frame, double *x, double *y)
{
    double factor = kbi_pyramid_factor(frame->level);
    *x = (frame->x + 0.5) * factor - 0.5;
    *y = (frame->y + 0.5) * factor - 0.5;
}

/* False for a frame that has left the image, has become too large or is not a number: steps may lead anywhere. */
static bool frame_is_sane(const kbi_frame *f, const kbi_pyramid *levels)
{
    for (int i = 0; i < 4; i++)
        if (!(fabs(f->a[i]) <= 2 * MOST_STEP)) return false;
    double x, y;
    kbi_frame_point(f, &x, &y); /* a pixel of a level is many of the image */
    return x >= -0.5 && y >= -0.5 && x < levels->width[0] - 0.5 && y < levels->height[0] - 0.5;
}

/* ---- samples ---- */

static int32_t to_fixed(double v) { return (int32_t)floor(v * 65536 + 0.5); }

static void lattice_make(kbi_lattice *l, const kbi_frame *f, const kbi_pyramid *levels, int32_t side)
{
    double middle = 0.5 * (side - 1), px = floor(f->x), py = floor(f->y);
    l->data = levels->data[f->level];
    l->stride = levels->stride[f->level];
    l->width = levels->width[f->level];
    l->height = levels->height[f->level];
    l->px = (int32_t)px;
    l->py = (int32_t)py;
    l->x = to_fixed(f->x - px - middle * (f->a[0] + f->a[1]));
    l->y = to_fixed(f->y - py - middle * (f->a[2] + f->a[3]));
    l->right[0] = to_fixed(f->a[0]);
    l->right[1] = to_fixed(f->a[2]);
    l->down[0] = to_fixed(f->a[1]);
    l->down[1] = to_fixed(f->a[3]);
}

/* Whether the pixels from above and left of every sample to `reach` further right and 1 further down exist; it suffices
 * to look at the samples in the corners. */
static bool lattice_inside(const kbi_lattice *l, int32_t side, int32_t reach)
{
    for (int corner = 0; corner < 4; corner++) {
        int32_t j = corner & 1 ? side - 1 : 0, i = corner & 2 ? side - 1 : 0;
        int32_t x = l->px + ((l->x + j * l->right[0] + i * l->down[0]) >> 16);
        int32_t y = l->py + ((l->y + j * l->right[1] + i * l->down[1]) >> 16);
        if (x < 0 || y < 0 || x + reach >= l->width || y + 1 >= l->height) return false;
    }
    return true;
}

/* Bilinear with weights of 1/256 px; 0 to 1020, and half of that is taken off, so that sums stay small. */
static int16_t blend_samples(int32_t p00, int32_t p01, int32_t p10, int32_t p11, int32_t x, int32_t y)
{
    int32_t fx = x >> 8 & 255, fy = y >> 8 & 255;
    int32_t top = (p00 << 8) + (p01 - p00) * fx, bottom = (p10 << 8) + (p11 - p10) * fx;
    return (int16_t)((((top << 8) + (bottom - top) * fy + 8192) >> 14) - 510);
}

static void sample_row_inside(const kbi_lattice *l, int32_t x, int32_t y, int32_t side, int16_t *out)
{
    const uint8_t *base = l->data + l->py * l->stride + l->px;
    for (int32_t j = 0; j < side; j++, x += l->right[0], y += l->right[1]) {
        const uint8_t *p = base + (y >> 16) * l->stride + (x >> 16);
        out[j] = blend_samples(p[0], p[1], p[l->stride], p[l->stride + 1], x, y);
    }
}

/* Whether samples are 1 px apart, as a translation leaves them: then all have one fraction, and sums equal
 * blend_samples()'s. */
static bool lattice_is_straight(const kbi_lattice *l)
{
    return l->right[0] == 65536 && l->down[1] == 65536 && l->right[1] == 0 && l->down[0] == 0;
}

static void blend_across(const uint8_t *p, uint16_t fx, int32_t side, uint16_t *out)
{
    for (int32_t j = 0; j < side; j++) out[j] = (uint16_t)(p[j] * (256 - fx) + p[j + 1] * fx);
}

static void sample_straight(const kbi_lattice *l, int32_t side, int16_t *out)
{
    const uint8_t *p = l->data + (l->py + (l->y >> 16)) * l->stride + l->px + (l->x >> 16);
    const uint16_t fx = (uint16_t)(l->x >> 8 & 255), fy = (uint16_t)(l->y >> 8 & 255);
    uint16_t rows[2][AROUND];
    blend_across(p, fx, side, rows[0]);
    for (int32_t i = 0; i < side; i++, out += side) {
        const uint16_t *upper = rows[i & 1];
        uint16_t *lower = rows[~i & 1];
        p += l->stride;
        blend_across(p, fx, side, lower);
        for (int32_t j = 0; j < side; j++) {
            uint32_t sum = (uint32_t)upper[j] * (uint16_t)(256 - fy) + (uint32_t)lower[j] * fy;
            out[j] = (int16_t)((int32_t)((sum + 8192) >> 14) - 510);
        }
    }
}

/* Beyond the image its border is repeated. */
static void sample_row_clamped(const kbi_lattice *l, int32_t x, int32_t y, int32_t side, int16_t *out)
{
    for (int32_t j = 0; j < side; j++, x += l->right[0], y += l->right[1]) {
        int32_t ix = l->px + (x >> 16), iy = l->py + (y >> 16);
        int32_t x0 = kbi_clamp_i(ix, 0, l->width - 1), x1 = kbi_clamp_i(ix + 1, 0, l->width - 1);
        const uint8_t *upper = l->data + kbi_clamp_i(iy, 0, l->height - 1) * l->stride;
        const uint8_t *lower = l->data + kbi_clamp_i(iy + 1, 0, l->height - 1) * l->stride;
        out[j] = blend_samples(upper[x0], upper[x1], lower[x0], lower[x1], x, y);
    }
}

static void align_samples(const kbi_lattice *l, int16_t *out)
{
    for (int32_t i = 0; i < SIDE; i++)
        sample_row_inside(l, l->x + i * l->down[0], l->y + i * l->down[1], SIDE, out + i * SIDE);
}

/* Sums are below 2^31 in magnitude, since samples are at most 510 and slopes at most 1020. */
static void align_products(const int16_t *rows, int32_t count, const int16_t *w, int32_t *sums)
{
    for (int32_t k = 0; k < count; k++, rows += SAMPLES) {
        int32_t sum = 0;
        for (int32_t i = 0; i < SAMPLES; i++) sum += rows[i] * w[i];
        sums[k] = sum;
    }
}

const kbi_align_kernels kbi_align_kernels_c = {.align_samples = align_samples, .align_products = align_products};

static void frame_sample(const kbi_frame *f, const kbi_pyramid *levels, int32_t side, int16_t *out)
{
    kbi_lattice l;
    lattice_make(&l, f, levels, side);
    bool inside = lattice_inside(&l, side, 1);
    if (inside && lattice_is_straight(&l)) {
        sample_straight(&l, side, out);
        return;
    }
    if (side == SIDE && l.stride <= KBI_LATTICE_STRIDE && l.stride >= -KBI_LATTICE_STRIDE &&
        lattice_inside(&l, side, KBI_LATTICE_REACH)) {
        kbi_align_kernels_get()->align_samples(&l, out);
        return;
    }
    for (int32_t i = 0; i < side; i++) {
        int32_t x = l.x + i * l.down[0], y = l.y + i * l.down[1];
        if (inside) sample_row_inside(&l, x, y, side, out + i * side);
        else sample_row_clamped(&l, x, y, side, out + i * side);
    }
}

/* ---- template ---- */

/* Gradients are differences over two samples; places are odd numbers, -15 to 15, of half samples. The slopes of places
 * are divided by 16, to stay in the range of the others. */
static void template_slopes(align_template *t, const int16_t *around)
{
    for (int32_t i = 0; i < SIDE; i++) {
        const int16_t *p = around + (i + 1) * AROUND + 1;
        const int32_t first = i * SIDE;
        int16_t *x = t->rows[SLOPES] + first, *y = t->rows[SLOPES + 1] + first;
        for (int32_t j = 0; j < SIDE; j++) {
            t->rows[ONES][first + j] = 1;
            t->rows[GRAY][first + j] = p[j];
            x[j] = (int16_t)(p[j + 1] - p[j - 1]);
            y[j] = (int16_t)(p[j + AROUND] - p[j - AROUND]);
        }
        if (t->parameters == KBI_ALIGN_TRANSLATION) continue;
        const int16_t v = (int16_t)(2 * i - (SIDE - 1));
        for (int32_t j = 0; j < SIDE; j++) {
            const int16_t u = (int16_t)(2 * j - (SIDE - 1));
            t->rows[SLOPES + 2][first + j] = (int16_t)((x[j] * u + 8) >> 4);
            t->rows[SLOPES + 3][first + j] = (int16_t)((x[j] * v + 8) >> 4);
            t->rows[SLOPES + 4][first + j] = (int16_t)((y[j] * u + 8) >> 4);
            t->rows[SLOPES + 5][first + j] = (int16_t)((y[j] * v + 8) >> 4);
        }
    }
}

static bool template_make(align_template *t, const kbi_frame *frame, const kbi_pyramid *levels, int parameters)
{
    int16_t around[AROUND * AROUND];
    t->parameters = parameters;
    frame_sample(frame, levels, AROUND, around);
    template_slopes(t, around);
    const kbi_align_kernels *kernels = kbi_align_kernels_get();
    int32_t sums[ROWS];
    kernels->align_products(t->rows[0], SLOPES, t->rows[GRAY], sums);
    t->sum = sums[ONES];
    t->variance = sums[GRAY] - t->sum * t->sum / SAMPLES;
    if (!(t->variance >= LEAST_VARIANCE * SAMPLES)) return false;
    for (int k = 0; k < t->parameters; k++) {
        kernels->align_products(t->rows[0], SLOPES + k + 1, t->rows[SLOPES + k], sums);
        t->slope_sum[k] = sums[ONES];
        t->slope_gray[k] = (sums[GRAY] - t->slope_sum[k] * t->sum / SAMPLES) / t->variance;
        for (int j = 0; j <= k; j++)
            t->factor[k * t->parameters + j] = sums[SLOPES + j] - t->slope_sum[k] * t->slope_sum[j] / SAMPLES -
                                               t->slope_gray[k] * t->slope_gray[j] * t->variance;
    }
    /* Not positive definite by far: the region lacks structure in a direction. */
    return kbi_cholesky(t->factor, t->parameters, 1e-6);
}

/* ---- steps ---- */

/* Products of samples of b with the rows of the template, and what they tell. */
typedef struct align_sums {
    int32_t with[ROWS];
    double product, correlation; /* <I, T - mean>; below -1 where I has no structure */
} align_sums;

static void correlate(const align_template *t, const int16_t *gray, align_sums *out)
{
    const kbi_align_kernels *kernels = kbi_align_kernels_get();
    int32_t square;
    kernels->align_products(gray, 1, gray, &square);
    kernels->align_products(t->rows[0], SLOPES + t->parameters, gray, out->with);
    double sum = out->with[ONES], variance = square - sum * sum / SAMPLES;
    out->product = out->with[GRAY] - sum * t->sum / SAMPLES;
    out->correlation = variance >= LEAST_VARIANCE * SAMPLES ? out->product / sqrt(variance * t->variance) : -2;
}

/* Replaces W by W d^-1; `moved` is the square of how far the point went, px of the level. */
static bool frame_compose(kbi_frame *f, const double p[PARAMETERS], double *moved)
{
    double d[4] = {1 + 0.25 * p[2], 0.25 * p[3], 0.25 * p[4], 1 + 0.25 * p[5]}, dx = 2 * p[0], dy = 2 * p[1];
    double det = d[0] * d[3] - d[1] * d[2];
    if (!(det > 0.25 && det < 4)) return false;
    const double inverse[4] = {d[3] / det, -d[1] / det, -d[2] / det, d[0] / det};
    for (int row = 0; row < 4; row += 2) {
        double a0 = f->a[row], a1 = f->a[row + 1];
        f->a[row] = a0 * inverse[0] + a1 * inverse[2];
        f->a[row + 1] = a0 * inverse[1] + a1 * inverse[3];
    }
    double x = f->a[0] * dx + f->a[1] * dy, y = f->a[2] * dx + f->a[3] * dy;
    f->x -= x;
    f->y -= y;
    *moved = x * x + y * y;
    return true;
}

static bool align_step(const align_template *t, const align_sums *sums, kbi_frame *f, double *moved)
{
    double p[PARAMETERS] = {0}, sum = sums->with[ONES], gain = t->variance / sums->product;
    for (int k = 0; k < t->parameters; k++)
        p[k] = gain * (sums->with[SLOPES + k] - t->slope_sum[k] * sum / SAMPLES - t->slope_gray[k] * sums->product);
    kbi_cholesky_solve(t->factor, t->parameters, p);
    return frame_compose(f, p, moved);
}

double kbi_align(const kbi_pyramid *image_a, const kbi_frame *a, const kbi_pyramid *image_b, kbi_frame *b,
                 kbi_alignment alignment, int32_t iterations)
{
    align_template t;
    align_sums sums;
    int16_t gray[SAMPLES];
    kbi_frame frame = *b;
    double best = -2, moved = 1;
    if (!template_make(&t, a, image_a, (int)alignment)) return -2;
    for (int32_t i = 0; i <= iterations && frame_is_sane(&frame, image_b); i++) {
        frame_sample(&frame, image_b, SIDE, gray);
        correlate(&t, gray, &sums);
        if (!(sums.correlation > best)) break;
        best = sums.correlation;
        *b = frame;
        if (moved < CONVERGED * CONVERGED || best < 0.05 || !align_step(&t, &sums, &frame, &moved)) break;
    }
    return best;
}
