/* What the two ways of the command describe, from images and from ready patches, share. */
#ifndef CLI_DESCRIBE_H
#define CLI_DESCRIBE_H

#include "cli.h"
#include "io/image_io.h"

typedef enum orientation { ORIENTATION_GIVEN, ORIENTATION_COMPUTE, ORIENTATION_NONE } orientation;

typedef struct describe_options {
    const char *model_name;
    const char *keypoints, *keypoints_folder; /* NULL, NULL: detect */
    const char *output;                       /* NULL: standard output */
    const char *suffix;                       /* of the files in a folder of results */
    const char *patches;                      /* NULL: from images */
    int32_t side;                             /* of a patch in a mosaic; 0: from an .npy */
    kb_detector detector;
    int32_t max_keypoints;
    float scale; /* 0: the detector's preset, or 1 for keypoints that are given */
    orientation orientation;
    bool floats;
    io_read_options reading;
    kb_model *model;
    kb_model_info info;
} describe_options;

/* Both return the exit code. */
int describe_images(const cli_common *common, const describe_options *options, int count, char **arguments);
int describe_patches(const cli_common *common, const describe_options *options);

/* Descriptor rows, bytes or floats. */
typedef struct describe_rows {
    uint8_t *bytes;
    float *floats;
    size_t count;
} describe_rows;

void describe_rows_create(describe_rows *rows, const describe_options *options, size_t count);
bool describe_rows_write(const char *path, const describe_rows *rows, const describe_options *options, io_error *error);
void describe_rows_free(describe_rows *rows);

#endif
