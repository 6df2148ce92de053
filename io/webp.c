/* SPDX-License-Identifier: Apache-2.0 */
/* WebP through libwebp, where the build has it. */
#include "io/codecs.h"

#ifdef KB_HAVE_WEBP
#include <webp/decode.h>

bool io_decode_webp(const io_source *source, bool colour, io_raster *raster, io_error *error)
{
    (void)colour;
    int width, height;
    if (!WebPGetInfo(source->data, source->size, &width, &height)) {
        return io_fail(error, "%s: damaged or truncated WebP header", source->name);
    }
    if (!io_raster_create(raster, source, width, height, 3, 1, error)) return false;
    size_t row = (size_t)width * 3;
    if (WebPDecodeRGBInto(source->data, source->size, raster->samples, row * (size_t)height, (int)row)) return true;
    return io_fail(error, "%s: damaged or truncated WebP", source->name);
}
#else
typedef int io_webp_is_left_out; /* a file of C may not be empty */
#endif
