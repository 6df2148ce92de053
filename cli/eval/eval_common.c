/* SPDX-License-Identifier: Apache-2.0 */
#include "eval_common.h"

#include "cli/groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/scenes.h"
#include "pipeline/models.h"

/* ---- descriptors ---- */

static bool with_support(kb_model **model, double support, io_error *error)
{
    kb_model_info info;
    kb_error why;
    kb_model *changed = NULL;
    KB_INIT(info);
    kb_model_get_info(*model, &info);
    kb_model_spec spec = *info.spec;
    spec.support = (float)support;
    spec.sift_support = 0;
    spec.threshold_low = spec.threshold_high = 0; /* were measured at the model's own */
    spec.ratio = 0;
    if (kb_model_create(&spec, NULL, &changed, &why) != KB_OK) return io_fail(error, "--support: %s", why.text);
    kb_model_free(*model);
    *model = changed;
    return true;
}

static bool open_method(ev_method *method, const char *name, double support, io_error *error)
{
    kb_model *model = NULL;
    if (strncmp(name, "cv:", 3) == 0) return ev_method_of_peer(method, name, error);
    if (!models_open(name, &model, error)) return false;
    if (support > 0 && !with_support(&model, support, error)) {
        kb_model_free(model);
        return false;
    }
    ev_method_of_model(method, name, model);
    return true;
}

static ev_method *next_method(eval_methods *methods)
{
    methods->items = io_grow(methods->items, methods->count + 1, sizeof *methods->items);
    return &methods->items[methods->count];
}

bool eval_methods_open(eval_methods *methods, const char *names, double support, const io_names *files)
{
    io_error error;
    bool good = true;
    io_names list = {NULL, 0};
    io_names_split(&list, names ? names : files->count ? "" : models_default());
    memset(methods, 0, sizeof *methods);
    for (size_t i = 0; good && i < list.count; i++) {
        good = open_method(next_method(methods), list.items[i], support, &error);
        methods->count += good;
    }
    for (size_t i = 0; good && i < files->count; i++) {
        good = ev_method_of_file(next_method(methods), files->items[i], &error);
        methods->count += good;
    }
    if (good && methods->count == 0) good = io_fail(&error, "--model names no descriptor");
    io_names_free(&list);
    if (good) return true;
    cli_error("%s", error.text);
    eval_methods_free(methods);
    return false;
}

void eval_methods_free(eval_methods *methods)
{
    for (size_t i = 0; i < methods->count; i++) ev_method_free(&methods->items[i]);
    free(methods->items);
    memset(methods, 0, sizeof *methods);
}

/* ---- options ---- */

static bool take_descriptors(cli_common *common, const char *option, const char *text, void *target)
{
    (void)common, (void)option;
    io_names_add(target, text);
    return true;
}

/* No input has this suffix, so that none is overwritten: those of a folder are not known here. */
static bool check_patch_file(cli_common *common, const char *option, const char *text, void *job)
{
    const char *path = ((const eval_options *)job)->export_patches;
    (void)option, (void)text;
    if (!io_path_is_plain(path) || io_path_has_suffix(path, ".npy")) return true;
    common->exit_code = cli_usage_error(common, "--export-patches: %s must end in .npy", path);
    return false;
}

const cli_option eval_method_options[] = {
    CLI_CHECK(check_patch_file),
    CLI_SECTION("Descriptors"),
    {"model", 'm', CLI_INPUTS(eval_options, models), "LIST",
     .help = "built-in models, .kbm files and peers (cv:orb, cv:brisk, cv:akaze, cv:sift, cv:rootsift where "
             "keybits-peers.so is there), separated by commas"},
    {"support", 0, CLI_NUMBER(eval_options, support, 0.1, 10), "S", .help = ", instead of the models' own support"},
    {"descriptors", 0, CLI_CALL(eval_options, descriptors), "FILE.npy", .take = take_descriptors,
     .help = "rows that another program computed, packed bits (uint8) or floats (may be repeated)"},
    {"export-patches", 0, CLI_OUTPUT(eval_options, export_patches), "FILE.npy",
     .help = "write the patches such a program needs, in the order of the rows, and stop"},
    {0}};

