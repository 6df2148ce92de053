/* SPDX-License-Identifier: Apache-2.0 */
/* keybits train hashsift. */
#include <stdlib.h>
#include <string.h>

#include "io/number.h"
#include "io/progress.h"
#include "train.h"

/* --------------------------------------------------------------------------------------------------------------- log
 */

#define LOG_COLUMNS 4
static const char log_header[] = "step,loss,active,seconds\n";

typedef struct hash_log {
    double (*rows)[LOG_COLUMNS];
    size_t count;
} hash_log;

static void log_add(hash_log *log, double step, double loss, double active, double seconds)
{
    const double row[LOG_COLUMNS] = {step, loss, active, seconds};
    log->rows = io_grow(log->rows, log->count + 1, sizeof *log->rows);
    memcpy(log->rows[log->count++], row, sizeof row);
}

/* What an interrupted training left, up to the step from which it goes on; nothing when there is no such log. */
static void log_read(hash_log *log, const char *path, int64_t last_step)
{
    io_bytes bytes;
    if (!io_path_exists(path) || !io_file_read(path, &bytes, NULL)) return;
    const char *at = (const char *)bytes.data;
    at = strncmp(at, log_header, strlen(log_header)) == 0 ? at + strlen(log_header) : "";
    for (;;) {
        double v[LOG_COLUMNS];
        int i = 0;
        while (i < LOG_COLUMNS && io_number_parse(at, &at, &v[i]) && *at == (i < LOG_COLUMNS - 1 ? ',' : '\n')) {
            at++;
            i++;
        }
        if (i < LOG_COLUMNS || v[0] > (double)last_step) break;
        log_add(log, v[0], v[1], v[2], v[3]);
    }
    io_bytes_free(&bytes);
}

static bool log_write(const hash_log *log, const char *path, io_error *error)
{
    io_writer *writer = io_writer_open(path, error);
    if (!writer) return false;
    fputs(log_header, io_writer_file(writer));
    for (size_t i = 0; i < log->count; i++) {
        char text[LOG_COLUMNS][32];
        for (int c = 0; c < LOG_COLUMNS; c++) io_number_format(text[c], log->rows[i][c], 9);
        fprintf(io_writer_file(writer), "%s,%s,%s,%s\n", text[0], text[1], text[2], text[3]);
    }
    return io_writer_commit(writer, error);
}

/* --------------------------------------------------------------------------------------------------------- learning */

typedef struct hash_job {
    kb_learn_hash_options o;
    train_options shared;
    train_data data;
    cli_common *common;
    char *log_path, *checkpoint;
    hash_log log;
    io_progress progress;
    train_result result;
    double started; /* of the whole training, before it was interrupted */
    bool failed;
    io_error error;
} hash_job;

static int32_t report_step(void *context, const kb_learn_hash_progress *p)
{
    hash_job *job = context;
    log_add(&job->log, (double)p->step, p->loss, p->active, io_clock_seconds() - job->started);
    io_progress_update(&job->progress, (size_t)p->step);
    if (job->log.count % 10 == 0) {
        io_progress_wipe(&job->progress);
        cli_say(job->common, "step %lld of %lld: loss %.4f, %.0f %% active", (long long)p->step, (long long)p->steps,
                p->loss, 100 * p->active);
    }
    job->failed = !log_write(&job->log, job->log_path, &job->error) ||
                  !io_file_write(job->checkpoint, p->checkpoint, p->checkpoint_size, &job->error);
    return !job->failed;
}

