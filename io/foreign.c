/* SPDX-License-Identifier: Apache-2.0 */
/* Files that people hand to the program and that it does not read: named by their first bytes, with a hint. */
#include <string.h>

#include "io/codecs.h"

#define FRAMES_HINT "(ffmpeg -i VIDEO frame_%06d.png)"

bool io_source_is_heif(const io_source *s)
{
    static const char *const brands[] = {"heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1"};
    for (size_t i = 0; i < sizeof brands / sizeof *brands; i++)
        if (io_source_has(s, 4, "ftyp", 4) && io_source_has(s, 8, brands[i], 4)) return true;
    return false;
}

/* ISO media files: a box "ftyp" with a brand, or one of the boxes that old QuickTime files begin with. */
static const char *iso_media(const io_source *s)
{
    if (io_source_is_heif(s)) {
#ifdef KB_HAVE_HEIF
        return NULL;
#else
        return "a HEIC image, which this build does not read; convert it to PNG or JPEG first (heif-convert, or the "
               "phone's export)";
#endif
    }
    if (io_source_has(s, 4, "ftypavif", 8) || io_source_has(s, 4, "ftypavis", 8))
        return "an AVIF image, which is not read; convert it to PNG or JPEG first";
    if (io_source_has(s, 4, "ftypqt  ", 8) || io_source_has(s, 4, "moov", 4) || io_source_has(s, 4, "mdat", 4) ||
        io_source_has(s, 4, "wide", 4))
        return "a QuickTime video, not an image; take frames out of it first " FRAMES_HINT;
    if (io_source_has(s, 4, "ftyp", 4))
        return "an MP4 video, not an image; take frames out of it first " FRAMES_HINT;
    return NULL;
}

static bool holds(const io_source *s, size_t within, const char *word, size_t length)
{
    for (size_t i = 0; i < within; i++)
        if (io_source_has(s, i, word, length)) return true;
    return false;
}

static const char *matroska(const io_source *s)
{
    if (!io_source_has(s, 0, "\x1a\x45\xdf\xa3", 4)) return NULL;
    return holds(s, 64, "webm", 4)
               ? "a WebM video, not an image; take frames out of it first " FRAMES_HINT
               : "a Matroska video, not an image; take frames out of it first " FRAMES_HINT;
}

static const char *riff(const io_source *s)
{
    if (!io_source_has(s, 0, "RIFF", 4)) return NULL;
    if (io_source_has(s, 8, "AVI ", 4))
        return "an AVI video, not an image; take frames out of it first " FRAMES_HINT;
    if (!io_source_has(s, 8, "WEBP", 4)) return NULL;
    bool animated = io_source_has(s, 12, "VP8X", 4) && s->size > 20 && (s->data[20] & 2);
    if (animated) return "an animated WebP, which is not read; take its frames out first";
#ifndef KB_HAVE_WEBP
    return "a WebP image, which this build was made without; convert it to PNG or JPEG first";
#endif
    return NULL;
}

const char *io_foreign_format(const io_source *s)
{
    const char *media = iso_media(s);
    if (!media) media = riff(s);
    if (!media) media = matroska(s);
    if (media) return media;
    if (io_source_has(s, 0, "GIF87a", 6) || io_source_has(s, 0, "GIF89a", 6))
        return "a GIF, which is not read; convert it to PNG first";
    if (io_source_has(s, 0, "\0\0\0\x0cjP  ", 8))
        return "a JPEG 2000 image, which is not read; convert it to PNG first";
    if (io_source_has(s, 0, "\xff\x0a", 2) || io_source_has(s, 0, "\0\0\0\x0cJXL ", 8))
        return "a JPEG XL image, which is not read; convert it to PNG or JPEG first";
    if (io_source_has(s, 0, "YUV4MPEG2", 9)) return "a Y4M video, not an image; keybits track reads it";
    if (io_source_has(s, 0, "%PDF", 4)) return "a PDF, not an image; convert its pages to PNG first";
#ifndef KB_HAVE_TIFF
    if (io_source_has(s, 0, "II*\0", 4) || io_source_has(s, 0, "MM\0*", 4))
        return "a TIFF image, which this build was made without; convert it to PNG first";
#endif
    return NULL;
}
