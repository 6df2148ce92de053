/* SPDX-License-Identifier: Apache-2.0 */
/* keybits train bad, keybits train bag. */
#include <stdlib.h>
#include <string.h>

#include "io/number.h"
#include "io/progress.h"
#include "io/train_log.h"
#include "train.h"

static const char *const losses[] = {"triplet", "binary", "orb", NULL};

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
static bool take_channels(cli_common *common, const char *option, const char *text, void *target)
{
    uint32_t *channels = target;
    io_names list = {NULL, 0};
    bool ok = true;
    io_names_split(&list, text);
    *channels = 0;
    for (size_t i = 0; i < list.count && ok; i++) {
        int64_t from, to;
        ok = read_range(common, option, list.items[i], 0, KB_CHANNELS - 1, &from, &to);
        for (int64_t c = from; ok && c <= to; c++) *channels |= 1u << c;
    }
    io_names_free(&list);
    if (ok && *channels == 0) ok = cli_integer(common, option, text, 0, KB_CHANNELS - 1, &(int64_t){0});
    return ok;
}

/* min_radius and max_radius, which stand side by side. */
static bool take_radius(cli_common *common, const char *option, const char *text, void *target)
{
    kb_learn_options *o = target;
    int64_t from, to;
    if (!read_range(common, option, text, 1, KB_MAX_CELL_RADIUS, &from, &to)) return false;
    o->min_radius = (int32_t)from;
    o->max_radius = (int32_t)to;
    return true;
}

/* --------------------------------------------------------------------------------------------------------- learning */

typedef struct box_job {
    kb_learn_options o;
    train_options shared;
    train_data data;
    cli_common *common;
    io_train_log log;
    io_progress progress;
    train_result result;
    double started; /* of the whole training, before it was interrupted */
    bool log_failed;
    io_error error;
} box_job;

