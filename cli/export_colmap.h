/* Options that `keybits export colmap` and `keybits eval sfm` share. */
#ifndef CLI_EXPORT_COLMAP_H
#define CLI_EXPORT_COLMAP_H

#include "eval/colmap_export.h"
#include "eval_common.h"

typedef struct export_options {
    ev_export_options options;
    io_camera camera;
    bool has_camera;
} export_options;

/* The table of them; the job is export_options. */
extern const cli_option export_colmap_options[];
/* Fills in what the options of keypoints and threads say, and the camera of the folder; folder may be NULL. */
void export_options_settle(export_options *own, const eval_options *eval, const cli_common *common, const char *folder);

#endif
