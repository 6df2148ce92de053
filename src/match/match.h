/* SPDX-License-Identifier: Apache-2.0 */
/* What matching tells other modules: the workspace of its calls (kbi_workspace_measure). */
#ifndef KBI_MATCH_H
#define KBI_MATCH_H

#include "common/common.h"

/* Matching na rows with nb rows of up to row_bytes each, by any distance. */
kb_status kbi_match_measure(size_t na, size_t nb, size_t row_bytes, int32_t threads, kb_workspace *workspace);
/* Stereo matching, with an image of the size of both images; NULL: without images. */
kb_status kbi_stereo_measure(size_t na, size_t nb, size_t row_bytes, const kb_image *image, const kb_parallel *parallel,
                             kb_workspace *workspace);
/* Guided matching. */
kb_status kbi_guided_measure(size_t na, size_t nb, size_t row_bytes, kb_workspace *workspace);
/* Filtering n matches. */
kb_status kbi_filter_measure(size_t n, kb_workspace *workspace);
/* Refining matches of two images of this size. */
kb_status kbi_refine_measure(const kb_image *image, kb_workspace *workspace);

#endif
