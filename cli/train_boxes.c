/* keybits train bad, keybits train bag. */
#include <stdlib.h>
#include <string.h>

#include "io/number.h"
#include "io/progress.h"
#include "learn/train_log.h"
#include "train.h"

#define BOX_HELP(kind, planes)                                                                                 \
    "usage: keybits train " kind " SET.kbp... -o MODEL.kbm [options]\n"                                        \
    "Chooses boxes one bit after the other: each is the best of many candidates for the triplets that the\n"   \
    "bits so far leave wrong.\n"                                                                               \
    "\n" TRAIN_MODEL_HELP TRAIN_DATA_HELP                                                                      \
    "Choosing\n"                                                                                               \
    "  --triplets N       64 to 262144 a bit (default 8192)\n"                                                 \
    "  --batch N          16 to 8192 points among which hard negatives are found (default 1024)\n"             \
    "  --neighbours N     1 to 8192: points of a batch taken side by side in the set, so that negatives\n"     \
    "                     come from the same photograph (default 1: from everywhere)\n"                        \
    "  --candidates N     1 to 1000000 a bit (default 1000)\n"                                                 \
    "  --local-search N   0 to 100 steps of improving the best candidates (default 0)\n"                       \
    "  --margin M         above 0, up to 2, share of the bits (default 0.2)\n"                                 \
    "  --keep N           1 to 1024: bits for which a batch stays (default 4)\n"                               \
    "  --loss NAME        triplet; binary: boosted pairs as BEBLID; orb: ORB's rule (default triplet)\n"       \
    "Boxes\n"                                                                                                  \
    "  --radius A-B       1 to 7; one number: all alike (default 1-7)\n"                                       \
    "  --two-radii        the boxes of a pair may differ in size\n"                                            \
    "  --fixed-threshold  all thresholds are 0\n"                                                              \
    "  --boxes N          2 to 2048: from so many different boxes on, use only these (default: no limit)\n"    \
    planes                                                                                                     \
    "\n" CLI_COMMON_HELP

static const char bad_help[] = BOX_HELP("bad", "");
static const char bag_help[] = BOX_HELP("bag",
    "  --planes LIST      channels, such as 1-8 or 0,1,3,5,7: 0 is gray, 1 to 8 gradients towards 0, 45, ... 315\n"
    "                     degrees (default 1-8)\n");

enum {
    TRIPLETS = TRAIN_OWN, BATCH, NEIGHBOURS, CANDIDATES, LOCAL_SEARCH, MARGIN, KEEP, LOSS, RADIUS, TWO_RADII,
    FIXED_THRESHOLD, BOXES, PLANES
};

static const struct option longs[] = {
    TRAIN_DATA_OPTIONS,
    TRAIN_MODEL_OPTIONS,
    {"triplets", required_argument, NULL, TRIPLETS},
    {"batch", required_argument, NULL, BATCH},
    {"neighbours", required_argument, NULL, NEIGHBOURS},
    {"candidates", required_argument, NULL, CANDIDATES},
    {"local-search", required_argument, NULL, LOCAL_SEARCH},
    {"margin", required_argument, NULL, MARGIN},
    {"keep", required_argument, NULL, KEEP},
    {"loss", required_argument, NULL, LOSS},
    {"radius", required_argument, NULL, RADIUS},
    {"two-radii", no_argument, NULL, TWO_RADII},
    {"fixed-threshold", no_argument, NULL, FIXED_THRESHOLD},
    {"boxes", required_argument, NULL, BOXES},
    {"planes", required_argument, NULL, PLANES},
    CLI_COMMON_OPTIONS,
    {NULL, 0, NULL, 0},
};

/* ---------------------------------------------------------------------------------------------------------- options */

/* "3" or "1-7". */
static bool read_range(cli_common *common, const char *name, const char *text, int64_t low, int64_t high, int64_t *from,
                       int64_t *to)
{
    char *copy = io_copy_string(text), *dash = strchr(copy, '-');
    if (dash) *dash = 0;
    bool ok = cli_integer(common, name, copy, low, high, from) &&
              cli_integer(common, name, dash ? dash + 1 : copy, *from, high, to);
    free(copy);
    return ok;
}

/* "1-8" or "0,1,3": a bit for every channel. */
static bool read_planes(cli_common *common, const char *text, uint32_t *planes)
{
    char *copy = io_copy_string(text), *rest = copy;
    bool ok = true;
    *planes = 0;
    for (char *word = strtok_r(rest, ",", &rest); word && ok; word = strtok_r(NULL, ",", &rest)) {
        int64_t from, to;
        ok = read_range(common, "--planes", word, 0, KB_PLANES - 1, &from, &to);
        for (int64_t c = from; ok && c <= to; c++) *planes |= 1u << c;
    }
    if (ok && *planes == 0) ok = cli_integer(common, "--planes", text, 0, KB_PLANES - 1, &(int64_t){0});
    free(copy);
    return ok;
}

