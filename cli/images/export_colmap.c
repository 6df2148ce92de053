/* SPDX-License-Identifier: Apache-2.0 */
#include "export_colmap.h"

#include "cli/groups.h"

static bool take_camera(cli_common *common, const char *option, const char *text, void *target)
{
    export_options *own = target;
    io_error error;
    own->has_camera = io_camera_parse(text, &own->camera, &error);
    if (!own->has_camera) common->exit_code = cli_usage_error(common, "%s: %s", option, error.text);
    return own->has_camera;
}

const cli_option export_colmap_options[] = {
    CLI_SECTION("Matches and cameras"),
    {"ratio", 0, CLI_NUMBER(export_options, options.max_ratio, 0, 1), "R", "0",
     .help = ": keep a match only when its distance is below R x the distance to the second nearest; 0: mutual nearest "
             "neighbours alone, as the paper did; ETH's benchmark has 0.8"},
    {"filter", 0, CLI_FLAG(export_options, options.filter),
     .help = "drop matches that are inconsistent with their neighbours in scale, angle and position"},
    {"pairs", 0, CLI_INPUT(export_options, options.pairs), "FILE",
     .help = "match only these pairs, \"name1 name2\" per line (default: all pairs)"},
    {"camera", 0, CLI_TYPE_CALL, .value = "C", .take = take_camera,
     .help = "MODEL,NUMBERS as COLMAP has them, such as PINHOLE,2759.48,2764.16,1520.69,1006.81, for all images "
             "(default: K.txt in the folder of the images, else COLMAP's guess for each)"},
    {"one-camera", 0, CLI_FLAG(export_options, options.one_camera),
     .help = "the guess is one camera for all images"},
    {0}};

void export_options_settle(export_options *own, const cli_common *common, const char *folder)
{
    own->options.parallel = common->parallel;
    own->options.quiet = common->quiet;
    if (own->has_camera) own->options.camera = &own->camera;
    if (own->options.camera || own->options.one_camera || !folder) return;
    if (io_camera_from_folder(folder, &own->camera)) {
        own->options.camera = &own->camera;
        cli_say(common, "the camera is that of %s/K.txt: PINHOLE %.9g %.9g %.9g %.9g", folder,
                own->camera.parameters[0], own->camera.parameters[1], own->camera.parameters[2],
                own->camera.parameters[3]);
    }
}
