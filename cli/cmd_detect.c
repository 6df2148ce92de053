/* keybits detect: keypoints of images as tables, and as pictures to look at. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "io/csv.h"
#include "io/draw.h"
#include "io/json.h"
#include "io/npy.h"
#include "io/progress.h"

const char command_detect_help[] =
    "usage: keybits detect IMAGE... [--detector orb|sift] [-n N] [-o OUT] [--draw PICTURE] [options]\n"
    "\n"
    "Finds keypoints, strongest first. IMAGE may be a folder (its image files, sorted by name), @list.txt (names, one\n"
    "a line) or - (such a list on standard input).\n"
    "\n"
    "Which keypoints\n"
    "  --detector NAME        orb: FAST corners on a pyramid, quick (default); sift: differences of Gaussians, finer "
    "in\n"
    "                         place and scale, slower\n"
    "  -n, --max-keypoints N  1 to 1000000 (default 2000)\n"
    "  --select RULE          best: the strongest (default); grid: the strongest of every cell of a grid; spread: "
    "strong\n"
    "                         and far from anything stronger, the most even\n"
    "  --mask FILE            an image of the same size: keypoints only where it is not black\n"
    "\n"
    "Thresholds of orb\n"
    "  --fast-threshold N     1 to 255 gray levels (default 20); lower it for dim or soft images that give too few\n"
    "  --levels N             1 to 16 levels of the pyramid (default 8)\n"
    "  --level-factor X       1.05 to 2, from one level to the next (default 1.2)\n"
    "\n"
    "Thresholds of sift\n"
    "  --contrast X           up to 1 (default 0.04); lower finds more and weaker\n"
    "  --edge X               1 to 1000 (default 10); higher keeps more on edges\n"
    "  --layers N             1 to 8 layers an octave (default 3)\n"
    "  --sigma X              0.5 to 4 px, the blur of the first layer (default 1.6)\n"
    "  --no-upsampling        do not double the image first: four times faster, loses the small keypoints\n"
    "\n"
    "Images\n"
    "  --exif                 turn images as their EXIF orientation says (default: pixels as stored)\n"
    "  --white N              16-bit images: the value that is white, 1 to 65535 (default: the file's, else 65535)\n"
    "\n"
    "Output\n"
    "  -o, --output OUT       OUT.csv (x,y,size,angle,response,octave) or OUT.npy (the same as N x 6 floats). For "
    "many\n"
    "                         images a folder, or a pattern in which {} stands for the image's name: out/{}.csv\n"
    "                         (default: CSV of one image on standard output)\n"
    "  --format NAME          csv or npy: what goes into a folder (default csv)\n"
    "  --draw PICTURE         a .png with a circle of its size and its angle for every keypoint, the weakest red and\n"
    "                         the strongest green; for many images a folder or a pattern\n"
    "\n" CLI_COMMON_HELP;

typedef struct detect_options {
    kb_detect_options detect;
    const char *mask, *output, *picture, *suffix;
    io_read_options reading;
} detect_options;

typedef struct job {
    const cli_common *common;
    const detect_options *options;
    kb_workspace *workspace;
    io_image mask; /* empty without --mask */
    io_json json;  /* used with --json */
    io_progress progress;
    size_t keypoints;
} job;

/* ------------------------------------------------------------------------------------------------------- one image */

static bool mask_fits(const job *j, const char *path, const io_image *image, io_error *error)
{
    const io_image *mask = &j->mask;
    if (!mask->pixels || (mask->width == image->width && mask->height == image->height)) return true;
    return io_fail(error, "%s: the mask %s has %d x %d px, the image %d x %d", path, j->options->mask, (int)mask->width,
                   (int)mask->height, (int)image->width, (int)image->height);
}

static bool detect(const job *j, const char *path, const io_image *image, io_keypoints *out, io_error *error)
{
    kb_detect_options o = j->options->detect;
    size_t capacity = (size_t)o.max_keypoints;
    out->items = io_alloc(capacity, sizeof *out->items);
    o.mask = j->mask.pixels ? &j->mask.view : NULL;
    o.parallel = j->common->parallel;
    kb_status status = kb_detect(&image->view, &o, j->workspace, out->items, capacity, &out->count);
    return status == KB_OK || io_fail(error, "%s: %s", path, kb_status_string(status));
}

