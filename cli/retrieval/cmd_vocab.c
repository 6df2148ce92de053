/* SPDX-License-Identifier: Apache-2.0 */
/* keybits vocab: vocabularies are trained, shown and converted. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/json.h"
#include "io/progress.h"
#include "pipeline/models.h"
#include "retrieval.h"

/* ------------------------------------------------------------------------------------------------------------ train */

typedef struct train_job {
    cli_pipeline pipeline;
    io_read_options reading;
    const char *output;
    int32_t words, branching, levels, iterations;
    uint64_t seed;
    /* what was gathered */
    cli_common *common;
    const io_names *names;
    uint8_t *rows;
    size_t count, room, row_bytes;
    size_t *ends;
    size_t images, failed;
} train_job;

static void gather_rows(train_job *j, const uint8_t *rows, size_t count)
{
    if (j->count + count > j->room) {
        j->room = (j->count + count) * 3 / 2;
        j->rows = io_grow(j->rows, j->room, j->row_bytes);
    }
    if (count > 0) memcpy(j->rows + j->count * j->row_bytes, rows, count * j->row_bytes);
    j->count += count;
    j->ends = io_grow(j->ends, j->images + 1, sizeof *j->ends);
    j->ends[j->images++] = j->count;
}

static bool gather_image(void *context, size_t index, features *f, const char *why)
{
    train_job *j = context;
    (void)index;
    if (f) {
        gather_rows(j, f->rows.bytes, f->rows.count);
    } else {
        cli_error("%s", why);
        j->failed++;
    }
    return true;
}

/* Rows that were computed before: a file is an image. */
static bool gather_files(train_job *j, const io_names *files, io_error *error)
{
    for (size_t i = 0; i < files->count; i++) {
        io_rows rows;
        if (!io_rows_read(files->items[i], &rows, error)) return false;
        bool fits = rows.bytes && rows.width == j->row_bytes;
        if (fits) gather_rows(j, rows.bytes, rows.count);
        io_rows_free(&rows);
        if (!fits)
            return io_fail(error, "%s: rows of %zu bytes are expected, as the model %s gives them", files->items[i],
                           j->row_bytes, j->pipeline.model_name);
    }
    return true;
}

/* Rows are files by their suffix, all else is images. */
static bool train_gather(train_job *j, int count, char **arguments, io_error *error)
{
    io_names images = {0}, files = {0}, named = {0};
    for (int i = 0; i < count; i++) io_names_add(features_is_rows_file(arguments[i]) ? &files : &named, arguments[i]);
    bool ok = named.count == 0 || retrieval_images(j->common, (int)named.count, named.items, &images, error);
    ok = ok && (images.count == 0 || retrieval_describe(j->common, &j->pipeline, &j->reading, &images, "describing",
                                                     gather_image, j, error));
    ok = ok && gather_files(j, &files, error);
    if (ok && j->count == 0) ok = io_fail(error, "there are no descriptors to learn from");
    if (ok && j->images < 2)
        ok = io_fail(error, "words weigh more the fewer images have them: at least two images are needed");
    io_names_free(&images);
    io_names_free(&files);
    io_names_free(&named);
    return ok;
}

/* As many levels of 10 as needed, then the least branching that gives so many words. */
static void train_shape(train_job *j)
{
    if (j->levels == 0) {
        double k = j->branching ? j->branching : 10;
        for (double reach = k; reach < j->words && j->levels < KB_MAX_LEVELS - 1; reach *= k) j->levels++;
        j->levels++;
    }
    if (j->branching == 0) {
        for (j->branching = 2; pow(j->branching, j->levels) < j->words && j->branching < KB_MAX_BRANCHING;)
            j->branching++;
    }
}

static void vocabulary_json(io_json *json, const kb_vocabulary_info *info)
{
    char id[24];
    snprintf(id, sizeof id, "%016llx", (unsigned long long)info->model_id);
    io_json_string(json, "model", info->model_name[0] ? info->model_name : NULL);
    io_json_string(json, "model_id", info->model_id ? id : NULL);
    io_json_integer(json, "words", info->words);
    io_json_integer(json, "nodes", info->nodes);
    io_json_integer(json, "branching", info->branching);
    io_json_integer(json, "levels", info->levels);
    io_json_integer(json, "row_bytes", info->row_bytes);
    io_json_integer(json, "bytes", (int64_t)info->bytes);
}

