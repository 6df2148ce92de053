/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per image, file or model. */
/* How much workspace the calls of indexes and loop detectors take: as src/pair/reserve.c, for the modules above it. */
#include "common/options.h"
#include "index/index.h"

static kb_status limits_read(kb_index_limits *l, const kb_index_limits *given, kb_error *error)
{
    if (!given) return kbi_fail(error, KB_E_ARGUMENT, "limits: a pointer is NULL");
    if (KBI_STRUCT_READ(kb_index_limits, l, given) != KB_OK) return kbi_fail_struct(error);
    if (l->images > UINT32_MAX)
        return kbi_fail_at(error, KB_E_ARGUMENT, "images", -1, "an index has no %zu images", l->images);
    if (l->rows > INT32_MAX / KB_MAX_PROBES)
        return kbi_fail_at(error, KB_E_ARGUMENT, "rows", -1, "%zu rows, but at most %d are possible", l->rows,
                           INT32_MAX / KB_MAX_PROBES);
    if (l->row_bytes > KB_MAX_BITS / 8)
        return kbi_fail_at(error, KB_E_ARGUMENT, "row_bytes", -1, "rows of %zu bytes, but at most %d are possible",
                           l->row_bytes, KB_MAX_BITS / 8);
    if (l->row_bytes == 0) l->row_bytes = KB_MAX_BITS / 8;
    return KB_OK;
}

static kb_status measure(const kb_index_limits *given, size_t *payload, kb_error *error)
{
    kb_index_limits l = {.struct_size = 0};
    kb_index_query_options query;
    kb_loop_options loop;
    kb_workspace workspace;
    kb_status status = limits_read(&l, given, error);
    if (status == KB_OK) status = kbi_index_query_read(&query, l.query, error);
    if (status == KB_OK) status = kbi_loop_read(&loop, l.loop, error);
    if (status != KB_OK) return status;
    kbi_workspace_measure(&workspace);
    status = kbi_bag_measure(l.rows, l.row_bytes, true, 1, &workspace); /* kb_index_add */
    kbi_workspace_rewind(&workspace, 0);
    if (status == KB_OK) status = kbi_index_query_measure(&l, &query, l.results, &workspace);
    if (status == KB_OK && l.loop) status = kbi_loop_measure(&l, &loop, &workspace);
    if (status == KB_OK && l.pair) status = kbi_pair_verify_measure(l.rows, l.row_bytes, true, &workspace);
    *payload = workspace.peak;
    return status == KB_OK ? KB_OK : kbi_fail_status(error, status);
}

kb_status kb_index_reserve(kb_workspace *workspace, const kb_index_limits *limits, size_t *bytes, kb_error *error)
{
    size_t payload = 0;
    kbi_error_clear(error);
    if (bytes) *bytes = 0;
    kb_status status = measure(limits, &payload, error);
    return status == KB_OK ? kbi_workspace_reserve(workspace, payload, bytes, error) : status;
}