static bool write_npy(const char *path, const io_keypoints *keypoints, io_error *error)
{
    enum { COLUMNS = 6 };
    size_t shape[2] = {keypoints->count, COLUMNS};
    float *table = io_alloc(keypoints->count, COLUMNS * sizeof *table);
    for (size_t i = 0; i < keypoints->count; i++) {
        const kb_keypoint *k = &keypoints->items[i];
        const float row[COLUMNS] = {k->x, k->y, k->size, k->angle, k->response, (float)k->octave};
        memcpy(table + i * COLUMNS, row, sizeof row);
    }
    bool ok = io_npy_write(path, IO_F32, 2, shape, table, error);
    free(table);
    return ok;
}

static bool write_table(const char *path, const io_keypoints *keypoints, io_error *error)
{
    if (path && io_path_has_suffix(path, ".npy")) return write_npy(path, keypoints, error);
    return io_keypoints_write(path, keypoints->items, keypoints->count, error);
}

/* The weakest first, so that the strongest lie on top. */
static bool write_picture(const char *path, const io_image *image, const io_keypoints *keypoints, io_error *error)
{
    io_canvas canvas;
    if (!io_canvas_create(&canvas, image->width, image->height, (io_colour){0, 0, 0}, error)) return false;
    io_draw_image(&canvas, image, 0, 0);
    for (size_t i = keypoints->count; i > 0; i--) {
        io_colour colour = io_colour_heat(1 - (double)(i - 1) / (double)keypoints->count);
        io_draw_keypoint(&canvas, &keypoints->items[i - 1], 1, 0, 1, colour);
    }
    bool ok = io_canvas_write(path, &canvas, error);
    io_canvas_free(&canvas);
    return ok;
}

static void report(job *j, const char *path, const char *output, const char *picture, const io_image *image,
                   size_t count, double seconds)
{
    j->keypoints += count;
    io_progress_wipe(&j->progress);
    cli_say(j->common, "%s: %d x %d px, %zu keypoints, %.1f ms", path, (int)image->width, (int)image->height, count,
            1000 * seconds);
    if (!j->common->json) return;
    io_json_object(&j->json, NULL);
    io_json_string(&j->json, "image", path);
    io_json_string(&j->json, "output", output);
    io_json_string(&j->json, "picture", picture);
    io_json_integer(&j->json, "width", image->width);
    io_json_integer(&j->json, "height", image->height);
    io_json_integer(&j->json, "keypoints", (int64_t)count);
    io_json_number(&j->json, "ms", 1000 * seconds);
    io_json_end(&j->json);
}

static bool detect_one(job *j, const char *path, const char *output, const char *picture, io_error *error)
{
    io_image image;
    io_keypoints keypoints = {0};
    if (!io_image_read(path, &j->options->reading, &image, error)) return false;
    double start = io_clock_seconds(), seconds = 0;
    bool ok = mask_fits(j, path, &image, error) && detect(j, path, &image, &keypoints, error);
    seconds = io_clock_seconds() - start;
    ok = ok && (!picture || write_picture(picture, &image, &keypoints, error)) &&
         write_table(output, &keypoints, error);
    if (ok) report(j, path, output, picture, &image, keypoints.count, seconds);
    io_keypoints_free(&keypoints);
    io_image_free(&image);
    return ok;
}

/* ------------------------------------------------------------------------------------------------------ all images */

/* Goes on after a failure: one bad image of a thousand should not cost the rest. Returns how many failed. */
static size_t detect_all(job *j, const io_names *images, const io_names *outputs, const io_names *pictures)
{
    size_t failed = 0;
    io_progress_start(&j->progress, "detecting", images->count, j->common->quiet || images->count < 2);
    for (size_t i = 0; i < images->count; i++) {
        io_error error;
        io_progress_update(&j->progress, i);
        if (detect_one(j, images->items[i], outputs->count ? outputs->items[i] : NULL,
                       pictures->count ? pictures->items[i] : NULL, &error))
            continue;
        io_progress_wipe(&j->progress);
        cli_error("%s", error.text);
        failed++;
    }
    io_progress_end(&j->progress);
    return failed;
}

