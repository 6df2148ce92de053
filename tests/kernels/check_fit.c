/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of src/fit against plain C. */
#include "check.h"

static double random_between(double from, double to)
{
    return from + (to - from) * (below(1u << 30) / (double)(1u << 30));
}

static double *random_doubles(size_t n, double from, double to)
{
    double *values = (double *)(void *)guarded(n * sizeof *values);
    for (size_t i = 0; i < n; i++) values[i] = random_between(from, to);
    return values;
}

/* Lists of any length and order, in which pairs may be missing, weights of 0 among them. */
void check_transfer_sums(const kbi_kernels *c, const kbi_kernels *t)
{
    for (uint32_t i = 0; i < 200; i++) {
        int32_t n = 1 + (int32_t)below(i < 100 ? 9 : 90), listed = (int32_t)below((uint32_t)n + 1);
        double h[9];
        fit_pairs pairs = {.n = n,
                           .x1 = random_doubles((size_t)n, -2, 2),
                           .y1 = random_doubles((size_t)n, -2, 2),
                           .x2 = random_doubles((size_t)n, -2, 2),
                           .y2 = random_doubles((size_t)n, -2, 2)};
        fit_list list = {listed, (int32_t *)(void *)guarded((size_t)listed * sizeof(int32_t)),
                         random_doubles((size_t)listed, 0, 1)};
        for (int32_t k = 0; k < 9; k++) h[k] = random_between(-0.2, 0.2) + (k % 4 == 0 ? 1 : 0);
        for (int32_t k = 0; k < listed; k++) {
            list.slot[k] = (int32_t)below((uint32_t)n);
            if (below(8) == 0) list.weight[k] = 0;
        }
        kbi_transfer_sums expected, found;
        c->fit->transfer_sums(h, &pairs, &list, &expected);
        t->fit->transfer_sums(h, &pairs, &list, &found);
        same("transfer_sums", &expected, &found, sizeof expected);
        guard_reset();
    }
}
