/* SPDX-License-Identifier: Apache-2.0 */
/* JPEG through libjpeg. A file of gray or YCbCr, which is nearly every file, gives its Y as gray, exactly as OpenCV's
 * imread does when it is asked for gray. A picture that libjpeg could only guess the rest of is a failure. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

#include "io/codecs.h"

typedef struct jpeg_failure {
    struct jpeg_error_mgr manager; /* first, so that a pointer to it is a pointer to all */
    jmp_buf back;
    char text[JMSG_LENGTH_MAX];
} jpeg_failure;

static void on_error(j_common_ptr info)
{
    jpeg_failure *failure = (jpeg_failure *)(void *)info->err;
    if (info->err->msg_code == JERR_OUT_OF_MEMORY) io_out_of_memory();
    info->err->format_message(info, failure->text);
    longjmp(failure->back, 1);
}

/* A scan of a progressive file works on the whole picture and takes as little as ten bytes, so that a small file could
 * keep a decoder busy for hours. Files that are meant have some ten scans. */
#define MAX_SCANS 100

static void on_progress(j_common_ptr info)
{
    jpeg_failure *failure = (jpeg_failure *)(void *)info->err;
    if (((j_decompress_ptr)info)->input_scan_number <= MAX_SCANS) return;
    snprintf(failure->text, sizeof failure->text, "more than %d scans", MAX_SCANS);
    longjmp(failure->back, 1);
}

/* Warnings after which part of the picture is made up; the others are about harmless oddities. */
static bool is_damage(int code)
{
    return code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE || code == JWRN_MUST_RESYNC ||
           code == JWRN_ARITH_BAD_CODE;
}

static void on_message(j_common_ptr info, int level)
{
    if (level < 0 && is_damage(info->err->msg_code)) on_error(info);
}

/* CMYK as Adobe writes it has 0 for full ink. */
static void cmyk_to_rgb(const uint8_t *from, int32_t width, bool inverted, uint8_t *to)
{
    for (int32_t x = 0; x < width; x++, from += 4, to += 3) {
        uint32_t k = inverted ? from[3] : 255u - from[3];
        for (int c = 0; c < 3; c++) {
            uint32_t light = inverted ? from[c] : 255u - from[c];
            to[c] = (uint8_t)((light * k + 127) / 255);
        }
    }
}

static int32_t find_orientation(const struct jpeg_decompress_struct *info)
{
    for (jpeg_saved_marker_ptr marker = info->marker_list; marker; marker = marker->next) {
        if (marker->marker == JPEG_APP0 + 1 && marker->data_length > 6 && memcmp(marker->data, "Exif\0\0", 6) == 0) {
            return io_exif_orientation(marker->data + 6, marker->data_length - 6);
        }
    }
    return 1;
}

static void choose_output(struct jpeg_decompress_struct *info, bool colour, bool both)
{
    switch (info->jpeg_color_space) {
    case JCS_GRAYSCALE: info->out_color_space = JCS_GRAYSCALE; break;
    case JCS_YCbCr: info->out_color_space = both ? JCS_YCbCr : colour ? JCS_RGB : JCS_GRAYSCALE; break;
    case JCS_CMYK:
    case JCS_YCCK: info->out_color_space = JCS_CMYK; break;
    default: info->out_color_space = JCS_RGB; break;
    }
}

/* libjpeg gives eighths of the size for a fraction of the time: the fewest that suffice. */
static void choose_fraction(struct jpeg_decompress_struct *info, int32_t max_size)
{
    uint32_t longer = info->image_width > info->image_height ? info->image_width : info->image_height;
    info->scale_denom = 8;
    info->scale_num = 8;
    while (max_size > 0 && info->scale_num > 1 && (uint64_t)longer * (info->scale_num - 1) >= 8 * (uint64_t)max_size)
        info->scale_num--;
    jpeg_calc_output_dimensions(info);
}

static void read_rows(struct jpeg_decompress_struct *info, const io_raster *raster, uint8_t *cmyk_row)
{
    while (info->output_scanline < info->output_height) {
        uint8_t *row = io_raster_row(raster, (int32_t)info->output_scanline);
        JSAMPROW target = cmyk_row ? cmyk_row : row;
        jpeg_read_scanlines(info, &target, 1);
        if (cmyk_row) cmyk_to_rgb(cmyk_row, raster->width, info->saw_Adobe_marker, row);
    }
}

bool io_decode_jpeg(const io_source *source, bool colour, io_raster *raster, io_error *error)
{
    struct jpeg_decompress_struct info;
    jpeg_failure failure;
    struct jpeg_progress_mgr progress = {.progress_monitor = on_progress};
    uint8_t *volatile cmyk_row = NULL;

    info.err = jpeg_std_error(&failure.manager);
    failure.manager.error_exit = on_error;
    failure.manager.emit_message = on_message;
    if (setjmp(failure.back)) {
        jpeg_destroy_decompress(&info);
        free(cmyk_row);
        return io_fail(error, "%s: damaged or truncated JPEG: %s", source->name, failure.text);
    }
    jpeg_create_decompress(&info);
    info.progress = &progress;
    jpeg_mem_src(&info, source->data, (unsigned long)source->size);
    jpeg_save_markers(&info, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(&info, TRUE);
    choose_output(&info, colour, source->both);
    int32_t channels = info.out_color_space == JCS_GRAYSCALE ? 1 : 3;
    choose_fraction(&info, source->max_size);
    bool ok = io_source_accepts(source, info.image_width, info.image_height, error) &&
              io_raster_create(raster, source, info.output_width, info.output_height, channels, 1, error);
    if (ok) {
        double step = 8.0 / info.scale_num;
        raster->file = (io_grid){(int32_t)info.image_width, (int32_t)info.image_height, step, step, 0, 0};
        raster->orientation = find_orientation(&info);
        raster->ycc = info.out_color_space == JCS_YCbCr;
        if (info.out_color_space == JCS_CMYK) cmyk_row = io_alloc(info.output_width, 4);
        jpeg_start_decompress(&info);
        read_rows(&info, raster, cmyk_row);
        jpeg_finish_decompress(&info);
    }
    jpeg_destroy_decompress(&info);
    free(cmyk_row);
    return ok;
}
