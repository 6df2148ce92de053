/* SPDX-License-Identifier: Apache-2.0 */
/* Text and tables: keypoints, rows, arrays, JSON, tables of models, homographies, video. The first byte chooses. */
#include <stdlib.h>
#include <string.h>

#include "../arrays.h"
#include "fuzz.h"
#include "io/csv.h"
#include "io/json.h"
#include "io/model_table.h"
#include "io/npy.h"
#include "io/rows.h"
#include "io/y4m.h"

enum { KEYPOINTS, ARRAY, JSON, TABLE, VIDEO, READERS };

/* A refusal has words that fit on a line of their own. */
static void refused(const io_error *error)
{
    fuzz_expect(error->text[0] != 0 && memchr(error->text, 0, sizeof error->text) != NULL);
}

static void read_keypoints(const char *path, io_error *error)
{
    io_keypoints keypoints;
    if (!io_keypoints_read(path, &keypoints, error)) {
        refused(error);
        return;
    }
    const kb_image image = {"\7\200\30\40\120\220\1\377\66", 3, 3, 3, KB_FORMAT_GRAY8, 0};
    uint8_t *rows = malloc(keypoints.count * KB_SIFT_VALUES + 1);
    kb_model *model = NULL;
    fuzz_expect(kb_model_builtin("sift", NULL, &model) == KB_OK);
    fuzz_expect(describe_keypoints(model, &image, keypoints.items, keypoints.count, NULL, NULL, rows, NULL) == KB_OK);
    kb_model_free(model);
    free(rows);
    io_keypoints_free(&keypoints);
}

static void read_array(const char *path, io_error *error)
{
    io_array array;
    if (!io_npy_read(path, &array, error)) {
        refused(error);
        return;
    }
    size_t count = 1;
    for (int32_t i = 0; i < array.dimensions; i++) count *= array.shape[i];
    fuzz_expect(count == array.count);
    io_array_free(&array);
}

static void read_json(const uint8_t *data, size_t size, io_error *error)
{
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = 0;
    io_json_value *value = io_json_parse("seed", text, size, error);
    if (!value) refused(error);
    io_json_free(value);
    free(text);
}

static void read_table(const char *path, io_error *error)
{
    const table_options options = {0};
    kb_model *model = NULL;
    if (model_table_read(path, &options, &model, error)) kb_model_free(model);
    else refused(error);
}

static void read_video(const char *path, io_error *error)
{
    y4m_reader reader;
    if (!y4m_open(&reader, path, error)) {
        refused(error);
        return;
    }
    uint8_t *rgb = malloc((size_t)reader.width * (size_t)reader.height * 3);
    while (rgb && y4m_next(&reader, error) == Y4M_FRAME) y4m_to_rgb(&reader, rgb);
    free(rgb);
    y4m_close(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    io_error error = {""};
    if (size == 0) return 0;
    int reader = data[0] % READERS;
    const char *path = fuzz_file(data + 1, size - 1);
    if (reader == KEYPOINTS) read_keypoints(path, &error);
    else if (reader == ARRAY) read_array(path, &error);
    else if (reader == JSON) read_json(data + 1, size - 1, &error);
    else if (reader == TABLE) read_table(path, &error);
    else read_video(path, &error);
    return 0;
}

#define BAG_ROW "1 4 4 2 5 8 8 8 0.25\n"
#define EIGHT BAG_ROW BAG_ROW BAG_ROW BAG_ROW BAG_ROW BAG_ROW BAG_ROW BAG_ROW
size_t fuzz_seed(int index, uint8_t *buffer, size_t capacity)
{
    static const struct {
        int reader;
        const char *text;
        size_t zeros; /* bytes of pixels behind the text */
    } seeds[] = {
        {KEYPOINTS, "x,y,size,angle,response,octave\n1.5,2,31,-1,0.25,3\n0.125,1e2,nan,inf,-7,0\n", 0},
        {KEYPOINTS, "angle,size,class_id,other,y,x\r\n\r\n90,12,4,words,1,2\r\n", 0},
        {ARRAY, "\x93NUMPY\1Pv {'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }      \nabcdef", 0},
        {JSON, "{\"a\": [1, -2.5e3, true, false, null], \"b\": {\"c\": \"d\\u00e9\\n\\ud83d\\ude00\"}}", 0},
        {TABLE, "# a comment\n#: name mine\n#: sampler patch\n#: support 1.5\n#: text how\n", 0},
        {TABLE, "#: name bag\n#: sampler octaves\n#: support 4\n" EIGHT EIGHT EIGHT EIGHT, 0},
        {VIDEO, "YUV4MPEG2 W8 H4 F25:1 Ip A1:1 C420jpeg\nFRAME\n", 48},
        {VIDEO, "YUV4MPEG2 W8 H4 F30000:1001 C444p10 XCOLORRANGE=FULL\nFRAME\n", 192},
    };
    if (index >= (int)(sizeof seeds / sizeof *seeds)) return 0;
    size_t length = strlen(seeds[index].text);
    (void)capacity; /* all are small */
    buffer[0] = (uint8_t)seeds[index].reader;
    memcpy(buffer + 1, seeds[index].text, length);
    memset(buffer + 1 + length, 0, seeds[index].zeros);
    length += 1 + seeds[index].zeros;
    if (seeds[index].reader == ARRAY) { /* the bytes that text cannot hold */
        buffer[8] = 0;
        buffer[10] = 0;
        buffer[9] = (uint8_t)(length - 1 - 10 - 6);
    }
    for (int i = 0; seeds[index].reader == TABLE && !strstr(seeds[index].text, BAG_ROW) && i < 8; i++) {
        memcpy(buffer + length, "0 9 9 2 0 17 20 2 -1.5\n", 23);
        length += 23;
    }
    return length;
}
