#include "export_colmap.h"

#include <stdlib.h>
#include <string.h>

void export_options_begin(export_options *own) { memset(own, 0, sizeof *own); }

static bool take_camera(export_options *own, cli_common *common)
{
    io_error error;
    if (!ev_camera_parse(optarg, &own->camera, &error)) {
        common->exit_code = cli_usage_error(common, "--camera: %s", error.text);
        return false;
    }
    own->options.camera = &own->camera;
    return true;
}

bool export_option(export_options *own, cli_common *common, int option)
{
    double value = 0;
    switch (option) {
    case EXPORT_OPTION_RATIO:
        if (!cli_number(common, "--ratio", optarg, 0, 1, &value)) return false;
        own->options.max_ratio = (float)value;
        return true;
    case EXPORT_OPTION_PAIRS: own->options.pairs = optarg; return true;
    case EXPORT_OPTION_CAMERA: return take_camera(own, common);
    case EXPORT_OPTION_ONE_CAMERA: own->options.one_camera = true; return true;
    default: return false;
    }
}

void export_options_settle(export_options *own, const eval_options *eval, const cli_common *common, const char *folder)
{
    own->options.keypoints = eval->source;
    own->options.scale = eval->scale;
    own->options.parallel = common->parallel;
    own->options.quiet = common->quiet;
    if (own->options.camera || own->options.one_camera || !folder) return;
    if (ev_camera_from_folder(folder, &own->camera)) {
        own->options.camera = &own->camera;
        cli_say(common, "the camera is that of %s/K.txt: PINHOLE %.9g %.9g %.9g %.9g", folder,
                own->camera.parameters[0], own->camera.parameters[1], own->camera.parameters[2],
                own->camera.parameters[3]);
    }
}