static int32_t report_bit(void *context, const kb_learn_progress *p)
{
    box_job *job = context;
    io_train_row row = {p->loss, p->active, p->mean, io_clock_seconds() - job->started, p->boxes[p->bit - 1]};
    if (!io_train_log_add(&job->log, &row, &job->error)) {
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

#define SETTINGS 1024 /* bytes */

/* "1 2 3 4 7": the channels of a mask. */
static void channel_names(uint32_t channels, char text[2 * KB_CHANNELS + 1])
{
    *text = 0;
    for (int c = 0; c < KB_CHANNELS; c++)
        if (channels >> c & 1) sprintf(text + strlen(text), "%s%d", *text ? " " : "", c);
}

/* How the model is learned, in words; with the hash of the patches this decides the result. */
static char *box_settings(const box_job *job)
{
    const kb_learn_options *o = &job->o;
    const train_data *d = &job->data;
    char *text = io_alloc(SETTINGS, 1), margin[32], channels[2 * KB_CHANNELS + 1];
    channel_names(o->channels, channels);
    int n = snprintf(text, SETTINGS,
                     "keybits train %s%s: bits %d, loss %s, seed %llu, triplets %d, batch %d, candidates %d, "
                     "local search %d, margin %s, keep %d, channels %s, radius %d-%d%s%s, augment %s\n",
                     kb_name(KB_NAMES_KIND, o->kind), job->shared.paper ? " --paper" : "", o->bits, losses[o->loss],
                     (unsigned long long)o->seed, o->triplets, o->batch, o->candidates, o->local_search,
                     io_number_format(margin, o->margin, 9), o->keep, channels, o->min_radius, o->max_radius,
                     o->two_radii ? ", two radii" : "", o->fixed_threshold ? ", fixed threshold" : "",
                     train_augments(&job->shared) ? "on" : "off");
    if (n > 0 && o->screen) n += snprintf(text + n - 1, SETTINGS - (size_t)n, ", screen %d\n", (int)o->screen) - 1;
    if (n > 0 && o->sampler != KB_SAMPLER_PATCH)
        n += snprintf(text + n - 1, SETTINGS - (size_t)n, ", on %s\n", kb_name(KB_NAMES_SAMPLER, o->sampler)) - 1;
    if (n < 0) n = 0; /* printf, too, may run out of memory */
    snprintf(text + n, SETTINGS - (size_t)n, "learned from %zu patches of %zu points, hash %016llx\n", d->set.patches,
             d->set.points, (unsigned long long)d->hash);
    return text;
}

static bool box_page_write(box_job *job)
{
    size_t n = (size_t)job->log.count;
    double *x = io_alloc(3 * n, sizeof *x), *loss = x + n, *active = loss + n;
    for (size_t i = 0; i < n; i++) {
        x[i] = (double)(i + 1);
        loss[i] = job->log.rows[i].loss;
        active[i] = job->log.rows[i].active;
    }
    bool triplets = job->o.loss == KB_LEARN_LOSS_TRIPLET;
    train_page page = {&job->result, x, n, "bits", loss, triplets ? active : NULL, &job->data.set};
    bool written = train_page_write(job->shared.page, &page, job->common->parallel, &job->error);
    free(x);
    return written;
}

static int box_finish(box_job *job, const kb_box_pair *boxes, const char *text)
{
    kb_model_spec spec;
    kb_model *model;
    KB_INIT(spec);
    spec.kind = job->o.kind;
    spec.bits = job->o.bits;
    spec.text = text;
    spec.boxes = boxes;
    if (!train_model_write(&spec, &job->shared, &job->data, &model)) return CLI_FAILED;
    job->result.model = model;
    job->result.loss = job->log.rows[job->log.count - 1].loss;
    train_validate(&job->data, job->common, &job->result);
    bool ok = !job->shared.page || box_page_write(job);
    if (ok) train_tell(job->common, &job->shared, &job->data, &job->result);
    else cli_error("%s", job->error.text);
    kb_model_free(model);
    return ok ? CLI_DONE : CLI_FAILED;
}

static int box_learn(box_job *job, const char *text)
{
    kb_learn_options *o = &job->o;
    kb_learn_patches patches = train_patches(&job->data);
    kb_box_pair boxes[KB_MAX_BITS], start[KB_MAX_BITS];
    kb_error problem;
    for (int32_t i = 0; i < job->log.count; i++) start[i] = job->log.rows[i].pair;
    o->start = start;
    o->started = job->log.count;
    o->report = report_bit;
    o->report_context = job;
    o->parallel = job->common->parallel;
    o->augment = train_augments(&job->shared) ? kbi_augment_sample : NULL;
    o->augment_context = train_amounts(&job->shared);
    if (o->started) cli_say(job->common, "going on after bit %d", o->started);
    job->started = io_clock_seconds() - (o->started ? job->log.rows[o->started - 1].seconds : 0);

    io_progress_start(&job->progress, kb_name(KB_NAMES_KIND, o->kind), (size_t)o->bits, job->common->quiet);
    kb_status status = kb_learn_boxes(&patches, o, boxes, NULL, &problem);
    io_progress_end(&job->progress);
    if (status != KB_OK) return cli_error("%s", problem.text);
    if (job->log_failed) return cli_error("%s", job->error.text);
    return box_finish(job, boxes, text);
}

static int box_run(cli_common *common, void *context, int count, char **arguments)
{
    box_job *job = context;
    job->common = common;
    job->result.started = io_clock_seconds();
    if (!job->shared.output) return cli_usage_error(common, "needs -o MODEL.kbm");
    if (job->o.kind == KB_KIND_BAG && job->shared.bits % 32)
        return cli_usage_error(common, "--bits of bag must be a multiple of 32, not %d", (int)job->shared.bits);
    job->o.sampler = train_sampler(&job->shared, job->o.kind);
    if (job->o.kind == KB_KIND_BAD && job->o.sampler == KB_SAMPLER_PATCH && job->o.max_radius > KB_MAX_RADIUS)
        return cli_usage_error(common, "--radius is 1 to 7 with --sampler patch");
    char *log = train_claim_path(common, &job->shared, job->shared.log, ".csv");
    if (!log) return common->exit_code;
    if (!train_data_load(&job->data, &job->shared, job->o.kind == KB_KIND_BAG, common, count, arguments)) {
        free(log);
        return common->exit_code;
    }
    job->o.bits = job->shared.bits;
    job->o.seed = job->shared.seed;
    job->result.log = log;
    if (job->shared.paper) kb_learn_paper(&job->o);
    kb_learn_defaults(&job->o);
    char *text = box_settings(job);
    int code = CLI_FAILED;
    if (!io_train_log_open(&job->log, log, kbi_sum_bytes(KBI_SUM_START, text, strlen(text)), job->o.bits,
                           job->shared.resume, &job->error)) {
        cli_error("%s", job->error.text);
    } else {
        code = box_learn(job, text);
        if (!io_train_log_close(&job->log, &job->error)) code = cli_error("%s", job->error.text);
    }
    free(log);
    free(text);
    return code;
}

static void box_begin(box_job *job, kb_kind kind)
{
    KB_INIT(job->o);
    job->o.kind = kind;
}

static void bad_begin(void *context) { box_begin(context, KB_KIND_BAD); }
static void bag_begin(void *context) { box_begin(context, KB_KIND_BAG); }
static void box_end(void *context) { train_data_free(&((box_job *)context)->data); }

static const char *const samplers[] = {"patch", "cells", NULL};

static const cli_option box_options[] = {
    CLI_GROUP(box_job, shared, train_data_options),
    TRAIN_HOLD_BACK(box_job, shared.hold_back, "(default 0)"),
    CLI_SECTION("Selection"),
    {"triplets", 0, CLI_NUMBER(box_job, o.triplets, 64, 262144), "N", "8192", .help = "per bit"},
    {"candidates", 0, CLI_NUMBER(box_job, o.candidates, 1, 1000000), "N", "1000", .help = "per bit"},
    {"local-search", 0, CLI_NUMBER(box_job, o.local_search, 0, 100), "N", "0",
     .help = "steps of improving the best candidates"},
    {"screen", 0, CLI_NUMBER(box_job, o.screen, 0, 262144), "N", "0",
     .help = "triplets by which all candidates are judged first; only the best are then judged by all"},
    {"margin", 0, CLI_NUMBER(box_job, o.margin, 0.001, 2), "M", "0.2", .help = ", share of the bits"},
    {"keep", 0, CLI_NUMBER(box_job, o.keep, 1, KB_MAX_BITS), "N",
     .help = ": bits for which a batch of triplets stays (default 4, with --paper 1)"},
    {"loss", 0, CLI_CHOICE(box_job, o.loss, 0), "NAME", "triplet", .words = losses,
     .help = "triplet; binary: AdaBoost over pairs, as BEBLID; orb: ORB's rule"},
    CLI_SECTION("Boxes"),
    {"radius", 0, CLI_CALL(box_job, o), "A-B", .take = take_radius,
     .help = "1 to 8, on samples 1 to 7; one number: all alike (default: all)"},
    {"two-radii", 0, CLI_FLAG(box_job, o.two_radii), .help = "the boxes of a pair may differ in size"},
    {"fixed-threshold", 0, CLI_FLAG(box_job, o.fixed_threshold), .help = "all thresholds are 0"},
    {0}};

static const cli_option bad_options[] = {
    CLI_GROUP(box_job, shared, train_model_options),
    CLI_GROUP(box_job, shared, train_paper_options),
    {"sampler", 0, CLI_CHOICE(box_job, shared.sampler, 0), "NAME", .words = samplers,
     .help = "(docs/sampling.md): the grid that the model is learned for (default: cells; with --paper, patch)"},
    {.type = CLI_TYPE_GROUP, .group = box_options},
    {0}};

/* Of the kinds of boxes, BAG alone has channels; it always has octaves, which cannot be augmented. */
static const cli_option bag_options[] = {
    CLI_GROUP(box_job, shared, train_model_options),
    {.type = CLI_TYPE_GROUP, .group = box_options},
    {"channels", 0, CLI_CALL(box_job, o.channels), "LIST", .take = take_channels,
     .help = ", such as 1-8 or 1,3,5,7: gradients towards 0, 45, ... 315 degrees (default 1-8)"},
    {0}};

#define BOX_EXAMPLES(set) set " -o my.kbm # with the defaults\n" set " -o my.kbm --hold-back 0.2 # and how good it is"
#define BOX_USAGE "SET.kbp... -o MODEL.kbm [options]"
#define BOX_ABOUT                                                                                                  \
    "Selects boxes one bit after the other: each is the best of many candidates for the triplets that the bits so " \
    "far leave wrong."

#define BOX_COMMAND(kind, set, what, about_sets)                                                            \
    const cli_command train_##kind = {.name = "train " #kind, .examples = BOX_EXAMPLES(set), .summary = what, \
                                      .usage = BOX_USAGE,                                                   \
                                      .about = BOX_ABOUT about_sets, .options = kind##_options, .least = 1, \
                                      .most = CLI_ANY, .wants = "needs a set of patches (.kbp)",            \
                                      .reads_arguments = true, .job_size = sizeof(box_job),                 \
                                      .begin = kind##_begin, .run = box_run, .end = box_end}
BOX_COMMAND(bad, "set.kbp", "BAD: differences of mean gray, the fastest", "");
BOX_COMMAND(bag, "octaves.kbp", "BAG: the same on channels of oriented gradient, more accurate",
            " The sets are of octaves (keybits patches ... --octaves).");
