/* SPDX-License-Identifier: Apache-2.0 */
/* HEIC, what phones write, through libheif, where the build has it. It turns the picture as the file says, which is
 * part of this format. */
#include "io/codecs.h"

#ifdef KB_HAVE_HEIF
#include <libheif/heif.h>
#include <string.h>

static bool copy_rows(const struct heif_image *image, const io_raster *raster)
{
    int stride = 0;
    const uint8_t *plane = heif_image_get_plane_readonly(image, heif_channel_interleaved, &stride);
    size_t row = (size_t)raster->width * 3;
    if (!plane || stride < 0 || (size_t)stride < row) return false;
    for (int32_t y = 0; y < raster->height; y++)
        memcpy(io_raster_row(raster, y), plane + (size_t)y * (size_t)stride, row);
    return true;
}

static bool decode_handle(const io_source *source, const struct heif_image_handle *handle, io_raster *raster,
                          io_error *error)
{
    struct heif_image *image = NULL;
    int width = heif_image_handle_get_width(handle), height = heif_image_handle_get_height(handle);
    if (!io_raster_create(raster, source, width, height, 3, 1, error)) return false;
    struct heif_error why = heif_decode_image(handle, &image, heif_colorspace_RGB, heif_chroma_interleaved_RGB, NULL);
    bool ok = why.code == heif_error_Ok && heif_image_get_width(image, heif_channel_interleaved) == width &&
              heif_image_get_height(image, heif_channel_interleaved) == height && copy_rows(image, raster);
    if (image) heif_image_release(image);
    return ok || io_fail(error, "%s: damaged HEIC, or one that libheif cannot decode: %s", source->name,
                         why.code == heif_error_Ok ? "its size" : why.message);
}

bool io_decode_heif(const io_source *source, bool colour, io_raster *raster, io_error *error)
{
    struct heif_context *context = heif_context_alloc();
    struct heif_image_handle *handle = NULL;
    (void)colour;
    if (!context) io_out_of_memory();
    struct heif_error why = heif_context_read_from_memory_without_copy(context, source->data, source->size, NULL);
    if (why.code == heif_error_Ok) why = heif_context_get_primary_image_handle(context, &handle);
    bool ok = why.code == heif_error_Ok
                  ? decode_handle(source, handle, raster, error)
                  : io_fail(error, "%s: damaged or truncated HEIC: %s", source->name, why.message);
    if (handle) heif_image_handle_release(handle);
    heif_context_free(context);
    return ok;
}
#else
typedef int io_heif_is_left_out; /* a file of C may not be empty */
#endif
