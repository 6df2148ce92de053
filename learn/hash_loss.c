/* SPDX-License-Identifier: Apache-2.0 */
/* Loss and gradient of a linear hash (the paper, section III-B, eq. 3).
 *
 * With inputs x = [f(x), 1] (SIFT, then 1) and the map B, a patch has values d = tanh(B x) instead of the bits D =
 * sgn(B x), and two patches the similarity s = d.d', the relaxed form of (equal bits - different bits). For the pair
 * (l, r) of a point, the hardest negative is the patch of another pair, of the other side, that is most similar to l
 * or to r; the one it is similar to is the anchor a, the other the positive p (anchor swap). The loss of a triplet is
 *     L = [tau - a.p + a.n]_+,    dL/da = n - p,    dL/dp = -a,    dL/dn = a,
 * and through tanh dL/d(Bx) = dL/dd (1 - d^2), so that dL/dB = sum of dL/d(Bx) x^T.
 *
 * The binary classification loss of the ablation (section IV-A), of which the paper gives no form, is the logistic
 * one of pairs: with y = 1 for (l, r) and y = -1 for l and the right patch of the next pair,
 *     L = ln(1 + exp(-y STEEP s / bits)). */
#include "learn/hash_loss.h"

#include <math.h>
#include <string.h>

#include "common/common.h"
#include "learn/clones.h"
#include "learn/memory.h"

#define STEEP 8.0
#define ROWS 64 /* of a piece of work */

bool kbi_hash_batch_create(kbi_hash_batch *batch, int32_t n, int32_t bits)
{
    size_t pairs = (size_t)n;
    *batch = (kbi_hash_batch){.n = n, .bits = bits};
    batch->values = kbi_zeros(2 * pairs * (size_t)bits, sizeof *batch->values);
    batch->slopes = kbi_zeros(2 * pairs * (size_t)bits, sizeof *batch->slopes);
    batch->similarity = kbi_zeros(pairs * pairs, sizeof *batch->similarity);
    batch->negatives = kbi_zeros(pairs, sizeof *batch->negatives);
    return batch->values && batch->slopes && batch->similarity && batch->negatives;
}

void kbi_hash_batch_free(kbi_hash_batch *batch)
{
    free(batch->values);
    free(batch->slopes);
    free(batch->similarity);
    free(batch->negatives);
    *batch = (kbi_hash_batch){0};
}

/* ----------------------------------------------------------------------------------------------------------- tanh */

/* tanh x = 1 - 2 / (exp(2x) + 1), with exp(y) = 2^i 2^f: 2^f by a polynomial, 2^i by the exponent's bits. Relative
 * error of the exponential 3e-7; written so that compilers turn it into vectors. */
KBI_INLINE float fast_tanh(float x)
{
    float cut = 0.5f * (fabsf(x + 9) - fabsf(x - 9)); /* to -9..9 without a branch */
    float y = cut * 2.88539008f;                          /* 2 / ln 2 */
    float shifted = y + 12582912.0f;                      /* rounds to a whole number, which stands in the low bits */
    float f = (y - (shifted - 12582912.0f)) * 0.693147181f;
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits << 23) + 0x3f800000u;
    float power;
    memcpy(&power, &bits, sizeof power);
    float e =
        1 + f * (1 + f * (0.5f + f * (0.166666667f + f * (0.0416666667f + f * (0.00833333333f + f * 0.00138888889f)))));
    return 1 - 2 / (e * power + 1);
}

KBI_CLONES
static void squash(float *values, size_t n)
{
    for (size_t i = 0; i < n; i++) values[i] = fast_tanh(values[i]);
}

/* Derivatives by the values become derivatives by what tanh was given. */
KBI_CLONES
static void unsquash(const float *values, float *slopes, size_t n)
{
    for (size_t i = 0; i < n; i++) slopes[i] *= 1 - values[i] * values[i];
}

/* Where piece `index` of all values begins, and how many it has. */
static size_t piece_of(const kbi_hash_batch *b, int32_t index, size_t *n)
{
    size_t row = (size_t)index * ROWS, rows = 2 * (size_t)b->n - row < ROWS ? 2 * (size_t)b->n - row : ROWS;
    *n = rows * (size_t)b->bits;
    return row * (size_t)b->bits;
}

static void squash_piece(void *context, int32_t index)
{
    const kbi_hash_batch *b = context;
    size_t n, from = piece_of(b, index, &n);
    squash(b->values + from, n);
}

static void unsquash_piece(void *context, int32_t index)
{
    const kbi_hash_batch *b = context;
    size_t n, from = piece_of(b, index, &n);
    unsquash(b->values + from, b->slopes + from, n);
}

/* ------------------------------------------------------------------------------------------------------- triplets */

