/* SPDX-License-Identifier: Apache-2.0 */
/* What matching tells other modules: the workspace of its calls (kbi_workspace_measure). */
#ifndef KBI_MATCH_H
#define KBI_MATCH_H

#include "common/common.h"

/* Of na rows against nb rows of up to row_bytes each, by any distance. */
kb_status kbi_match_measure(size_t na, size_t nb, size_t row_bytes, int32_t threads, kb_workspace *workspace);
/* Of filtering n matches. */
/* image: of the size that the options have; NULL: none */
kb_status kbi_stereo_measure(size_t na, size_t nb, size_t row_bytes, const kb_image *image, const kb_parallel *parallel,
                             kb_workspace *workspace);
kb_status kbi_guided_measure(size_t na, size_t nb, size_t row_bytes, kb_workspace *workspace);
kb_status kbi_filter_measure(size_t n, kb_workspace *workspace);
/* Of refining matches of two images of that size. */
kb_status kbi_refine_measure(const kb_image *image, kb_workspace *workspace);

#endif