static bool read_whole(cli_common *common, const char *name, int64_t low, int64_t high, int32_t *value)
{
    int64_t whole;
    if (!cli_integer(common, name, optarg, low, high, &whole)) return false;
    *value = (int32_t)whole;
    return true;
}

static bool read_option(cli_common *common, int option, kb_learn_options *o, train_options *shared)
{
    static const char *const losses[] = {"triplet", "binary", "orb", NULL};
    int64_t from, to;
    int index;
    switch (option) {
    case TRIPLETS: return read_whole(common, "--triplets", 64, 262144, &o->triplets);
    case BATCH: return read_whole(common, "--batch", 16, 8192, &o->batch);
    case NEIGHBOURS: return read_whole(common, "--neighbours", 1, 8192, &o->neighbours);
    case CANDIDATES: return read_whole(common, "--candidates", 1, 1000000, &o->candidates);
    case LOCAL_SEARCH: return read_whole(common, "--local-search", 0, 100, &o->local_search);
    case MARGIN: return cli_number(common, "--margin", optarg, 0.001, 2, &o->margin);
    case KEEP: return read_whole(common, "--keep", 1, KB_MAX_BITS, &o->keep);
    case BOXES: return read_whole(common, "--boxes", 2, 2 * KB_MAX_BITS, &o->distinct_boxes);
    case PLANES: return read_planes(common, optarg, &o->planes);
    case TWO_RADII: o->two_radii = 1; return true;
    case FIXED_THRESHOLD: o->fixed_threshold = 1; return true;
    case LOSS:
        if (!cli_choice(common, "--loss", optarg, losses, &index)) return false;
        o->loss = (kb_learn_loss)index;
        return true;
    case RADIUS:
        if (!read_range(common, "--radius", optarg, 1, KB_MAX_RADIUS, &from, &to)) return false;
        o->min_radius = (int32_t)from;
        o->max_radius = (int32_t)to;
        return true;
    default: return train_option(shared, common, option);
    }
}

/* --------------------------------------------------------------------------------------------------------- learning */

typedef struct box_job {
    kb_learn_options o;
    train_options shared;
    train_data data;
    cli_common *common;
    kbi_train_log log;
    io_progress progress;
    double started;
    bool log_failed;
    io_error error;
} box_job;

static void augment_sample(void *context, const uint8_t *patches, size_t n, uint64_t seed, const kb_parallel *parallel,
                           uint8_t *out)
{
    kbi_augment_patches(context, patches, n, KB_PATCH_SIDE, seed, parallel, out);
}

static int32_t on_bit(void *context, const kb_learn_progress *p)
{
    box_job *job = context;
    kbi_train_row row = {p->loss, p->active, p->mean, io_clock_seconds() - job->started, p->boxes[p->bit - 1]};
    if (!kbi_train_log_add(&job->log, &row, &job->error)) {
        job->log_failed = true;
        return 0;
    }
    io_progress_update(&job->progress, (size_t)p->bit);
    if (p->bit % 32 == 0 || p->bit == p->bits) {
        io_progress_wipe(&job->progress);
        cli_say(job->common, "bit %d of %d: loss %.4f, %.0f %% of triplets active", p->bit, p->bits, p->loss,
                100 * p->active);
    }
    return 1;
}

/* How the model is learned, in words; with the hash of the patches this decides the result. */
static char *settings_text(const box_job *job)
{
    static const char *const losses[] = {"triplet", "binary", "orb"};
    const kb_learn_options *o = &job->o;
    const train_data *d = &job->data;
    char *text = io_alloc(1024, 1), margin[32];
    int n =
        snprintf(text, 1024,
                 "keybits train %s: bits %d, loss %s, seed %llu, triplets %d, batch %d, neighbours %d, candidates %d, "
                 "local search %d, margin %s, keep %d, planes %#x, radius %d-%d%s%s, boxes %d, augment %s\n",
                 kb_kind_name(o->kind), o->bits, losses[o->loss], (unsigned long long)o->seed, o->triplets, o->batch,
                 o->neighbours, o->candidates, o->local_search, io_number_format(margin, o->margin, 9), o->keep,
                 (unsigned)o->planes, o->min_radius, o->max_radius, o->two_radii ? ", two radii" : "",
                 o->fixed_threshold ? ", fixed threshold" : "", o->distinct_boxes, job->shared.augment ? "on" : "off");
    snprintf(text + n, 1024 - (size_t)n, "learned from %zu patches of %zu points, hash %016llx\n", d->set.patches,
             d->set.points, (unsigned long long)d->hash);
    return text;
}

