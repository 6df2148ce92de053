/* SIFT of patches, its mean and its covariance.
 *
 * With the covariance C = U diag(l) U^T of the centred bytes, scale = c U diag(l^(-w / 2)) U^T: w = 0 only scales, w =
 * 1 makes all directions equally strong. c gives the inputs the wanted deviation on average. */
#include "learn/hash_inputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/common.h"

#define N KB_SIFT_VALUES
#define CHUNK 65536 /* patches augmented at a time */

/* ----------------------------------------------------------------------------------------------------- SIFT bytes */

static bool is_augmenting(const kb_augment *a)
{
    return a->rotation > 0 || a->scale > 0 || a->shift > 0 || a->gain > 0 || a->offset > 0 || a->gamma > 0 ||
           a->blur > 0 || a->noise > 0;
}

/* All versions of all patches; every version has augmentations of its own. */
static kb_status describe_all(kb_hash_inputs *inputs, const kb_patch_set *set, const kb_hash_options *o,
                              const kb_model *sift)
{
    size_t area = (size_t)set->side * (size_t)set->side, room = set->patches < CHUNK ? set->patches : CHUNK;
    uint8_t *changed = io_alloc(room, area);
    kb_describe_options options;
    kb_status status = KB_OK;
    KB_INIT(options);
    options.parallel = o->parallel;
    for (int32_t v = 0; v < inputs->versions; v++) {
        for (size_t from = 0; from < set->patches && status == KB_OK; from += CHUNK) {
            size_t n = set->patches - from < CHUNK ? set->patches - from : CHUNK;
            const uint8_t *pixels = set->pixels + from * area;
            uint64_t seed = o->seed + ((uint64_t)v << 48) + from;
            if (v > 0) kb_augment_patches(&o->augment, pixels, n, set->side, seed, o->parallel, changed);
            status = kb_describe_patches(sift, v > 0 ? changed : pixels, n, set->side, &options, NULL,
                                         inputs->bytes + ((size_t)v * set->patches + from) * N);
        }
    }
    free(changed);
    return status;
}

/* ----------------------------------------------------------------------------------------------------- covariance */

static void add_moments(const uint8_t *row, uint64_t sum[N], uint64_t products[N][N])
{
    for (int i = 0; i < N; i++) {
        sum[i] += row[i];
        for (int j = 0; j < N; j++) products[i][j] += (uint32_t)row[i] * row[j];
    }
}

/* Mean and covariance of the first version; whole numbers, so exact. */
static void measure(const kb_hash_inputs *inputs, double mean[N], double covariance[N][N])
{
    uint64_t sum[N] = {0}, (*products)[N] = io_alloc(N, sizeof *products);
    double n = (double)inputs->patches;
    for (size_t p = 0; p < inputs->patches; p++) add_moments(inputs->bytes + p * N, sum, products);
    for (int i = 0; i < N; i++) mean[i] = (double)sum[i] / n;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) covariance[i][j] = (double)products[i][j] / n - mean[i] * mean[j];
    free(products);
}

/* One rotation of Jacobi's method that makes a[p][q] zero; the columns of u become the eigenvectors. */
static void rotate(double a[N][N], double u[N][N], int p, int q)
{
    double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
    double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1)), c = 1 / sqrt(t * t + 1), s = t * c;
    for (int k = 0; k < N; k++) {
        double x = a[k][p], y = a[k][q];
        a[k][p] = c * x - s * y;
        a[k][q] = s * x + c * y;
    }
    for (int k = 0; k < N; k++) {
        double x = a[p][k], y = a[q][k];
        a[p][k] = c * x - s * y;
        a[q][k] = s * x + c * y;
    }
    for (int k = 0; k < N; k++) {
        double x = u[k][p], y = u[k][q];
        u[k][p] = c * x - s * y;
        u[k][q] = s * x + c * y;
    }
}

/* a becomes diagonal. */
static void diagonalise(double a[N][N], double u[N][N])
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) u[i][j] = i == j;
    for (int sweep = 0; sweep < 12; sweep++) {
        for (int p = 0; p < N; p++)
            for (int q = p + 1; q < N; q++)
                if (fabs(a[p][q]) > 1e-12 * (fabs(a[p][p]) + fabs(a[q][q])) + 1e-300) rotate(a, u, p, q);
    }
}

static void choose_scale(kb_hash_inputs *inputs, double whiten, double spread)
{
    double (*a)[N] = io_alloc(N, sizeof *a), (*u)[N] = io_alloc(N, sizeof *u), power[N], total = 0, trace = 0;
    measure(inputs, inputs->mean, a);
    for (int i = 0; i < N; i++) trace += a[i][i];
    diagonalise(a, u);
    for (int k = 0; k < N; k++) {
        /* Directions of next to no strength stay weak: they hold rounding only. */
        double strength = fmax(a[k][k], 1e-4 * trace / N);
        power[k] = pow(strength, -whiten / 2);
        total += fmax(a[k][k], 0) * power[k] * power[k];
    }
    double c = total > 0 ? spread / sqrt(total / N) : 1;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int k = 0; k < N; k++) sum += u[i][k] * power[k] * u[j][k];
            inputs->scale[i][j] = c * sum;
        }
    }
    free(a);
    free(u);
}

bool kb_hash_inputs_create(kb_hash_inputs *inputs, const kb_patch_set *set, const kb_hash_options *options,
                           io_error *error)
{
    kb_model *sift = NULL;
    int32_t versions = is_augmenting(&options->augment) ? options->pool : 1;
    *inputs = (kb_hash_inputs){.patches = set->patches, .versions = versions};
    kb_status status = kb_model_builtin(options->root ? "rootsift" : "sift", &sift);
    if (status == KB_OK) {
        inputs->bytes = io_alloc((size_t)inputs->versions * set->patches, N);
        status = describe_all(inputs, set, options, sift);
    }
    kb_model_free(sift);
    if (status != KB_OK) {
        kb_hash_inputs_free(inputs);
        return io_fail(error, "patches cannot be described: %s", kb_status_string(status));
    }
    choose_scale(inputs, options->whiten, options->spread);
    return true;
}

void kb_hash_inputs_free(kb_hash_inputs *inputs)
{
    free(inputs->bytes);
    inputs->bytes = NULL;
}
