/* The public call: options in, report out. */
#include <math.h>

#include "fit/fit.h"

static bool read_options(const kb_fit_options *given, kb_fit_options *o)
{
    if (!KBI_OPTIONS_READ(*o, given)) return false;
    if (o->geometry == 0) o->geometry = KB_HOMOGRAPHY;
    if (o->threshold == 0) o->threshold = 3;
    if (o->confidence == 0) o->confidence = 0.995;
    /* PROSAC has met the homographies it can find long before; a sample of seven takes longer. */
    if (o->max_iterations == 0) o->max_iterations = o->geometry == KB_HOMOGRAPHY && !o->plain_ransac ? 2000 : 10000;
    if (o->geometry != KB_HOMOGRAPHY && o->geometry != KB_FUNDAMENTAL) return false;
    if (!(o->threshold > 0 && o->threshold <= 1e9)) return false;
    return o->confidence > 0 && o->confidence < 1 && o->max_iterations > 0;
}

/* ---- the report ---- */

/* The normalised model back in pixels: H = T2^-1 H' T1, F = T2^T F' T1. False when coordinates are so large that it
 * cannot be written down. */
static bool to_pixels(kb_geometry geometry, const fit_pairs *pairs, const double *model, double *out)
{
    const fit_frame *a = &pairs->frame1, *b = &pairs->frame2;
    const double t1[9] = {a->scale, 0, -a->scale * a->x, 0, a->scale, -a->scale * a->y, 0, 0, 1};
    const double back[9] = {1 / b->scale, 0, b->x, 0, 1 / b->scale, b->y, 0, 0, 1};
    const double transposed[9] = {b->scale, 0, 0, 0, b->scale, 0, -b->scale * b->x, -b->scale * b->y, 1};
    double right[9], norm = 0;
    kbi_fit_multiply3(model, t1, right);
    kbi_fit_multiply3(geometry == KB_HOMOGRAPHY ? back : transposed, right, out);
    for (int32_t i = 0; i < 9; i++) norm += out[i] * out[i];
    norm = sqrt(norm);
    if (geometry == KB_HOMOGRAPHY && fabs(out[8]) > 1e-9 * norm) norm = out[8];
    bool finite = true;
    for (int32_t i = 0; i < 9; i++) {
        out[i] /= norm;
        finite = finite && isfinite(out[i]);
    }
    return finite;
}

static void fill_report(const kb_fit_options *o, const fit_pairs *pairs, const fit_scratch *scratch,
                        const fit_found *found, uint8_t *inliers, kb_fit_report *report)
{
    double sum = 0;
    if (!to_pixels(o->geometry, pairs, found->model, report->model)) {
        memset(report->model, 0, sizeof report->model);
        report->result = KB_FIT_NOT_FOUND;
        return;
    }
    for (int32_t k = 0; k < found->score.count; k++) {
        int32_t s = scratch->list.slot[k];
        sum += scratch->error2[s];
        if (inliers) inliers[pairs->origin[s]] = 1;
    }
    report->result = KB_FIT_FOUND;
    report->inliers = found->score.count;
    report->rms = sqrt(sum / found->score.count) / pairs->frame2.scale;
}

static bool allocate(kb_workspace *workspace, size_t n, fit_scratch *scratch)
{
    double *d = kbi_workspace_get(workspace, n * (6 * sizeof(double) + 2 * sizeof(int32_t)));
    if (!d) return false;
    memset(scratch, 0, sizeof *scratch);
    scratch->error2 = d;
    scratch->part.x1 = d + n, scratch->part.y1 = d + 2 * n, scratch->part.x2 = d + 3 * n, scratch->part.y2 = d + 4 * n;
    scratch->list.weight = d + 5 * n;
    scratch->list.slot = (int32_t *)(d + 6 * n);
    scratch->part.slot = scratch->list.slot + n;
    return true;
}

/* The slots of the inliers into scratch->list.slot; their errors are in scratch->error2. */
static void list_inliers(const fit_kind *kind, const fit_pairs *pairs, const fit_scratch *scratch, fit_found *found)
{
    int32_t n = 0;
    found->score = kbi_fit_score(kind, pairs, found->model, scratch);
    for (int32_t s = 0; s < pairs->n; s++) {
        scratch->list.slot[n] = s;
        n += scratch->error2[s] <= pairs->threshold2;
    }
}

static kb_fit_result fit(const kb_fit_options *o, const fit_kind *kind, const fit_pairs *pairs,
                         const fit_scratch *scratch, fit_found *found)
{
    fit_limits limits = {o->confidence, o->max_iterations, o->seed, !o->plain_ransac};
    kbi_fit_search(kind, pairs, &limits, scratch, found);
    if (found->score.count < kind->sample) return KB_FIT_NOT_FOUND;
    kbi_fit_refine(kind, pairs, scratch, found);
    list_inliers(kind, pairs, scratch, found);
    if (!kbi_fit_significant(kind, pairs, scratch, found->score.count)) return KB_FIT_NOT_FOUND;
    if (o->geometry == KB_HOMOGRAPHY) {
        return kbi_fit_off_line(pairs, scratch->list.slot, found->score.count) ? KB_FIT_FOUND : KB_FIT_DEGENERATE;
    }
    if (!kbi_fit_off_plane(pairs, &limits, scratch, found)) return KB_FIT_DEGENERATE;
    list_inliers(kind, pairs, scratch, found);
    return KB_FIT_FOUND;
}

kb_status kb_fit(const kb_pair *pairs, size_t n, const kb_fit_options *options, kb_workspace *workspace,
                 uint8_t *inliers, kb_fit_report *report)
{
    kb_fit_options o;
    if (!report || (n && !pairs) || n > INT32_MAX / 4 || !read_options(options, &o)) return KB_E_ARGUMENT;
    memset(report, 0, sizeof *report);
    if (inliers && n) memset(inliers, 0, n);

    const fit_kind *kind = o.geometry == KB_HOMOGRAPHY ? &kbi_fit_homography : &kbi_fit_fundamental;
    kb_workspace local, *ws = kbi_workspace_or(workspace, &local);
    size_t mark = kbi_workspace_mark(ws);
    fit_pairs prepared;
    fit_scratch scratch;
    kb_status status = kbi_fit_prepare(pairs, (int32_t)n, &o, kind, ws, &prepared, &report->result);
    if (!status && report->result == KB_FIT_FOUND) {
        if (allocate(ws, (size_t)prepared.n, &scratch)) {
            fit_found found;
            report->result = fit(&o, kind, &prepared, &scratch, &found);
            report->iterations = found.iterations;
            if (report->result == KB_FIT_FOUND) fill_report(&o, &prepared, &scratch, &found, inliers, report);
        } else {
            status = KB_E_MEMORY;
        }
    }
    kbi_workspace_rewind(ws, mark);
    kbi_workspace_release(&local);
    return status;
}

const char *kb_fit_result_name(kb_fit_result result)
{
    switch (result) {
    case KB_FIT_FOUND: return "found";
    case KB_FIT_TOO_FEW: return "too few pairs";
    case KB_FIT_DEGENERATE: return "degenerate";
    case KB_FIT_NOT_FOUND: return "not found";
    }
    return "?";
}
