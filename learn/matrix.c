/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products in blocks of rows. */
#include "learn/matrix.h"

#include <string.h>

#include "common/common.h"
#include "learn/clones.h"

#if defined(__unix__) || defined(__APPLE__)
#include <dlfcn.h>
#include <sys/resource.h>
#define HAVE_DLOPEN 1
#endif

#define BLOCK 64 /* rows of the result */

/* CBLAS' numbers. */
enum { ROW_MAJOR = 101, AS_IT_IS = 111, TRANSPOSED = 112 };

typedef struct product {
    const kbi_blas *blas;
    const float *a, *b;
    float *c;
    int32_t m, n, k;
    bool first_transposed;
} product;

#ifdef HAVE_DLOPEN
/* OpenBLAS maps tens of megabytes per thread that calls it, and where it gets none it tries for ever. */
#define BLAS_ADDRESS_SPACE ((rlim_t)4 << 30)

static bool has_address_space(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= BLAS_ADDRESS_SPACE;
}
#endif

kbi_blas kbi_blas_open(void)
{
    kbi_blas blas = {NULL};
#ifdef HAVE_DLOPEN
    if (!has_address_space()) return blas;
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so", "libopenblas.dylib"};
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++) library = dlopen(names[i], RTLD_NOW);
    if (!library) return blas;
    void *set_threads = dlsym(library, "openblas_set_num_threads"), *sgemm = dlsym(library, "cblas_sgemm");
    if (!set_threads || !sgemm) return blas;
    void (*set)(int);
    memcpy(&set, &set_threads, sizeof set); /* ISO C has no cast from an object's address to a function's */
    memcpy(&blas.sgemm, &sgemm, sizeof blas.sgemm);
    set(1);
#endif
    return blas;
}

/* ------------------------------------------------------------------------------------------------------ plain C */

#define LANES 16

/* Sums in LANES partial sums of fixed order, which vector registers hold. */
KBI_INLINE float dot(const float *a, const float *b, int32_t k)
{
    float lanes[LANES] = {0}, sum = 0;
    int32_t l = 0;
    for (; l + LANES <= k; l += LANES)
        for (int i = 0; i < LANES; i++) lanes[i] += a[l + i] * b[l + i];
    for (int i = 0; i < LANES; i++) sum += lanes[i];
    for (; l < k; l++) sum += a[l] * b[l];
    return sum;
}

KBI_CLONES
static void plain_rows(const product *p, int32_t row, int32_t rows)
{
    for (int32_t i = row; i < row + rows; i++) {
        float *c = p->c + (size_t)i * (size_t)p->n;
        if (p->first_transposed) {
            memset(c, 0, (size_t)p->n * sizeof *c);
            for (int32_t l = 0; l < p->k; l++) {
                const float factor = p->a[(size_t)l * (size_t)p->m + (size_t)i], *b = p->b + (size_t)l * (size_t)p->n;
                for (int32_t j = 0; j < p->n; j++) c[j] += factor * b[j];
            }
        } else {
            const float *a = p->a + (size_t)i * (size_t)p->k;
            for (int32_t j = 0; j < p->n; j++) c[j] = dot(a, p->b + (size_t)j * (size_t)p->k, p->k);
        }
    }
}

/* ------------------------------------------------------------------------------------------------------ products */

static void multiply_block(void *context, int32_t index)
{
    const product *p = context;
    int32_t row = index * BLOCK, rows = kbi_min_i(BLOCK, p->m - row);
    float *c = p->c + (size_t)row * (size_t)p->n;
    if (!p->blas->sgemm) {
        plain_rows(p, row, rows);
    } else if (p->first_transposed) {
        p->blas->sgemm(ROW_MAJOR, TRANSPOSED, AS_IT_IS, rows, p->n, p->k, 1, p->a + row, p->m, p->b, p->n, 0, c, p->n);
    } else {
        p->blas->sgemm(ROW_MAJOR, AS_IT_IS, TRANSPOSED, rows, p->n, p->k, 1, p->a + (size_t)row * (size_t)p->k, p->k,
                       p->b, p->k, 0, c, p->n);
    }
}

void kbi_matrix_times_transposed(const kbi_blas *blas, const float *a, const float *b, float *c, int32_t m, int32_t n,
                                 int32_t k, const kb_parallel *parallel)
{
    product p = {blas, a, b, c, m, n, k, false};
    kbi_parallel_run(parallel, (m + BLOCK - 1) / BLOCK, multiply_block, &p);
}

void kbi_matrix_transposed_times(const kbi_blas *blas, const float *a, const float *b, float *c, int32_t m, int32_t n,
                                 int32_t k, const kb_parallel *parallel)
{
    product p = {blas, a, b, c, m, n, k, true};
    kbi_parallel_run(parallel, (m + BLOCK - 1) / BLOCK, multiply_block, &p);
}