static bool write_page(box_job *job, const kb_model *model)
{
    size_t n = (size_t)job->log.count;
    double *x = io_alloc(3 * n, sizeof *x), *loss = x + n, *active = loss + n;
    for (size_t i = 0; i < n; i++) {
        x[i] = (double)(i + 1);
        loss[i] = job->log.rows[i].loss;
        active[i] = job->log.rows[i].active;
    }
    const train_curve curves[] = {{"loss", loss}, {"share of triplets that are active", active}};
    train_page page = {model, x, n, "bits", curves, job->o.loss == KB_LEARN_TRIPLET ? 2 : 1, &job->data.set};
    bool written = train_page_write(job->shared.page, &page, job->common->parallel, &job->error);
    free(x);
    return written;
}

static int finish(box_job *job, const kb_box_pair *boxes, const char *text)
{
    kb_model_spec spec;
    kb_model *model;
    KB_INIT(spec);
    spec.kind = job->o.kind;
    spec.bits = job->o.bits;
    spec.text = text;
    spec.boxes = boxes;
    if (!train_model_write(&spec, &job->shared, &job->data, &model)) return CLI_FAILED;
    train_validate(&job->data, model, job->common);
    bool ok = !job->shared.page || write_page(job, model);
    if (!ok) cli_error("%s", job->error.text);
    kb_model_free(model);
    return ok ? CLI_DONE : CLI_FAILED;
}

static int learn(box_job *job, const char *text)
{
    kb_learn_options *o = &job->o;
    kb_learn_patches patches = {job->data.set.pixels, job->data.set.label, job->data.set.patches};
    kb_box_pair boxes[KB_MAX_BITS], start[KB_MAX_BITS];
    kb_error problem;
    for (int32_t i = 0; i < job->log.count; i++) start[i] = job->log.rows[i].pair;
    o->start = start;
    o->started = job->log.count;
    o->report = on_bit;
    o->report_context = job;
    o->parallel = job->common->parallel;
    o->augment = job->shared.augment ? augment_sample : NULL;
    o->augment_context = &job->shared.amounts;
    if (o->started) cli_say(job->common, "going on after bit %d", o->started);
    job->started = io_clock_seconds() - (o->started ? job->log.rows[o->started - 1].seconds : 0);

    io_progress_start(&job->progress, kb_kind_name(o->kind), (size_t)o->bits, job->common->quiet);
    kb_status status = kb_learn_boxes(&patches, o, boxes, NULL, &problem);
    io_progress_end(&job->progress);
    if (status != KB_OK) return cli_error("%s", problem.text);
    if (job->log_failed) return cli_error("%s", job->error.text);
    return finish(job, boxes, text);
}

static int run(box_job *job, int argc, char **argv)
{
    if (!job->shared.output) return cli_usage_error(job->common, "needs -o MODEL.kbm");
    if (!train_data_load(&job->data, &job->shared, job->common, argc, argv)) return job->common->exit_code;
    job->o.bits = job->shared.bits;
    job->o.seed = job->shared.seed;
    kb_learn_defaults(&job->o);
    char *text = settings_text(job),
         *log = job->shared.log ? io_copy_string(job->shared.log) : train_path(&job->shared, ".csv");
    int code = CLI_FAILED;
    if (!kbi_train_log_open(&job->log, log, train_hash(TRAIN_HASH_START, text, strlen(text)), job->o.bits,
                           job->shared.resume, &job->error)) {
        cli_error("%s", job->error.text);
    } else {
        code = learn(job, text);
        if (!kbi_train_log_close(&job->log, &job->error)) code = cli_error("%s", job->error.text);
    }
    free(log);
    free(text);
    train_data_free(&job->data);
    return code;
}

static int train(kb_kind kind, const char *help, int argc, char **argv)
{
    cli_common common;
    box_job job;
    int option;
    memset(&job, 0, sizeof job);
    KB_INIT(job.o);
    job.o.kind = kind;
    job.common = &common;
    train_options_begin(&job.shared);
    cli_begin(&common, help);
    while ((option = cli_getopt(&common, argc, argv, "o:", longs)) != CLI_END) {
        if (option == CLI_STOP) return cli_end(&common, common.exit_code);
        if (!read_option(&common, option, &job.o, &job.shared)) return cli_end(&common, common.exit_code);
    }
    if (kind == KB_BAD && job.o.planes && job.o.planes != 1)
        return cli_end(&common, cli_usage_error(&common, "--planes is for bag; bad has gray only"));
    if (!cli_ready(&common)) return cli_end(&common, common.exit_code);
    return cli_end(&common, run(&job, argc, argv));
}

int train_bad(int argc, char **argv) { return train(KB_BAD, bad_help, argc, argv); }
int train_bag(int argc, char **argv) { return train(KB_BAG, bag_help, argc, argv); }