static void find_negatives(void *context, int32_t index)
{
    const kbi_hash_batch *b = context;
    int32_t end = kbi_min_i(b->n, (index + 1) * ROWS);
    for (int32_t i = index * ROWS; i < end; i++) {
        const float *row = b->similarity + (size_t)i * (size_t)b->n, *column = b->similarity + i;
        kbi_hash_negative best = {-1, false};
        float most = -INFINITY;
        for (int32_t j = 0; j < b->n; j++) {
            if (j == i || !(row[j] > most)) continue;
            most = row[j];
            best.pair = j;
        }
        for (int32_t j = 0; j < b->n; j++) {
            if (j == i || !(column[(size_t)j * (size_t)b->n] > most)) continue;
            most = column[(size_t)j * (size_t)b->n];
            best = (kbi_hash_negative){j, true};
        }
        b->negatives[i] = best;
    }
}

/* to += factor x from, a row of values each. */
static void add_row(const kbi_hash_batch *b, int32_t to, float factor, int32_t from)
{
    float *slopes = b->slopes + (size_t)to * (size_t)b->bits;
    const float *values = b->values + (size_t)from * (size_t)b->bits;
    for (int32_t k = 0; k < b->bits; k++) slopes[k] += factor * values[k];
}

static double triplet_loss(const kbi_hash_batch *b, int32_t *active)
{
    double loss = 0, margin = (double)b->margin * b->bits;
    for (int32_t i = 0; i < b->n; i++) {
        const kbi_hash_negative *negative = &b->negatives[i];
        if (negative->pair < 0) continue; /* of a map that grew until no similarity is a number */
        int32_t j = negative->pair, anchor = negative->anchor_right ? b->n + i : i,
                positive = negative->anchor_right ? i : b->n + i;
        int32_t other = negative->anchor_right ? j : b->n + j;
        size_t row = (size_t)(negative->anchor_right ? j : i), column = (size_t)(negative->anchor_right ? i : j);
        double l =
            margin - b->similarity[(size_t)i * (size_t)b->n + (size_t)i] + b->similarity[row * (size_t)b->n + column];
        if (!(l > 0)) continue;
        loss += l;
        ++*active;
        add_row(b, anchor, 1, other);
        add_row(b, anchor, -1, positive);
        add_row(b, positive, -1, anchor);
        add_row(b, other, 1, anchor);
    }
    return loss;
}

/* ---------------------------------------------------------------------------------------------------------- pairs */

static double one_pair(const kbi_hash_batch *b, int32_t left, int32_t right, double y, int32_t *active)
{
    double s = b->similarity[(size_t)left * (size_t)b->n + (size_t)right], steep = STEEP / b->bits,
           e = exp(-y * steep * s);
    float slope = (float)(-y * STEEP * e / (1 + e));
    *active += y * s < 0;
    add_row(b, left, slope, b->n + right);
    add_row(b, b->n + right, slope, left);
    return b->bits * log1p(e);
}

static double pairs_loss(const kbi_hash_batch *b, int32_t *active)
{
    double loss = 0;
    for (int32_t i = 0; i < b->n; i++) {
        loss += one_pair(b, i, i, 1, active) / 2;
        loss += one_pair(b, i, (i + 1) % b->n, -1, active) / 2;
    }
    for (size_t k = 0; k < 2 * (size_t)b->n * (size_t)b->bits; k++) b->slopes[k] /= 2;
    *active /= 2;
    return loss;
}

double kbi_hash_batch_loss(kbi_hash_batch *b, float *gradient, double *active)
{
    int32_t pieces = (2 * b->n + ROWS - 1) / ROWS, losing = 0;
    const float *right = b->values + (size_t)b->n * (size_t)b->bits;
    kbi_matrix_times_transposed(&b->blas, b->inputs, b->map, b->values, 2 * b->n, b->bits, KBI_HASH_INPUTS,
                                b->parallel);
    kbi_parallel_run(b->parallel, pieces, squash_piece, b);
    kbi_matrix_times_transposed(&b->blas, b->values, right, b->similarity, b->n, b->n, b->bits, b->parallel);
    memset(b->slopes, 0, 2 * (size_t)b->n * (size_t)b->bits * sizeof *b->slopes);
    double loss;
    if (b->loss == KB_LEARN_LOSS_TRIPLET) {
        kbi_parallel_run(b->parallel, (b->n + ROWS - 1) / ROWS, find_negatives, b);
        loss = triplet_loss(b, &losing);
    } else {
        loss = pairs_loss(b, &losing);
    }
    kbi_parallel_run(b->parallel, pieces, unsquash_piece, b);
    kbi_matrix_transposed_times(&b->blas, b->slopes, b->inputs, gradient, b->bits, KBI_HASH_INPUTS, 2 * b->n,
                                b->parallel);
    double scale = 1.0 / ((double)b->n * b->bits);
    for (size_t i = 0; i < (size_t)b->bits * KBI_HASH_INPUTS; i++) gradient[i] *= (float)scale;
    *active = (double)losing / b->n;
    return loss * scale;
}