#define KEYPOINT_ROWS(detectors_default, count_default)                                                             \
    CLI_SECTION("Keypoints"),                                                                                       \
    {"keypoints-dir", 0, CLI_TEXT(eval_options, source.folder), "DIR",                                              \
     .help = "CSV files DIR/SCENE/IMAGE.KIND.csv; without it keypoints are detected"},                              \
    {"keypoints", 0, CLI_TEXT(eval_options, source.kind), "KIND",                                                   \
     .help = "sift or orb, or another name in the files, which then needs --preset (default sift)"},                \
    {"detector", 0, CLI_CHOICE(eval_options, source.detector, KB_DETECTOR_ORB), "NAME", detectors_default,          \
     .words = cli_detectors, .help = ": our detector, where no files are given"},                                   \
    {"max-keypoints", 'n', CLI_NUMBER(eval_options, source.max_keypoints, 1, 1000000), "N", count_default,          \
     .help = "keypoints per image, asked of the detector"},                                                         \
    {"select", 0, CLI_CHOICE(eval_options, source.selection, KB_SELECTION_BEST), "RULE", .words = cli_selections,   \
     .help = "best, grid or quadtree: which ones our detector keeps (default: its own)"},                     \
    {"fast-threshold-min", 0, CLI_NUMBER(eval_options, source.fast_threshold_min, 1, 20), "N",                      \
     .help = "gray levels: the second threshold, with --detector orb (default: its own)"},                          \
    {"whole-pixels", 0, CLI_FLAG(eval_options, source.whole_pixels),                                                \
     .help = "positions on whole pixels, not of sift"},                                                             \
    {"max-pixels", 0, CLI_NUMBER(eval_options, source.max_pixels, 1, 4294836225), "N",                              \
     .help = ": larger images are refused before memory is reserved for them (default 2^28)"},                      \
    {"orientation", 0, CLI_CHOICE(eval_options, source.orientation, 0), "RULE", "given",                            \
     .words = cli_orientations,                                                                                     \
     .help = ": gradient, centroid or none compute the angles anew, of files and of our detectors but sift"},       \
    {"preset", 0, CLI_CALL(eval_options, preset), "NAME", .take = cli_take_preset,                                  \
     .help = "orb hessian fast agast brisk akaze kaze surf sift gftt mser: how size becomes the width of the "      \
             "patch (default: what belongs to the keypoints)"}

const cli_option eval_keypoint_options[] = {KEYPOINT_ROWS("hessian", "2000"), {0}};
const cli_option eval_sfm_keypoint_options[] = {KEYPOINT_ROWS("sift", "8192"), {0}};

static bool preset_settle(eval_options *options, cli_common *common)
{
    if (!options->source.kind) options->source.kind = "sift";
    if (options->preset) return true;
    options->preset =
        options->source.folder ? options->source.kind : kb_name(KB_NAMES_DETECTOR, options->source.detector);
    if (kb_model_scale(NULL, options->preset) > 0) return true;
    common->exit_code =
        cli_usage_error(common, "--keypoints %s is not the name of a preset: give --preset too", options->source.kind);
    return false;
}

bool eval_options_settle(eval_options *options, cli_common *common)
{
    bool good = preset_settle(options, common);
    options->source.scale = kb_model_scale(NULL, options->preset);
    return good;
}

void eval_options_end(eval_options *options) { io_names_free(&options->descriptors); }

void eval_json_results(const eval_methods *methods, void (*write)(io_json *json, size_t index, const void *context),
                       const void *context)
{
    io_json json;
    io_json_begin(&json, stdout);
    if (methods->count > 1) io_json_array(&json, NULL);
    for (size_t m = 0; m < methods->count; m++) write(&json, m, context);
    if (methods->count > 1) io_json_end(&json);
}

char *eval_set_name(const char *folder)
{
    char *clean = ev_folder_clean(folder), *name;
    const char *base = io_path_base(clean);
    if (strcmp(base, "images") == 0 && base > clean) {
        clean[base - clean - 1] = '\0';
        name = io_copy_string(io_path_base(clean));
    } else {
        name = io_copy_string(base);
    }
    free(clean);
    return name;
}

const char *eval_percent(char buffer[16], double value)
{
    if (isfinite(value)) snprintf(buffer, 16, "%.2f", 100 * value);
    else strcpy(buffer, "-");
    return buffer;
}
