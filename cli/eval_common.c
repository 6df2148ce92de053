#include "eval_common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/scenes.h"

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
    if (kb_model_create(&spec, &changed, &why) != KB_OK) return io_fail(error, "--support: %s", why.text);
    kb_model_free(*model);
    *model = changed;
    return true;
}

static bool open_method(ev_method *method, const char *name, double support, io_error *error)
{
    kb_model *model = NULL;
    if (strncmp(name, "cv:", 3) == 0) return ev_method_of_peer(method, name, error);
    if (!cli_model_open(name, &model, error)) return false;
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
    io_names_split(&list, names ? names : files->count ? "" : cli_model_default());
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

void eval_options_begin(eval_options *options)
{
    memset(options, 0, sizeof *options);
    options->source.detector = KB_DETECTOR_ORB;
    options->source.max_keypoints = 2000;
}

static bool take_detector(eval_options *options, cli_common *common)
{
    static const char *const words[] = {"orb", "sift", NULL};
    int index = 0;
    if (!cli_choice(common, "--detector", optarg, words, &index)) return false;
    options->source.detector = index == 0 ? KB_DETECTOR_ORB : KB_DETECTOR_SIFT;
    return true;
}

static bool take_max(eval_options *options, cli_common *common)
{
    int64_t value = 0;
    if (!cli_integer(common, "-n", optarg, 1, 1000000, &value)) return false;
    options->source.max_keypoints = (int32_t)value;
    return true;
}

bool eval_option(eval_options *options, cli_common *common, int option)
{
    switch (option) {
    case 'm': options->models = optarg; return true;
    case 'n': return take_max(options, common);
    case EVAL_OPTION_KEYPOINTS_DIR: options->source.folder = optarg; return true;
    case EVAL_OPTION_KEYPOINTS: options->source.kind = optarg; return true;
    case EVAL_OPTION_DETECTOR: return take_detector(options, common);
    case EVAL_OPTION_PRESET: options->preset = optarg; return true;
    case EVAL_OPTION_SUPPORT: return cli_number(common, "--support", optarg, 0.1, 10, &options->support);
    case EVAL_OPTION_CACHE: options->cache = optarg; return true;
    case EVAL_OPTION_DESCRIPTORS: io_names_add(&options->descriptors, optarg); return true;
    case EVAL_OPTION_EXPORT_PATCHES: options->export_patches = optarg; return true;
    default: return false;
    }
}

bool eval_options_settle(eval_options *options, cli_common *common)
{
    if (options->preset) return cli_preset(common, options->preset, &options->scale);
    if (!options->source.folder) {
        options->scale = kb_detector_scale(options->source.detector);
        return true;
    }
    if (!options->source.kind) options->source.kind = "sift";
    options->scale = kb_preset_scale(options->source.kind);
    if (options->scale > 0) return true;
    common->exit_code =
        cli_usage_error(common, "--keypoints %s is not the name of a preset: give --preset too", options->source.kind);
    return false;
}

void eval_options_end(eval_options *options) { io_names_free(&options->descriptors); }

int eval_run(const eval_frame *frame, void *job, int argc, char **argv)
{
    cli_common common;
    eval_options options;
    int option;
    bool good = true;
    cli_begin(&common, frame->help);
    eval_options_begin(&options);
    common.threads = frame->threads;
    if (frame->detector) options.source.detector = frame->detector;
    if (frame->max_keypoints) options.source.max_keypoints = frame->max_keypoints;
    while (good && (option = cli_getopt(&common, argc, argv, frame->shorts, frame->longs)) != CLI_END)
        good = option != CLI_STOP && frame->take(job, &options, &common, option);
    int code = good ? frame->run(job, &options, &common, argc - optind, argv + optind) : common.exit_code;
    eval_options_end(&options);
    return cli_end(&common, code);
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