static void train_report(const train_job *j, const kb_vocabulary *vocabulary, double seconds)
{
    kb_vocabulary_info info;
    KB_INIT(info);
    kb_vocabulary_get_info(vocabulary, &info);
    cli_say(j->common,
            "%s: %u words (%d children, %d levels) from %zu descriptors of %zu images, %.1f s; %zu images failed",
            j->output, info.words, info.branching, info.levels, j->count, j->images, seconds, j->failed);
    if (!j->common->json) return;
    io_json json;
    io_json_begin(&json, stdout);
    io_json_object(&json, NULL);
    vocabulary_json(&json, &info);
    io_json_integer(&json, "images", (int64_t)j->images);
    io_json_integer(&json, "descriptors", (int64_t)j->count);
    io_json_integer(&json, "failed", (int64_t)j->failed);
    io_json_number(&json, "seconds", seconds);
    io_json_end(&json);
}

static bool train_write(train_job *j, io_error *error)
{
    kb_vocabulary_options o;
    kb_vocabulary *vocabulary;
    kb_error why;
    io_vocabulary_format format = IO_VOCABULARY_KEYBITS;
    train_shape(j);
    KB_INIT(o);
    o.branching = j->branching;
    o.levels = j->levels;
    o.iterations = j->iterations;
    o.seed = j->seed;
    o.model = j->pipeline.model;
    o.image_ends = j->ends;
    o.images = j->images;
    o.parallel = j->common->parallel;
    double start = io_clock_seconds();
    if (kb_vocabulary_train(j->rows, j->count, j->row_bytes, &o, NULL, &vocabulary, &why) != KB_OK)
        return io_fail(error, "%s", why.text);
    double seconds = io_clock_seconds() - start;
    io_vocabulary_format_of(j->output, &format);
    bool ok = io_vocabulary_write(j->output, vocabulary, format, error);
    if (ok) train_report(j, vocabulary, seconds);
    kb_vocabulary_free(vocabulary);
    return ok;
}

static int train_run(cli_common *common, void *job, int count, char **arguments)
{
    train_job *j = job;
    io_error error;
    j->common = common;
    if (!j->output) return cli_usage_error(common, "-o with the vocabulary's file is needed");
    if (!retrieval_open(common, &j->pipeline, &error)) return cli_error("%s", error.text);
    j->row_bytes = (size_t)j->pipeline.pipeline.info.row_bytes;
    if (!train_gather(j, count, arguments, &error) || !train_write(j, &error)) return cli_error("%s", error.text);
    return j->failed ? CLI_FAILED : CLI_DONE;
}

static void train_begin(void *job)
{
    train_job *j = job;
    cli_pipeline_begin(&j->pipeline);
    reading_begin(&j->reading);
}

static void train_end(void *job)
{
    train_job *j = job;
    free(j->rows);
    free(j->ends);
    cli_pipeline_close(&j->pipeline);
}

static const cli_option train_options[] = {
    {"output", 'o', CLI_OUTPUT(train_job, output), "FILE", .rank = CLI_FREQUENT,
     .help = "the vocabulary; the suffix says in which format (keybits vocab convert --help)"},
    {"words", 'w', CLI_NUMBER(train_job, words, 2, 100000000), "N", "10000", .help = "words at most"},
    {"branching", 'k', CLI_NUMBER(train_job, branching, 2, KB_MAX_BRANCHING), "K",
     .help = "children per node (default: what the words need with 10 or fewer)"},
    {"tree-levels", 'L', CLI_NUMBER(train_job, levels, 1, KB_MAX_LEVELS), "L",
     .help = "levels of the tree (default: what the words need)"},
    {"iterations", 0, CLI_NUMBER(train_job, iterations, 1, 1000), "N", "10",
     .help = "iterations of clustering per node"},
    {"seed", 0, CLI_NUMBER(train_job, seed, 0, CLI_NO_LIMIT), "S", "0",
     .help = "the same seed gives the same vocabulary"},
    CLI_SECTION("Images"),
    CLI_GROUP(train_job, reading, photo_options),
    CLI_SECTION("Keypoints"),
    CLI_GROUP(train_job, pipeline.options.detect, detector_options),
    CLI_SECTION("Descriptors"),
    CLI_GROUP(train_job, pipeline, model_option),
    CLI_GROUP(train_job, pipeline.options, patch_options),
    {0}};