static char *hash_settings(const hash_job *job)
{
    const kb_learn_hash_options *o = &job->o;
    char *text = io_alloc(1024, 1), n[2][32], versions[32] = "off";
    if (o->augment && o->versions == KB_LEARN_ANEW) strcpy(versions, "anew for every batch");
    else if (o->augment) snprintf(versions, sizeof versions, "on, versions %d", (int)o->versions);
    snprintf(text, 1024,
             "keybits train hashsift%s: bits %d, loss %s, %s%s, seed %llu, steps %lld, batch %d, margin %s, rate %s%s, "
             "augment %s\n"
             "learned from %zu patches of %zu points, hash %016llx\n",
             job->shared.paper ? " --paper" : "", o->bits, o->loss == KB_LEARN_LOSS_BINARY ? "binary" : "triplet",
             o->root ? "RootSIFT" : "SIFT", o->raw ? " as it is" : "", (unsigned long long)o->seed, (long long)o->steps,
             o->batch, io_number_format(n[0], o->margin, 9), io_number_format(n[1], o->rate, 9),
             o->constant_rate ? " constant" : "", versions, job->data.set.patches, job->data.set.points,
             (unsigned long long)job->data.hash);
    return text;
}

static bool hashsift_page_write(hash_job *job)
{
    size_t n = job->log.count;
    double *x = io_alloc(3 * n, sizeof *x), *loss = x + n, *active = loss + n;
    for (size_t i = 0; i < n; i++) {
        x[i] = job->log.rows[i][0];
        loss[i] = job->log.rows[i][1];
        active[i] = job->log.rows[i][2];
    }
    train_page page = {&job->result, x, n, "steps", loss, active, &job->data.set};
    bool written = train_page_write(job->shared.page, &page, job->common->parallel, &job->error);
    free(x);
    return written;
}

static int hashsift_finish(hash_job *job, const int8_t *weights, const int32_t *bias)
{
    char *text = hash_settings(job);
    kb_model *model = NULL;
    kb_model_spec spec;
    KB_INIT(spec);
    spec.kind = KB_KIND_HASHSIFT;
    spec.bits = job->o.bits;
    spec.root = job->o.root;
    spec.text = text;
    spec.weights = weights;
    spec.bias = bias;
    bool ok = train_model_write(&spec, &job->shared, &job->data, &model);
    free(text);
    if (!ok) return CLI_FAILED;
    job->result.model = model;
    job->result.log = job->log_path;
    job->result.loss = job->log.rows[job->log.count - 1][1];
    train_validate(&job->data, job->common, &job->result);
    ok = !job->shared.page || hashsift_page_write(job);
    if (ok) train_tell(job->common, &job->shared, &job->data, &job->result);
    else cli_error("%s", job->error.text);
    kb_model_free(model);
    remove(job->checkpoint);
    return ok ? CLI_DONE : CLI_FAILED;
}

/* The step that a checkpoint stands at, for the log; learning itself checks the rest. */
static int64_t checkpoint_step(const io_bytes *checkpoint)
{
    int64_t step = 0;
    if (checkpoint->size >= 24) memcpy(&step, checkpoint->data + 16, sizeof step);
    return step;
}

static int hashsift_learn(hash_job *job)
{
    kb_learn_patches patches = train_patches(&job->data);
    io_bytes checkpoint = {NULL, 0};
    kb_error problem;
    if (job->shared.resume && io_path_exists(job->checkpoint)) {
        if (!io_file_read(job->checkpoint, &checkpoint, &job->error)) return cli_error("%s", job->error.text);
        job->o.checkpoint = checkpoint.data;
        job->o.checkpoint_size = checkpoint.size;
        log_read(&job->log, job->log_path, checkpoint_step(&checkpoint));
        cli_say(job->common, "going on after step %lld", (long long)checkpoint_step(&checkpoint));
    }
    job->started = io_clock_seconds() - (job->log.count ? job->log.rows[job->log.count - 1][LOG_COLUMNS - 1] : 0);
    job->o.report = report_step;
    job->o.report_context = job;
    int8_t *weights = io_alloc((size_t)job->o.bits, KB_SIFT_VALUES);
    int32_t *bias = io_alloc((size_t)job->o.bits, sizeof *bias);
    io_progress_start(&job->progress, "hashsift", (size_t)job->o.steps, job->common->quiet);
    kb_status status = kb_learn_hashsift(&patches, &job->o, weights, bias, NULL, &problem);
    io_progress_end(&job->progress);
    int code = job->failed       ? cli_error("%s", job->error.text)
               : status == KB_OK ? hashsift_finish(job, weights, bias)
               : checkpoint.data ? cli_error("%s: %s", job->checkpoint, problem.text)
                                 : cli_error("%s", problem.text);
    free(weights);
    free(bias);
    io_bytes_free(&checkpoint);
    return code;
}

