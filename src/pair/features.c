/* Keypoints and descriptors in one call. The detector's pyramid and the sampler's have different levels, so what the two
 * steps share is the 8-bit image: 16-bit pixels are converted once. */
#include "common/structs.h"
#include "image/image.h"

static kb_status describe_found(const kb_model *model, const kb_image *gray, kb_detector detector,
                                const kb_describe_options *given, const kb_keypoint *keypoints, size_t n,
                                kb_workspace *workspace, uint8_t *rows, uint8_t *flags)
{
    kb_describe_options o;
    kb_status status = KBI_STRUCT_READ(kb_describe_options, &o, given);
    if (status != KB_OK) return status;
    o.struct_size = sizeof o;
    if (o.scale == 0) o.scale = kb_model_scale(model, kb_detector_name(detector));
    return kb_describe(model, gray, keypoints, n, &o, workspace, rows, flags);
}

kb_status kb_detect_and_describe(const kb_model *model, const kb_image *image, const kb_detect_options *detect,
                                 const kb_describe_options *describe, kb_workspace *workspace, kb_keypoint *keypoints,
                                 size_t capacity, uint8_t *rows, uint8_t *flags, size_t *count, kb_error *error)
{
    kb_detect_options d;
    kb_image gray;
    kbi_error_clear(error);
    if (!model || !count || (capacity > 0 && (!keypoints || !rows))) return kbi_fail_status(error, KB_E_ARGUMENT);
    *count = 0;
    kb_status status = kbi_image_check(image);
    if (status == KB_OK) status = KBI_STRUCT_READ(kb_detect_options, &d, detect);
    if (status != KB_OK) return kbi_fail_status(error, status);
    kb_workspace local, *ws = kbi_workspace_or(workspace, &local);
    size_t mark = kbi_workspace_mark(ws), found = 0;
    status = kbi_gray8(image, ws, &gray);
    if (status == KB_OK) status = kb_detect(&gray, detect, ws, keypoints, capacity, &found, error);
    if (status == KB_OK)
        status = describe_found(model, &gray, d.detector ? d.detector : kb_detector_default(), describe, keypoints,
                                found, ws, rows, flags);
    if (status == KB_OK) *count = found;
    kbi_workspace_rewind(ws, mark);
    kbi_workspace_release(&local);
    if (status != KB_OK && error && !error->text[0]) return kbi_fail_status(error, status);
    return status;
}
