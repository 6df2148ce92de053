/* keybits describe: the options; describe_images.c and describe_patches.c do the work. */
#include <stdlib.h>
#include <string.h>

#include "describe.h"
#include "io/rows.h"

static const char describe_help[] =
    "usage: keybits describe IMAGE... [--keypoints FILE.csv | --keypoints-dir DIR | --detector orb|sift] [options]\n"
    "       keybits describe --patches FILE [--side N] [options]\n"
    "\n"
    "Turns keypoints into descriptors, one row a keypoint, in the same order. IMAGE may be a folder (its image files,\n"
    "sorted by name), @list.txt (names, one a line), @- (such a list on standard input) or - (an image there).\n"
    "\n"
    "What describes\n"
    "  -m, --model NAME|FILE  a built-in model or a .kbm file (default: bag256, or the first that this build holds\n"
    "                         of bag256, bad256, hashsift256, sift); keybits model list\n"
    "  --float                sift and rootsift: rows of 128 floats instead of bytes\n"
    "\n"
    "Which keypoints\n"
    "  -k, --keypoints FILE   CSV with the header x,y,size,angle,response,octave (any order, others ignored; only x, "
    "y\n"
    "                         and size must be there), for one image\n"
    "  --keypoints-dir DIR    DIR/NAME.csv for every image NAME.png\n"
    "  --detector NAME        orb or sift: find keypoints (default when none are given: orb)\n"
    "  -n, --max-keypoints N  1 to 1000000 keypoints to find (default 2000)\n"
    "  --preset NAME          patch width by detector: orb 1, fast agast brisk akaze 5, kaze surf 6.25, sift 6.75\n"
    "                         times the size (default: that of --detector; orb for keypoints from a file)\n"
    "  --scale X              the same as a number, 0.01 to 100\n"
    "  --orientation WHICH    given: the angles as they are, -1 is upright (default); compute: by the intensity\n"
    "                         centroid; none: all upright\n"
    "\n"
    "Images\n"
    "  --exif                 turn images as their EXIF orientation says (default: pixels as stored, as OpenCV's\n"
    "                         detectors with IMREAD_IGNORE_ORIENTATION see them)\n"
    "  --white N              16-bit images: the value that is white, 1 to 65535 (default: the file's, else 65535)\n"
    "\n"
    "Ready patches\n"
    "  --patches FILE         an image that is a mosaic of square patches, row by row, or an .npy of N x S x S bytes;\n"
    "                         every patch is one row\n"
    "  --side N               side of a patch in a mosaic, 32 to 1024 (default: the width of the image)\n"
    "\n"
    "Output\n"
    "  -o, --output OUT       OUT.npy (N x bytes of uint8), OUT.csv or OUT.hex (a row of hexadecimal a line). For "
    "many\n"
    "                         images a folder, or a pattern in which {} stands for the image's name: out/{}.npy\n"
    "                         (default: hexadecimal on standard output, image after image)\n"
    "  --format NAME          npy, csv or hex: what goes into a folder (default npy)\n"
    "\n" CLI_COMMON_HELP;

/* ------------------------------------------------------------------------------------------------------------ rows */

static size_t row_width(const describe_options *options)
{
    return (size_t)(options->floats ? options->info.row_floats : options->info.row_bytes);
}

void describe_rows_create(describe_rows *rows, const describe_options *options, size_t count)
{
    *rows = (describe_rows){NULL, NULL, count};
    size_t values = count * row_width(options);
    if (options->floats) rows->floats = io_alloc(values, sizeof *rows->floats);
    else rows->bytes = io_alloc(values, 1);
}

bool describe_rows_write(const char *path, const describe_rows *rows, const describe_options *options, io_error *error)
{
    if (options->floats) return io_rows_write_floats(path, rows->floats, rows->count, row_width(options), error);
    return io_rows_write_bytes(path, rows->bytes, rows->count, row_width(options), error);
}

void describe_rows_free(describe_rows *rows)
{
    free(rows->bytes);
    free(rows->floats);
    *rows = (describe_rows){NULL, NULL, 0};
}

/* --------------------------------------------------------------------------------------------------------- options */

enum {
    KEYPOINTS_DIR = CLI_OPTION_OWN,
    DETECTOR,
    PRESET,
    SCALE,
    ORIENTATION,
    FLOAT,
    EXIF,
    WHITE,
    PATCHES,
    SIDE,
    FORMAT
};

static bool take_number(cli_common *common, int option, describe_options *options)
{
    int64_t whole;
    double number;
    switch (option) {
    case 'n':
        if (!cli_integer(common, "-n", optarg, 1, 1000000, &whole)) return false;
        options->max_keypoints = (int32_t)whole;
        return true;
    case WHITE:
        if (!cli_integer(common, "--white", optarg, 1, 65535, &whole)) return false;
        options->reading.white = (int32_t)whole;
        return true;
    case SIDE:
        if (!cli_integer(common, "--side", optarg, 32, 1024, &whole)) return false;
        options->side = (int32_t)whole;
        return true;
    default:
        if (!cli_number(common, "--scale", optarg, 0.01, 100, &number)) return false;
        options->scale = (float)number;
        return true;
    }
}