static const cli_command vocab_train = {
    .name = "vocab train",
    .examples = "photos -o words.kbv # from images",
    .summary = "learn a vocabulary from images or descriptors",
    .usage = "IMAGE... -o FILE.kbv [options]\nROWS.npy... -o FILE.kbv [options]",
    .about = "Describes the images and clusters the descriptors into a tree of words (hierarchical k-majority). Each "
             "image, or each file of descriptors (.npy, .hex), counts once in the weights of the words. The same input "
             "gives the same file on any number of threads. An image that cannot be read is named and left out.\n\n"
             CLI_IMAGES_HELP,
    .options = train_options,
    .least = 1,
    .most = CLI_ANY,
    .wants = "name images or files of descriptors",
    .reads_arguments = true,
    .job_size = sizeof(train_job),
    .begin = train_begin,
    .run = train_run,
    .end = train_end};

/* ------------------------------------------------------------------------------------------------------------- show */

/* Nodes per level and how many children they have. */
static void show_levels(const kb_vocabulary *vocabulary, uint32_t nodes)
{
    uint8_t *level = io_alloc(nodes, 1);
    size_t count[65] = {0}, leaves[65] = {0};
    double low = 1e300, high = 0;
    kb_vocabulary_node node;
    for (uint32_t i = 0; kb_vocabulary_get_node(vocabulary, i, &node); i++) {
        uint8_t at = level[i] < 64 ? level[i] : 64;
        count[at]++;
        leaves[at] += node.children == 0;
        for (uint32_t c = 0; c < node.children; c++) level[node.first_child + c] = (uint8_t)(at < 64 ? at + 1 : 64);
        if (node.children > 0) continue;
        low = node.weight < low ? node.weight : low;
        high = node.weight > high ? node.weight : high;
    }
    printf("weights    %.4g to %.4g\n", low, high);
    for (int i = 0; i < 65 && count[i] > 0; i++)
        printf("level %-4d %zu nodes, %zu of them words\n", i, count[i], leaves[i]);
    free(level);
}

static int show_run(cli_common *common, void *job, int count, char **arguments)
{
    static const char *const scorings[] = {"L1", "L2", "chi square", "KL", "Bhattacharyya", "dot product"};
    static const char *const weightings[] = {"tf-idf", "tf", "idf", "binary"};
    io_vocabulary v;
    io_error error;
    kb_vocabulary_info info;
    (void)job, (void)count;
    if (!photos_vocabulary_open(arguments[0], NULL, &v, &error)) return cli_error("%s", error.text);
    KB_INIT(info);
    kb_vocabulary_get_info(v.vocabulary, &info);
    if (common->json) {
        io_json json;
        io_json_begin(&json, stdout);
        io_json_object(&json, NULL);
        io_json_string(&json, "format", io_vocabulary_formats[v.format]);
        vocabulary_json(&json, &info);
        io_json_string(&json, "scoring", scorings[info.scoring]);
        io_json_string(&json, "weighting", weightings[info.weighting]);
        io_json_end(&json);
    } else {
        printf(
            "format     %s\nmodel      %s (%016llx)\nwords      %u\nnodes      %u\ntree       %d children, %d levels\n"
            "rows       %d bytes\nscoring    %s, %s\nmemory     %zu bytes\n",
            io_vocabulary_formats[v.format], info.model_name[0] ? cli_shown(info.model_name) : "unknown",
            (unsigned long long)info.model_id, info.words, info.nodes, info.branching, info.levels, info.row_bytes,
            scorings[info.scoring], weightings[info.weighting], info.bytes);
        show_levels(v.vocabulary, info.nodes);
    }
    io_vocabulary_free(&v);
    return CLI_DONE;
}