static int run(job *j, const io_names *images, const io_names *outputs, const io_names *pictures)
{
    if (j->common->json) {
        io_json_begin(&j->json, stdout);
        io_json_object(&j->json, NULL);
        io_json_string(&j->json, "detector", kb_detector_name(j->options->detect.detector));
        io_json_array(&j->json, "images");
    }
    size_t failed = detect_all(j, images, outputs, pictures);
    if (j->common->json) {
        io_json_end(&j->json);
        io_json_integer(&j->json, "failed", (int64_t)failed);
        io_json_end(&j->json);
    }
    if (images->count > 1)
        cli_say(j->common, "%zu keypoints of %zu images, %zu failed", j->keypoints, images->count - failed, failed);
    return failed ? CLI_FAILED : CLI_DONE;
}

static bool find_names(const detect_options *options, int count, char **arguments, io_names *images, io_names *outputs,
                       io_names *pictures, io_error *error)
{
    return io_names_images(images, count, arguments, error) &&
           (!options->output || io_names_outputs(outputs, images, options->output, options->suffix, error)) &&
           (!options->picture || io_names_outputs(pictures, images, options->picture, ".png", error));
}

static int detect_images(const cli_common *common, const detect_options *options, int count, char **arguments)
{
    io_error error;
    io_names images = {0}, outputs = {0}, pictures = {0};
    job j = {.common = common, .options = options};
    int code;
    if (!find_names(options, count, arguments, &images, &outputs, &pictures, &error))
        code = cli_error("%s", error.text);
    else if (!options->output && images.count > 1)
        code = cli_usage_error(common, "%zu images need -o with a folder or a pattern", images.count);
    else if (options->mask && !io_image_read(options->mask, NULL, &j.mask, &error))
        code = cli_error("%s", error.text);
    else if (kb_workspace_create(&j.workspace) != KB_OK)
        code = cli_error("out of memory");
    else
        code = run(&j, &images, &outputs, &pictures);
    kb_workspace_free(j.workspace);
    io_image_free(&j.mask);
    io_names_free(&images);
    io_names_free(&outputs);
    io_names_free(&pictures);
    return code;
}

/* --------------------------------------------------------------------------------------------------------- options */

enum {
    DETECTOR = CLI_OPTION_OWN,
    SELECT,
    MASK,
    FAST_THRESHOLD,
    LEVELS,
    LEVEL_FACTOR,
    CONTRAST,
    EDGE,
    LAYERS,
    SIGMA,
    NO_UPSAMPLING,
    EXIF,
    WHITE,
    FORMAT,
    DRAW
};

static const struct option long_options[] = {
    {"detector", required_argument, NULL, DETECTOR},
    {"max-keypoints", required_argument, NULL, 'n'},
    {"select", required_argument, NULL, SELECT},
    {"mask", required_argument, NULL, MASK},
    {"fast-threshold", required_argument, NULL, FAST_THRESHOLD},
    {"levels", required_argument, NULL, LEVELS},
    {"level-factor", required_argument, NULL, LEVEL_FACTOR},
    {"contrast", required_argument, NULL, CONTRAST},
    {"edge", required_argument, NULL, EDGE},
    {"layers", required_argument, NULL, LAYERS},
    {"sigma", required_argument, NULL, SIGMA},
    {"no-upsampling", no_argument, NULL, NO_UPSAMPLING},
    {"exif", no_argument, NULL, EXIF},
    {"white", required_argument, NULL, WHITE},
    {"output", required_argument, NULL, 'o'},
    {"format", required_argument, NULL, FORMAT},
    {"draw", required_argument, NULL, DRAW},
    CLI_COMMON_OPTIONS,
    {NULL, 0, NULL, 0}};

static bool take_integer(cli_common *common, const char *name, int64_t low, int64_t high, int32_t *value)
{
    int64_t whole;
    if (!cli_integer(common, name, optarg, low, high, &whole)) return false;
    *value = (int32_t)whole;
    return true;
}

