/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per call. */
#include "common/features.h"

#include <stdio.h>

static kb_status check_rows(kb_features *f, const char *name, kb_error *error)
{
    const size_t max = f->floats ? 4096 * sizeof(float) : 4096;
    if (f->floats != 0 && f->floats != 1)
        return kbi_fail_at(error, KB_E_ARGUMENT, "floats", -1, "%s.floats is %d, but must be 0 or 1", name,
                           (int)f->floats);
    if (f->row_bytes < 1 || f->row_bytes > max || (f->floats && f->row_bytes % sizeof(float)))
        return kbi_fail_at(error, KB_E_ARGUMENT, "row_bytes", -1, "%s.row_bytes is %zu, but must be %d to %zu%s", name,
                           f->row_bytes, f->floats ? 4 : 1, max, f->floats ? ", whole floats" : "");
    if (f->row_stride == 0) f->row_stride = f->row_bytes;
    if (f->row_stride < f->row_bytes || (f->floats && f->row_stride % sizeof(float)) ||
        (f->n && f->row_stride > PTRDIFF_MAX / f->n))
        return kbi_fail_at(error, KB_E_ARGUMENT, "row_stride", -1, "%s.row_stride is %zu for rows of %zu bytes", name,
                           f->row_stride, f->row_bytes);
    if (f->n && !f->rows) return kbi_fail_at(error, KB_E_ARGUMENT, "rows", -1, "%s.rows is NULL", name);
    return KB_OK;
}

kb_status kbi_features_read(kb_features *f, const kb_features *given, const char *name, uint32_t needs, size_t n_max,
                            kb_error *error)
{
    if (!given) return kbi_fail(error, KB_E_ARGUMENT, "%s: a pointer is NULL", name);
    if (KBI_STRUCT_READ(kb_features, f, given) != KB_OK) return kbi_fail_struct(error);
    f->struct_size = sizeof *f; /* which other calls read */
    if (f->n > n_max)
        return kbi_fail_at(error, KB_E_ARGUMENT, "n", -1, "%s.n is %zu, but must be at most %zu", name, f->n, n_max);
    if (f->width < 0 || f->height < 0)
        return kbi_fail_at(error, KB_E_ARGUMENT, "width", -1, "%s: an image of %d x %d", name, (int)f->width,
                           (int)f->height);
    if ((needs & KBI_KEYPOINTS) && f->n && !f->keypoints)
        return kbi_fail_at(error, KB_E_ARGUMENT, "keypoints", -1, "%s.keypoints is NULL", name);
    if (!(needs & KBI_ROWS)) return KB_OK;
    kb_status status = check_rows(f, name, error);
    if (status != KB_OK || (needs & KBI_PACKED_BITS) != KBI_PACKED_BITS) return status;
    if (f->floats) return kbi_fail_at(error, KB_E_KIND, "floats", -1, "%s has floats, but the call takes bits", name);
    if (f->row_stride == f->row_bytes) return KB_OK;
    return kbi_fail_at(error, KB_E_ARGUMENT, "row_stride", -1, "%s.row_stride is %zu, but the call takes rows of %zu "
                       "bytes without gaps", name, f->row_stride, f->row_bytes);
}

kb_status kbi_features_comparable(const kb_features *a, const kb_features *b, kb_error *error)
{
    if (a->floats != b->floats)
        return kbi_fail_at(error, KB_E_ARGUMENT, "floats", -1, "floats cannot be compared with bits");
    if (a->row_bytes != b->row_bytes)
        return kbi_fail_at(error, KB_E_MODEL, "row_bytes", -1, "rows of %zu and of %zu bytes cannot be compared",
                           a->row_bytes, b->row_bytes);
    if (!a->model_id || !b->model_id || a->model_id == b->model_id) return kbi_features_alike(a, "a", b, "b", error);
    return kbi_fail_at(error, KB_E_MODEL, "model_id", -1, "rows of the models %016llx and %016llx cannot be compared",
                       (unsigned long long)a->model_id, (unsigned long long)b->model_id);
}

/* "hessian 3, upright, up to 1000 px" */
static const char *origin_text(char text[80], const kb_features *f)
{
    const char *name = kbi_preset_of(f->detector);
    int at = snprintf(text, 80, "%s", name ? name : "a detector");
    if (f->revision) at += snprintf(text + at, 80 - (size_t)at, " %d", (int)f->revision);
    at += snprintf(text + at, 80 - (size_t)at, f->upright ? ", upright" : ", oriented");
    if (f->max_size) snprintf(text + at, 80 - (size_t)at, ", up to %d px", (int)f->max_size);
    return text;
}

kb_status kbi_features_alike(const kb_features *a, const char *name_a, const kb_features *b, const char *name_b,
                             kb_error *error)
{
    if (!a->detector || !b->detector) return KB_OK;
    const char *field = NULL;
    char text[2][80];
    if (a->max_size && b->max_size && a->max_size != b->max_size) field = "max_size";
    if (a->upright != b->upright) field = "upright";
    if (a->revision && b->revision && a->revision != b->revision) field = "revision";
    if (a->detector != b->detector) field = "detector";
    if (!field) return KB_OK;
    return kbi_fail_at(error, KB_E_MODEL, field, -1, "keypoints of %s (%s) cannot be mixed with keypoints of %s (%s)",
                       name_a, origin_text(text[0], a), name_b, origin_text(text[1], b));
}

kb_status kbi_matches_check(const kb_match *matches, size_t n, const kb_features *a, const kb_features *b,
                            kb_error *error)
{
    if (n && !matches) return kbi_fail(error, KB_E_ARGUMENT, "matches: a pointer is NULL");
    for (size_t i = 0; i < n; i++)
        if (matches[i].a < 0 || matches[i].b < 0 || (size_t)matches[i].a >= a->n || (size_t)matches[i].b >= b->n)
            return kbi_fail_at(error, KB_E_ARGUMENT, "matches", i > INT32_MAX ? -1 : (int32_t)i,
                               "match %zu is of keypoints %d and %d, but there are %zu and %zu", i, (int)matches[i].a,
                               (int)matches[i].b, a->n, b->n);
    return KB_OK;
}

kb_status kbi_features_scale(const kb_features *f, float *scale, kb_error *error)
{
    if (*scale == 0) *scale = kbi_preset_scale(kbi_preset_of(f->detector));
    if (*scale > 0 && *scale <= 100) return KB_OK;
    if (*scale == 0)
        return kbi_fail_at(error, KB_E_ARGUMENT, "scale", -1,
                           "scale is 0, and the detector of the features is unknown");
    return kbi_fail_at(error, KB_E_ARGUMENT, "scale", -1, "scale is %.7g, but must be above 0, up to 100",
                       (double)*scale);
}

void kbi_features_write(kb_features *destination, const kb_features *f)
{
    KBI_STRUCT_WRITE(kb_features, destination, f);
}