static const cli_command vocab_show = {.name = "vocab show",
                                       .examples = "words.kbv # what is in it",
                                       .summary = "what is in a vocabulary",
                                       .usage = "FILE|NAME [options]",
                                       .about = "Prints the model, the size and the shape of a vocabulary of any "
                                                "format, or of a built-in one (keybits vocab list).",
                                       .least = 1,
                                       .most = 1,
                                       .wants = "name one vocabulary",
                                       .run = show_run};

/* ------------------------------------------------------------------------------------------------------------- list */

static void list_one(const cli_common *common, io_json *json, const char *name, size_t size, bool built_in)
{
    if (!common->json) {
        printf("%-16s %zu bytes, %s\n", name, size, built_in ? "built in" : "installed");
        return;
    }
    io_json_object(json, NULL);
    io_json_string(json, "name", name);
    io_json_integer(json, "bytes", (int64_t)size);
    io_json_bool(json, "built_in", built_in);
    io_json_end(json);
}

static int list_run(cli_common *common, void *job, int count, char **arguments)
{
    static const char *const installed[] = {"bad256-10k", "bag256-10k"};
    io_json json;
    const char *name;
    size_t size;
    (void)job, (void)count, (void)arguments;
    io_json_begin(&json, stdout);
    if (common->json) io_json_array(&json, NULL);
    for (size_t i = 0; (name = photos_vocabulary_name(i, &size)); i++) list_one(common, &json, name, size, true);
    for (size_t i = 0; i < sizeof installed / sizeof *installed; i++)
        if (photos_vocabulary_installed(installed[i], &size)) list_one(common, &json, installed[i], size, false);
    if (common->json) io_json_end(&json);
    return CLI_DONE;
}

static const cli_command vocab_list = {.name = "vocab list",
                                       .examples = "--json # the built-in ones",
                                       .summary = "the built-in vocabularies",
                                       .usage = "[options]",
                                       .about = "Prints the names of the built-in vocabularies.",
                                       .run = list_run};

/* ---------------------------------------------------------------------------------------------------------- convert */

typedef struct convert_job {
    const char *output, *format, *model;
} convert_job;

/* The same tree with the id and the name of a model, which other formats do not carry. */
static bool name_model(const char *name, const kb_vocabulary *from, kb_vocabulary **out, io_error *error)
{
    kb_model *model;
    kb_model_info info;
    kb_vocabulary_info v;
    kb_vocabulary_spec spec;
    kb_vocabulary_node node;
    kb_error why;
    if (!models_open(name, &model, error)) return false;
    KB_INIT(info);
    KB_INIT(v);
    KB_INIT(spec);
    kb_model_get_info(model, &info);
    kb_vocabulary_get_info(from, &v);
    io_tree tree = {.row_bytes = (size_t)v.row_bytes};
    io_tree_reserve(&tree, v.nodes - 1);
    for (uint32_t i = 0; kb_vocabulary_get_node(from, i, &node); i++) {
        for (uint32_t c = 0; c < node.children; c++) tree.parents[node.first_child + c] = i;
        memcpy(tree.rows + i * tree.row_bytes, node.row, tree.row_bytes);
        tree.weights[i] = node.weight;
    }
    spec.nodes = v.nodes;
    spec.parents = tree.parents;
    spec.rows = tree.rows;
    spec.weights = tree.weights;
    spec.row_bytes = v.row_bytes;
    spec.branching = v.branching;
    spec.levels = v.levels;
    spec.scoring = v.scoring;
    spec.weighting = v.weighting;
    spec.model_id = info.id;
    spec.model_name = info.spec->name;
    bool ok = info.row_bytes == v.row_bytes ||
              io_fail(error, "rows of %d bytes, but those of the model %s have %d", v.row_bytes, name, info.row_bytes);
    if (ok && kb_vocabulary_create(&spec, NULL, out, &why) != KB_OK) ok = io_fail(error, "%s", why.text);
    io_tree_free(&tree);
    kb_model_free(model);
    return ok;
}