static bool take_number(cli_common *common, const char *name, double low, double high, float *value)
{
    double number;
    if (!cli_number(common, name, optarg, low, high, &number)) return false;
    *value = (float)number;
    return true;
}

static bool take_word(cli_common *common, int option, detect_options *options)
{
    static const char *const detectors[] = {"orb", "sift", NULL};
    static const char *const rules[] = {"best", "grid", "spread", NULL};
    static const char *const formats[] = {"csv", "npy", NULL};
    int index;
    switch (option) {
    case DETECTOR:
        if (!cli_choice(common, "--detector", optarg, detectors, &index)) return false;
        options->detect.detector = index == 0 ? KB_DETECTOR_ORB : KB_DETECTOR_SIFT;
        return true;
    case SELECT:
        if (!cli_choice(common, "--select", optarg, rules, &index)) return false;
        options->detect.selection = (kb_selection)index;
        return true;
    default:
        if (!cli_choice(common, "--format", optarg, formats, &index)) return false;
        options->suffix = index == 0 ? ".csv" : ".npy";
        return true;
    }
}

static bool take(cli_common *common, int option, detect_options *options)
{
    kb_detect_options *o = &options->detect;
    switch (option) {
    case 'o': options->output = strcmp(optarg, "-") == 0 ? NULL : optarg; return true;
    case 'n': return take_integer(common, "-n", 1, 1000000, &o->max_keypoints);
    case MASK: options->mask = optarg; return true;
    case FAST_THRESHOLD: return take_integer(common, "--fast-threshold", 1, 255, &o->fast_threshold);
    case LEVELS: return take_integer(common, "--levels", 1, 16, &o->levels);
    case LEVEL_FACTOR: return take_number(common, "--level-factor", 1.05, 2, &o->level_factor);
    case CONTRAST: return take_number(common, "--contrast", 1e-6, 1, &o->contrast_threshold);
    case EDGE: return take_number(common, "--edge", 1, 1000, &o->edge_threshold);
    case LAYERS: return take_integer(common, "--layers", 1, 8, &o->layers);
    case SIGMA: return take_number(common, "--sigma", 0.5, 4, &o->sigma);
    case NO_UPSAMPLING: o->no_upsampling = 1; return true;
    case EXIF: options->reading.exif = true; return true;
    case WHITE: return take_integer(common, "--white", 1, 65535, &options->reading.white);
    case DRAW: options->picture = optarg; return true;
    case DETECTOR:
    case SELECT:
    case FORMAT: return take_word(common, option, options);
    default: return false;
    }
}

/* What the options say together; CLI_DONE when it makes sense. */
static int check_options(const cli_common *common, const detect_options *options, int arguments)
{
    const char *out = options->output;
    if (!arguments) return cli_usage_error(common, "name at least one image");
    if (common->json && !out)
        return cli_usage_error(common, "--json needs -o, since the table would go to standard output");
    if (io_path_is_plain(out) && !io_path_has_suffix(out, ".csv") && !io_path_has_suffix(out, ".npy"))
        return cli_usage_error(
            common, "the output %s must end in .csv or .npy, or be a folder, new ones with / at the end", out);
    if (io_path_is_plain(options->picture) && !io_path_has_suffix(options->picture, ".png"))
        return cli_usage_error(common, "the picture %s must end in .png, or be a folder, new ones with / at the end",
                               options->picture);
    return CLI_DONE;
}

int command_detect(int argc, char **argv)
{
    cli_common common;
    detect_options options = {.suffix = ".csv", .reading = {.keep16 = true}};
    KB_INIT(options.detect);
    options.detect.detector = KB_DETECTOR_ORB;
    options.detect.max_keypoints = 2000;
    cli_begin(&common, command_detect_help);
    int option;
    while ((option = cli_getopt(&common, argc, argv, "n:o:", long_options)) != CLI_END)
        if (!take(&common, option, &options)) return cli_end(&common, common.exit_code);
    int code = check_options(&common, &options, argc - optind);
    if (code == CLI_DONE && !cli_ready(&common)) code = common.exit_code;
    if (code == CLI_DONE) code = detect_images(&common, &options, argc - optind, argv + optind);
    return cli_end(&common, code);
}
