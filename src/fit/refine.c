/* SPDX-License-Identifier: Apache-2.0 */
/* The optimum of the robust sum by iteratively reweighted least squares, with the damping of Levenberg and Marquardt,
 * in the entries of the model.
 *
 * A model has more entries than degrees of freedom. The directions in which it must not move (kind->gauge) are taken
 * out of the equations: with P the projection onto the rest, P J^T J P + (weight) x (I - P) is positive definite and
 * the step lies in the rest. */
#include <math.h>

#include "fit/fit.h"

/* What is left to gain, as a share of the cost, when refinement ends. The error that noise leaves in a model of 8
 * freedoms through n pairs costs about 8 / n. */
#define ENOUGH 1e-6

static void project_vector(double *v, const double *direction, int32_t n)
{
    double along = 0;
    for (int32_t i = 0; i < n; i++) along += v[i] * direction[i];
    for (int32_t i = 0; i < n; i++) v[i] -= along * direction[i];
}

/* m becomes P m P + weight d d^T, P = I - d d^T. */
static void project_matrix(double *m, const double *d, int32_t n, double weight)
{
    for (int32_t i = 0; i < n; i++) project_vector(m + n * i, d, n);
    for (int32_t j = 0; j < n; j++) {
        double along = 0;
        for (int32_t i = 0; i < n; i++) along += m[n * i + j] * d[i];
        for (int32_t i = 0; i < n; i++) m[n * i + j] -= along * d[i];
    }
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j < n; j++) m[n * i + j] += weight * d[i] * d[j];
}

bool kbi_fit_step(const fit_kind *kind, const fit_normal *around, double damping, double *model)
{
    double matrix[FIT_MODEL * FIT_MODEL], gradient[FIT_MODEL], step[FIT_MODEL], directions[FIT_GAUGE][FIT_MODEL];
    double trace = 0;
    int32_t n = kind->size;
    memcpy(matrix, around->matrix, sizeof matrix);
    memcpy(gradient, around->gradient, sizeof gradient);
    for (int32_t i = 0; i < n; i++) {
        trace += matrix[(n + 1) * i];
        matrix[(n + 1) * i] *= 1 + damping;
    }
    int32_t fixed = kind->gauge(model, directions);
    for (int32_t k = 0; k < fixed; k++) {
        project_matrix(matrix, directions[k], n, trace);
        project_vector(gradient, directions[k], n);
    }
    if (!kbi_fit_solve(matrix, gradient, n, step)) return false;
    for (int32_t i = 0; i < n; i++) model[i] -= step[i];
    return kind->retract(model);
}

/* Reweighted least squares: every step solves for the weights of the model before it, and is accepted when the cost
 * falls; one that makes things worse is taken again, shorter. Near the optimum every gain is the same share of the one
 * before, so that two of them tell what all that follow would add up to. */
void kbi_fit_refine(const fit_kind *kind, const fit_pairs *pairs, const fit_scratch *scratch, fit_found *found)
{
    fit_normal here;
    double damping = 0, before = 0;
    bool moved = true;
    if (!found->measured) {
        if (!kind->retract(found->model)) return;
        found->score = kbi_fit_score(kind, pairs, found->model, scratch);
        found->measured = true;
    }
    for (int32_t i = 0; i < 30 && damping < 1; i++) {
        double next[FIT_MODEL];
        if (moved) { /* error2 belongs to the model */
            fit_list list = scratch->list;
            kbi_fit_list(pairs, scratch->error2, 0, pairs->n, FIT_CUTOFF2 * pairs->threshold2, &list);
            if (list.n <= kind->sample) return;
            kind->normal(found->model, pairs, &list, &here);
        }
        memcpy(next, found->model, sizeof next);
        fit_score score = {pairs->n, 0};
        if (kbi_fit_step(kind, &here, damping, next)) score = kbi_fit_score(kind, pairs, next, scratch);
        double gain = found->score.cost - score.cost;
        moved = gain > 0;
        found->measured = false;
        damping = moved ? damping / 10 : damping > 0 ? 10 * damping : 1e-4;
        if (fabs(gain) <= 1e-12 * found->score.cost) return;
        if (!moved) continue;
        memcpy(found->model, next, sizeof next);
        found->score = score;
        found->measured = true;
        if (gain <= ENOUGH * score.cost || gain * gain <= ENOUGH * score.cost * (before - gain)) return;
        before = gain;
    }
}
