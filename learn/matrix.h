/* SPDX-License-Identifier: Apache-2.0 */
/* Products of float matrices, row major, through OpenBLAS where the machine has it.
 *
 * A product is computed in blocks of rows of its result, each one call on one thread of BLAS, and the blocks do not
 * depend on the number of threads: so a result is the same for any number of them, on one machine. Another CPU may get
 * another kernel of BLAS, which sums in another order and differs in the last digits; so does the plain C that stands in
 * where there is no OpenBLAS. */
#ifndef KBI_MATRIX_H
#define KBI_MATRIX_H

#include <stdbool.h>

#include "keybits/advanced.h"

/* The single-precision product of CBLAS. */
typedef void kbi_sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float *a,
                       int lda, const float *b, int ldb, float beta, float *c, int ldc);

/* What multiplies. All zero: plain C. */
typedef struct kbi_blas {
    kbi_sgemm *sgemm;
} kbi_blas;

/* Loads OpenBLAS when learning begins, and not when a program starts: it reserves memory and starts threads as soon as
 * it is loaded. It is told to use one thread, and stays loaded. Plain C where it is not found, or
 * where the address space is limited to less than 4 GiB. */
kbi_blas kbi_blas_open(void);

/* c (m x n) = a (m x k) times the transpose of b (n x k). */
void kbi_matrix_times_transposed(const kbi_blas *blas, const float *a, const float *b, float *c, int32_t m, int32_t n,
                                 int32_t k, const kb_parallel *parallel);
/* c (m x n) = the transpose of a (k x m) times b (k x n). */
void kbi_matrix_transposed_times(const kbi_blas *blas, const float *a, const float *b, float *c, int32_t m, int32_t n,
                                 int32_t k, const kb_parallel *parallel);

#endif
