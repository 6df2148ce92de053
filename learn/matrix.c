/* Matrix products in blocks of rows. */
#include "learn/matrix.h"

#include <string.h>

#include "common/common.h"

#define BLOCK 64 /* rows of the result */

typedef struct product {
    const float *a, *b;
    float *c;
    int32_t m, n, k;
    bool first_transposed;
} product;

#ifdef KB_HAVE_CBLAS
#  include <cblas.h>

void kbi_matrix_prepare(void) { openblas_set_num_threads(1); }

static void multiply_rows(const product *p, int32_t row, int32_t rows)
{
    float *c = p->c + (size_t)row * (size_t)p->n;
    if (p->first_transposed) {
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, rows, p->n, p->k, 1, p->a + row, p->m, p->b, p->n, 0, c,
                    p->n);
    } else {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, p->n, p->k, 1, p->a + (size_t)row * (size_t)p->k,
                    p->k, p->b, p->k, 0, c, p->n);
    }
}

#else

void kbi_matrix_prepare(void) {}

static void multiply_rows(const product *p, int32_t row, int32_t rows)
{
    for (int32_t i = row; i < row + rows; i++) {
        float *c = p->c + (size_t)i * (size_t)p->n;
        memset(c, 0, (size_t)p->n * sizeof *c);
        for (int32_t l = 0; l < p->k && p->first_transposed; l++) {
            const float factor = p->a[(size_t)l * (size_t)p->m + (size_t)i], *b = p->b + (size_t)l * (size_t)p->n;
            for (int32_t j = 0; j < p->n; j++) c[j] += factor * b[j];
        }
        for (int32_t j = 0; j < p->n && !p->first_transposed; j++) {
            const float *a = p->a + (size_t)i * (size_t)p->k, *b = p->b + (size_t)j * (size_t)p->k;
            for (int32_t l = 0; l < p->k; l++) c[j] += a[l] * b[l];
        }
    }
}

#endif

static void multiply_block(void *context, int32_t index)
{
    const product *p = context;
    int32_t row = index * BLOCK;
    multiply_rows(p, row, kbi_min_i(BLOCK, p->m - row));
}

void kbi_matrix_times_transposed(const float *a, const float *b, float *c, int32_t m, int32_t n, int32_t k,
                                const kb_parallel *parallel)
{
    product p = {a, b, c, m, n, k, false};
    kbi_parallel_run(parallel, (m + BLOCK - 1) / BLOCK, multiply_block, &p);
}

void kbi_matrix_transposed_times(const float *a, const float *b, float *c, int32_t m, int32_t n, int32_t k,
                                const kb_parallel *parallel)
{
    product p = {a, b, c, m, n, k, true};
    kbi_parallel_run(parallel, (m + BLOCK - 1) / BLOCK, multiply_block, &p);
}