static bool convert_write(const convert_job *j, const io_vocabulary *v, io_vocabulary_format format, io_error *error)
{
    kb_vocabulary *named = NULL;
    if (j->model && !name_model(j->model, v->vocabulary, &named, error)) return false;
    bool ok = io_vocabulary_write(j->output, named ? named : v->vocabulary, format, error);
    kb_vocabulary_free(named);
    return ok;
}

static int convert_run(cli_common *common, void *job, int count, char **arguments)
{
    convert_job *j = job;
    io_vocabulary v;
    io_error error;
    io_vocabulary_format format = IO_VOCABULARY_KEYBITS;
    (void)count;
    if (!j->output) return cli_usage_error(common, "-o with the new file is needed");
    if (j->format) {
        for (int i = 0; io_vocabulary_formats[i]; i++)
            if (strcmp(io_vocabulary_formats[i], j->format) == 0) format = (io_vocabulary_format)i;
    } else if (!io_vocabulary_format_of(j->output, &format)) {
        return cli_usage_error(common, "%s: the suffix does not say which format; name it with --format", j->output);
    }
    if (!photos_vocabulary_open(arguments[0], NULL, &v, &error)) return cli_error("%s", error.text);
    bool ok = convert_write(j, &v, format, &error);
    if (ok) cli_say(common, "%s: %s to %s", j->output, io_vocabulary_formats[v.format], io_vocabulary_formats[format]);
    if (ok && common->json) {
        io_json json;
        kb_vocabulary_info info;
        KB_INIT(info);
        kb_vocabulary_get_info(v.vocabulary, &info);
        io_json_begin(&json, stdout);
        io_json_object(&json, NULL);
        io_json_string(&json, "file", j->output);
        io_json_string(&json, "format", io_vocabulary_formats[format]);
        io_json_string(&json, "from", io_vocabulary_formats[v.format]);
        vocabulary_json(&json, &info);
        io_json_end(&json);
    }
    io_vocabulary_free(&v);
    return ok ? CLI_DONE : cli_error("%s", error.text);
}

static const cli_option convert_options[] = {
    {"output", 'o', CLI_OUTPUT(convert_job, output), "FILE", .rank = CLI_FREQUENT, .help = "the new file"},
    {"format", 'f', CLI_CHOICE(convert_job, format, 0), "FORMAT", .words = io_vocabulary_formats,
     .help = "its format (default: by its suffix)"},
    {"model", 'm', CLI_INPUT(convert_job, model), "NAME|FILE",
     .help = "the model of its descriptors, which only .kbv files name (default: unknown)"},
    {0}};

static const cli_command vocab_convert = {
    .name = "vocab convert",
    .examples = "words.kbv -o words.yml # for DBoW2",
    .summary = "vocabularies of ORB-SLAM, DBoW2, DBoW3, FBoW and VINS, in both directions",
    .usage = "FILE|NAME -o FILE [options]",
    .about = "Reads a vocabulary of any format, recognised by content, and writes it in another one:\n\n"
             "  keybits .kbv     orbslam .txt     dbow2 .yml     dbow3 .dbow3     fbow .fbow     vins .bin\n\n"
             "Trees, descriptors and weights are kept (FBoW: weights as single precision). ORB-SLAM and VINS expect "
             "descriptors of 32 bytes. Compressed DBoW3 files cannot be read.",
    .options = convert_options,
    .least = 1,
    .most = 1,
    .wants = "name one vocabulary",
    .reads_arguments = true,
    .job_size = sizeof(convert_job),
    .run = convert_run};

/* ---------------------------------------------------------------------------------------------------------- command */

static const cli_command *const vocab_commands[] = {&vocab_train, &vocab_show, &vocab_list, &vocab_convert, NULL};

const cli_command command_vocab = {.name = "vocab",
                                   .summary = "train, show and convert vocabularies",
                                   .usage = "train|show|list|convert ...",
                                   .about = "Vocabularies turn descriptors into words: for keybits index and loops, "
                                            "and for other programs.",
                                   .subcommands = vocab_commands};
