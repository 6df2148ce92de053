/* SPDX-License-Identifier: Apache-2.0 */
/* HEIC, what phones write, through libheif, where the build has its header. It turns the picture as the file says,
 * which is part of this format. The library is loaded for the first such file: a codec that it brings takes
 * milliseconds to start, for which every command would wait. */
#include "io/codecs.h"

#ifdef KB_HAVE_HEIF
#include <dlfcn.h>
#include <libheif/heif.h>
#include <pthread.h>
#include <string.h>

#define FUNCTIONS(DO) \
    DO(context_alloc) DO(context_free) DO(context_read_from_memory_without_copy) DO(context_get_primary_image_handle) \
    DO(image_handle_get_width) DO(image_handle_get_height) DO(image_handle_release) DO(decode_image) \
    DO(image_get_width) DO(image_get_height) DO(image_get_plane_readonly) DO(image_release)

static struct {
#define DECLARE(name) __typeof__(heif_##name) *name;
    FUNCTIONS(DECLARE)
} heif;
static io_error reason; /* why the library is not loaded */
static bool loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol); /* ISO C has no conversion between these two kinds of pointers */
    return symbol || io_fail(&reason, "%s", dlerror());
}

static void load(void)
{
    void *library = dlopen(KB_HEIF_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) io_fail(&reason, "%s", dlerror());
#define FIND(name) && find(library, "heif_" #name, &heif.name)
    loaded = library FUNCTIONS(FIND);
}

static bool copy_rows(const struct heif_image *image, const io_raster *raster)
{
    int stride = 0;
    const uint8_t *plane = heif.image_get_plane_readonly(image, heif_channel_interleaved, &stride);
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
    int width = heif.image_handle_get_width(handle), height = heif.image_handle_get_height(handle);
    if (!io_raster_create(raster, source, width, height, 3, 1, error)) return false;
    struct heif_error why = heif.decode_image(handle, &image, heif_colorspace_RGB, heif_chroma_interleaved_RGB, NULL);
    bool ok = why.code == heif_error_Ok && heif.image_get_width(image, heif_channel_interleaved) == width &&
              heif.image_get_height(image, heif_channel_interleaved) == height && copy_rows(image, raster);
    if (image) heif.image_release(image);
    return ok || io_fail(error, "%s: damaged HEIC, or one that libheif cannot decode: %s", source->name,
                         why.code == heif_error_Ok ? "its size" : why.message);
}

bool io_decode_heif(const io_source *source, bool colour, io_raster *raster, io_error *error)
{
    (void)colour;
    pthread_once(&once, load);
    if (!loaded)
        return io_fail(error, "%s: a HEIC image, which needs libheif (Debian: apt-get install libheif1): %s",
                       source->name, reason.text);
    struct heif_context *context = heif.context_alloc();
    struct heif_image_handle *handle = NULL;
    if (!context) io_out_of_memory();
    struct heif_error why = heif.context_read_from_memory_without_copy(context, source->data, source->size, NULL);
    if (why.code == heif_error_Ok) why = heif.context_get_primary_image_handle(context, &handle);
    bool ok = why.code == heif_error_Ok
                  ? decode_handle(source, handle, raster, error)
                  : io_fail(error, "%s: damaged or truncated HEIC: %s", source->name, why.message);
    if (handle) heif.image_handle_release(handle);
    heif.context_free(context);
    return ok;
}
#else
typedef int io_heif_is_left_out; /* a file of C may not be empty */
#endif
