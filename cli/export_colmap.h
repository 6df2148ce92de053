/* Options that `keybits export colmap` and `keybits eval sfm` share. */
#ifndef CLI_EXPORT_COLMAP_H
#define CLI_EXPORT_COLMAP_H

#include "eval/colmap_export.h"
#include "eval_common.h"

enum {
    EXPORT_OPTION_RATIO = EVAL_OPTION_OWN,
    EXPORT_OPTION_PAIRS,
    EXPORT_OPTION_CAMERA,
    EXPORT_OPTION_ONE_CAMERA,
    EXPORT_OPTION_OWN
};

#define EXPORT_OPTIONS                                            \
    {"ratio", required_argument, NULL, EXPORT_OPTION_RATIO},      \
    {"pairs", required_argument, NULL, EXPORT_OPTION_PAIRS},      \
    {"camera", required_argument, NULL, EXPORT_OPTION_CAMERA},    \
    {"one-camera", no_argument, NULL, EXPORT_OPTION_ONE_CAMERA}

#define EXPORT_HELP                                                                                              \
    "Matches and cameras\n"                                                                                      \
    "  --ratio R          0 to 1: keep a match only when its distance is below R x that of the second nearest\n" \
    "                     (default 0: mutual nearest neighbours alone, as the paper did; ETH's benchmark has 0.8)\n" \
    "  --pairs FILE       match only these pairs, \"name1 name2\" a line (default: all pairs)\n"                 \
    "  --camera C         MODEL,NUMBERS as COLMAP has them, such as PINHOLE,2759.48,2764.16,1520.69,1006.81, for\n" \
    "                     all images (default: K.txt in the folder of the images, else COLMAP's guess for each)\n" \
    "  --one-camera       the guess is one camera for all images\n"

typedef struct export_options {
    ev_export_options options;
    ev_camera camera;
} export_options;

void export_options_begin(export_options *own);
/* As eval_option. */
bool export_option(export_options *own, cli_common *common, int option);
/* Fills in what the options of keypoints and threads say, and the camera of the folder; folder may be NULL. */
void export_options_settle(export_options *own, const eval_options *eval, const cli_common *common, const char *folder);

#endif