static bool take_word(cli_common *common, int option, describe_options *options)
{
    static const char *const detectors[] = {"orb", "sift", NULL};
    static const char *const orientations[] = {"given", "compute", "none", NULL};
    static const char *const formats[] = {"npy", "csv", "hex", NULL};
    static const char *const suffixes[] = {".npy", ".csv", ".hex"};
    int index;
    switch (option) {
    case DETECTOR:
        if (!cli_choice(common, "--detector", optarg, detectors, &index)) return false;
        options->detector = index == 0 ? KB_DETECTOR_ORB : KB_DETECTOR_SIFT;
        return true;
    case ORIENTATION:
        if (!cli_choice(common, "--orientation", optarg, orientations, &index)) return false;
        options->orientation = (orientation)index;
        return true;
    case FORMAT:
        if (!cli_choice(common, "--format", optarg, formats, &index)) return false;
        options->suffix = suffixes[index];
        return true;
    default: return cli_preset(common, optarg, &options->scale);
    }
}

static bool read_options(cli_common *common, int argc, char **argv, describe_options *options)
{
    static const struct option longs[] = {
        {"model", required_argument, NULL, 'm'},           {"keypoints", required_argument, NULL, 'k'},
        {"keypoints-dir", required_argument, NULL, KEYPOINTS_DIR}, {"detector", required_argument, NULL, DETECTOR},
        {"max-keypoints", required_argument, NULL, 'n'},   {"preset", required_argument, NULL, PRESET},
        {"scale", required_argument, NULL, SCALE},         {"orientation", required_argument, NULL, ORIENTATION},
        {"float", no_argument, NULL, FLOAT},               {"exif", no_argument, NULL, EXIF},
        {"white", required_argument, NULL, WHITE},         {"patches", required_argument, NULL, PATCHES},
        {"side", required_argument, NULL, SIDE},           {"output", required_argument, NULL, 'o'},
        {"format", required_argument, NULL, FORMAT},       CLI_COMMON_OPTIONS,
        {NULL, 0, NULL, 0}};
    int option;
    while ((option = cli_getopt(common, argc, argv, "m:k:n:o:", longs)) != CLI_END) {
        switch (option) {
        case 'm': options->model_name = optarg; break;
        case 'k': options->keypoints = optarg; break;
        case KEYPOINTS_DIR: options->keypoints_folder = optarg; break;
        case 'o': options->output = strcmp(optarg, "-") == 0 ? NULL : optarg; break;
        case FLOAT: options->floats = true; break;
        case EXIF: options->reading.exif = true; break;
        case PATCHES: options->patches = optarg; break;
        case 'n':
        case WHITE:
        case SIDE:
        case SCALE:
            if (!take_number(common, option, options)) return false;
            break;
        case DETECTOR:
        case ORIENTATION:
        case FORMAT:
        case PRESET:
            if (!take_word(common, option, options)) return false;
            break;
        default: return false;
        }
    }
    return true;
}

/* What the options say together; CLI_DONE when it makes sense. */
static int check_options(const cli_common *common, const describe_options *options, int arguments)
{
    const char *out = options->output;
    if (options->patches && arguments) return cli_usage_error(common, "--patches takes no images beside it");
    if (!options->patches && !arguments) return cli_usage_error(common, "name at least one image");
    if (options->keypoints && options->keypoints_folder) {
        return cli_usage_error(common, "--keypoints and --keypoints-dir exclude each other");
    }
    if ((options->keypoints || options->keypoints_folder) && options->detector) {
        return cli_usage_error(common, "keypoints are given: --detector has nothing to do");
    }
    if (common->json && !out)
        return cli_usage_error(common, "--json needs -o, since the rows would go to standard output");
    if (io_path_is_plain(out) && !io_rows_suffix_known(out, options->floats)) {
        return cli_usage_error(common,
                               "the output %s must end in .npy, .csv%s, or be a folder, new ones with / at the end",
                               out, options->floats ? "" : " or .hex");
    }
    if (options->floats && strcmp(options->suffix, ".hex") == 0)
        return cli_usage_error(common, "floats do not go into hex");
    return CLI_DONE;
}

static int open_model(describe_options *options)
{
    io_error error;
    if (!options->model_name) options->model_name = cli_model_default();
    if (!cli_model_open(options->model_name, &options->model, &error)) return cli_error("%s", error.text);
    KB_INIT(options->info);
    kb_status status = kb_model_get_info(options->model, &options->info);
    if (status != KB_OK) return cli_error("%s: %s", options->model_name, kb_status_string(status));
    if (options->floats && options->info.row_floats == 0) {
        return cli_error("%s: --float needs sift or rootsift, not a model of kind %s", options->model_name,
                         kb_kind_name(options->info.spec->kind));
    }
    return CLI_DONE;
}

static int describe_legacy(int argc, char **argv)
{
    cli_common common;
    describe_options options = {.suffix = ".npy", .max_keypoints = 2000, .reading = {.keep16 = true}};
    cli_begin(&common, describe_help);
    if (!read_options(&common, argc, argv, &options)) return common.exit_code;
    int count = argc - optind;
    int code = check_options(&common, &options, count);
    if (code == CLI_DONE && !cli_ready(&common)) code = common.exit_code;
    if (code == CLI_DONE) code = open_model(&options);
    if (code == CLI_DONE) {
        code = options.patches ? describe_patches(&common, &options)
                               : describe_images(&common, &options, count, argv + optind);
    }
    kb_model_free(options.model);
    return cli_end(&common, code);
}

const cli_command command_describe = {
    .name = "describe", .summary = "turn keypoints of images, or ready patches, into descriptors", .legacy = describe_legacy, .legacy_help = describe_help};
