/* Products of float matrices, row major, through OpenBLAS where the build has it.
 *
 * A product is cut into blocks of rows of its result, each one call on one thread of BLAS, and the blocks do not depend
 * on the number of threads: so a result is the same for any number of them, on one machine. Another CPU may get another
 * kernel of BLAS, which sums in another order and differs in the last digits. */
#ifndef KBI_MATRIX_H
#define KBI_MATRIX_H

#include "keybits/keybits.h"

/* To be called once before the first product, not while products run: BLAS starts no threads of its own. */
void kbi_matrix_prepare(void);
/* c (m x n) = a (m x k) times the transpose of b (n x k). */
void kbi_matrix_times_transposed(const float *a, const float *b, float *c, int32_t m, int32_t n, int32_t k,
                                const kb_parallel *parallel);
/* c (m x n) = the transpose of a (k x m) times b (k x n). */
void kbi_matrix_transposed_times(const float *a, const float *b, float *c, int32_t m, int32_t n, int32_t k,
                                const kb_parallel *parallel);

#endif
