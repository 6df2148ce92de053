/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per image, file or model. */
/* Keypoints and descriptors in one call. The detector's pyramid and the sampler's have different levels, so what the
 * two steps share is the 8-bit image: 16-bit pixels are converted once. */
#include "common/features.h"
#include "image/image.h"

kb_status kb_detect_and_describe(const kb_model *model, const kb_image *image, const kb_detect_options *detect,
                                 const kb_describe_options *describe, kb_workspace *workspace, kb_features *features,
                                 kb_error *error)
{
    kb_image gray;
    kbi_error_clear(error);
    if (!model) return kbi_fail(error, KB_E_ARGUMENT, "model: a pointer is NULL");
    kb_workspace local, *ws = kbi_workspace_or(workspace, &local);
    kb_status status = kbi_gray8(image, ws, &gray);
    if (status == KB_OK) status = kb_detect(&gray, detect, ws, features, error);
    if (status == KB_OK) status = kb_describe(model, &gray, describe, ws, features, error);
    return kbi_workspace_end(&local, status, "width, height, format", error);
}
