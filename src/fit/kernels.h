/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of this module; image/kernels.h states the contract. */
#ifndef KBI_FIT_KERNELS_H
#define KBI_FIT_KERNELS_H

#include "fit/fit.h"

/* Sums over the listed pairs, added up in the order of the list (homography.c): p p^T with the weights 1, u, v and u^2
 * + v^2, as the six different products of p = (x, y, 1), and the gradient by the three rows of H. */
typedef struct kbi_transfer_sums {
    double one[6], u[6], v[6], uv[6], gradient[9];
} kbi_transfer_sums;

typedef struct kbi_fit_kernels {
    void (*transfer_sums)(const double *h, const fit_pairs *pairs, const fit_list *list, kbi_transfer_sums *out);
} kbi_fit_kernels;

/* SLOT(module, slot) for every slot. */
#define KBI_FIT_KERNEL_SLOTS(SLOT) SLOT(fit, transfer_sums)

/* Plain C. */
extern const kbi_fit_kernels kbi_fit_kernels_c;
/* The best variants for this CPU; implemented in src/simd. */
const kbi_fit_kernels *kbi_fit_kernels_get(void);

#endif
