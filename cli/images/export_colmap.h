/* SPDX-License-Identifier: Apache-2.0 */
/* Options that `keybits export colmap` and `keybits eval sfm` share. */
#ifndef CLI_EXPORT_COLMAP_H
#define CLI_EXPORT_COLMAP_H

#include "cli/cli.h"
#include "pipeline/colmap_export.h"

typedef struct export_options {
    colmap_export_options options;
    io_camera camera;
    bool has_camera;
} export_options;

/* The table of them; the job is export_options. */
extern const cli_option export_colmap_options[];
/* Fills in the threads, and the camera of the folder; folder may be NULL. */
void export_options_settle(export_options *own, const cli_common *common, const char *folder);

#endif