static int hashsift_run(cli_common *common, void *context, int count, char **arguments)
{
    hash_job *job = context;
    job->common = common;
    job->result.started = io_clock_seconds();
    if (!job->shared.output) return cli_usage_error(common, "needs -o MODEL.kbm");
    job->log_path = train_claim_path(common, &job->shared, job->shared.log, ".csv");
    job->checkpoint = job->log_path ? train_claim_path(common, &job->shared, NULL, ".checkpoint") : NULL;
    if (!job->checkpoint || !train_data_load(&job->data, &job->shared, false, common, count, arguments))
        return common->exit_code;
    job->o.bits = job->shared.bits;
    job->o.seed = job->shared.seed;
    job->o.parallel = common->parallel;
    if (job->shared.paper) kb_learn_hash_paper(&job->o);
    job->o.augment = train_augments(&job->shared) ? kbi_augment_sample : NULL;
    job->o.augment_context = train_amounts(&job->shared);
    kb_learn_hash_defaults(&job->o);
    return hashsift_learn(job);
}

static void hashsift_begin(void *context)
{
    hash_job *job = context;
    KB_INIT(job->o);
}

static void hashsift_end(void *context)
{
    hash_job *job = context;
    train_data_free(&job->data);
    free(job->log.rows);
    free(job->log_path);
    free(job->checkpoint);
}

static const char *const losses[] = {"triplet", "binary", NULL};

static const cli_option hashsift_options[] = {
    CLI_GROUP(hash_job, shared, train_model_options),
    CLI_GROUP(hash_job, shared, train_paper_options),
    CLI_GROUP(hash_job, shared, train_data_options),
    TRAIN_HOLD_BACK(hash_job, shared.hold_back, "(default 0)"),
    CLI_SECTION("Adam"),
    {"steps", 0, CLI_NUMBER(hash_job, o.steps, 1, 100000000), "N", "30000", .help = "batches"},
    {"rate", 0, CLI_NUMBER(hash_job, o.rate, 1e-9, 1), "R",
     .help = ", the learning rate at the start; it falls to zero by a cosine (default 0.01, with --paper 0.0002 and "
             "constant)"},
    {"constant-rate", 0, CLI_FLAG(hash_job, o.constant_rate), .help = "the rate stays as it is"},
    {"margin", 0, CLI_NUMBER(hash_job, o.margin, 0.001, 2), "M", "0.3", .help = ", share of the bits"},
    {"loss", 0, CLI_CHOICE(hash_job, o.loss, 0), "NAME", "triplet", .words = losses,
     .help = "triplet, or binary: pairs of same and different"},
    {"root", 0, CLI_FLAG(hash_job, o.root), .help = "RootSIFT instead of SIFT"},
    {"versions", 0, CLI_NUMBER(hash_job, o.versions, 1, 64), "N",
     .help = "versions of every patch when augmenting (default 4, with --paper anew for every batch)"},
    {0}};

const cli_command train_hashsift = {
    .name = "train hashsift",
    .examples = "set.kbp -o my.kbm --bits 256 # with the defaults",
    .summary = "HashSIFT: the signs of a linear map of SIFT",
    .usage = "SET.kbp... -o MODEL.kbm [options]",
    .about = "Learns a linear map of SIFT whose signs are the bits, by Adam on a relaxation of the triplet ranking "
             "loss. The result is the same for any number of threads; on another processor it may differ a little, as "
             "the matrix products do.",
    .options = hashsift_options,
    .least = 1,
    .most = CLI_ANY,
    .wants = "needs a set of patches (.kbp)",
    .reads_arguments = true,
    .job_size = sizeof(hash_job),
    .begin = hashsift_begin,
    .run = hashsift_run,
    .end = hashsift_end};
