/* keybits train hashsift. */
#include <stdlib.h>
#include <string.h>

#include "io/number.h"
#include "io/progress.h"
#include "learn/hash_train.h"
#include "train.h"

static const char help[] =
    "usage: keybits train hashsift SET.kbp... -o MODEL.kbm [options]\n"
    "Learns a linear map of SIFT whose signs are the bits, by Adam on a relaxation of the triplet ranking loss.\n"
    "The result is the same for any number of threads; on another processor it may differ a little, as the\n"
    "matrix products do.\n"
    "\n" TRAIN_MODEL_HELP TRAIN_DATA_HELP "Adam\n"
    "  --steps N          1 to 100000000 batches (default 30000)\n"
    "  --batch N          8 to 8192 pairs of patches (default 512)\n"
    "  --neighbours N     1 to the batch: points of a batch taken side by side in the set (default 1)\n"
    "  --rate R           learning rate at the start (default 0.01); it falls to zero by a cosine\n"
    "  --constant-rate    the rate stays as it is\n"
    "  --margin M         above 0, up to 2, share of the bits (default 0.3)\n"
    "  --loss NAME        triplet, or binary: pairs of same and different (default triplet)\n"
    "  --root             RootSIFT instead of SIFT\n"
    "  --versions N       1 to 64: versions of every patch when augmenting (default 4)\n"
    "\n" CLI_COMMON_HELP;

enum { STEPS = TRAIN_OWN, BATCH, NEIGHBOURS, RATE, CONSTANT_RATE, MARGIN, LOSS, ROOT, VERSIONS };

static const struct option longs[] = {
    TRAIN_DATA_OPTIONS,
    TRAIN_MODEL_OPTIONS,
    {"steps", required_argument, NULL, STEPS},
    {"batch", required_argument, NULL, BATCH},
    {"neighbours", required_argument, NULL, NEIGHBOURS},
    {"rate", required_argument, NULL, RATE},
    {"constant-rate", no_argument, NULL, CONSTANT_RATE},
    {"margin", required_argument, NULL, MARGIN},
    {"loss", required_argument, NULL, LOSS},
    {"root", no_argument, NULL, ROOT},
    {"versions", required_argument, NULL, VERSIONS},
    CLI_COMMON_OPTIONS,
    {NULL, 0, NULL, 0},
};

static bool read_option(cli_common *common, int option, kbi_hash_options *o, train_options *shared)
{
    static const char *const losses[] = {"triplet", "binary", NULL};
    int64_t whole = 0;
    int index = 0;
    bool ok = true;
    switch (option) {
    case STEPS: return cli_integer(common, "--steps", optarg, 1, 100000000, &o->steps);
    case RATE: return cli_number(common, "--rate", optarg, 1e-9, 1, &o->rate);
    case MARGIN: return cli_number(common, "--margin", optarg, 0.001, 2, &o->margin);
    case CONSTANT_RATE: o->constant_rate = 1; break;
    case ROOT: o->root = 1; break;
    case BATCH:
        ok = cli_integer(common, "--batch", optarg, 8, 8192, &whole);
        o->batch = (int32_t)whole;
        break;
    case NEIGHBOURS:
        ok = cli_integer(common, "--neighbours", optarg, 1, 8192, &whole);
        o->neighbours = (int32_t)whole;
        break;
    case VERSIONS:
        ok = cli_integer(common, "--versions", optarg, 1, 64, &whole);
        o->pool = (int32_t)whole;
        break;
    case LOSS:
        ok = cli_choice(common, "--loss", optarg, losses, &index);
        o->loss = (kbi_hash_loss)index;
        break;
    default: return train_option(shared, common, option);
    }
    return ok;
}

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
    kbi_hash_options o;
    train_options shared;
    train_data data;
    cli_common *common;
    kbi_hash_trainer *trainer;
    char *log_path, *checkpoint;
    hash_log log;
    io_progress progress;
    double started;
    bool failed;
    io_error error;
} hash_job;

static bool on_report(void *context, const kbi_hash_progress *p)
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
                  !kbi_hash_trainer_save(job->trainer, job->checkpoint, &job->error);
    return !job->failed;
}

static char *settings_text(const hash_job *job)
{
    const kbi_hash_options *o = &job->o;
    char *text = io_alloc(1024, 1), n[2][32];
    snprintf(
        text, 1024,
        "keybits train hashsift: bits %d, loss %s, %s, seed %llu, steps %lld, batch %d, neighbours %d, margin %s, "
        "rate %s%s, augment %s, versions %d\n"
        "learned from %zu patches of %zu points, hash %016llx\n",
        o->bits, o->loss == KBI_HASH_PAIRS ? "binary" : "triplet", o->root ? "RootSIFT" : "SIFT",
        (unsigned long long)o->seed, (long long)o->steps, o->batch, o->neighbours, io_number_format(n[0], o->margin, 9),
        io_number_format(n[1], o->rate, 9), o->constant_rate ? " constant" : "", job->shared.augment ? "on" : "off",
        o->pool, job->data.set.patches, job->data.set.points, (unsigned long long)job->data.hash);
    return text;
}

static bool write_page(hash_job *job, const kb_model *model)
{
    size_t n = job->log.count;
    double *x = io_alloc(3 * n, sizeof *x), *loss = x + n, *active = loss + n;
    for (size_t i = 0; i < n; i++) {
        x[i] = job->log.rows[i][0];
        loss[i] = job->log.rows[i][1];
        active[i] = job->log.rows[i][2];
    }
    const train_curve curves[] = {{"loss", loss}, {"share of pairs that are active", active}};
    train_page page = {model, x, n, "steps", curves, 2, &job->data.set};
    bool written = train_page_write(job->shared.page, &page, job->common->parallel, &job->error);
    free(x);
    return written;
}

static int finish(hash_job *job)
{
    int8_t *weights = io_alloc((size_t)job->o.bits, KB_SIFT_VALUES);
    int32_t *bias = io_alloc((size_t)job->o.bits, sizeof *bias);
    char *text = settings_text(job);
    kb_model *model = NULL;
    kb_model_spec spec;
    KB_INIT(spec);
    kbi_hash_trainer_result(job->trainer, weights, bias);
    spec.kind = KB_HASHSIFT;
    spec.bits = job->o.bits;
    spec.root = job->o.root;
    spec.text = text;
    spec.weights = weights;
    spec.bias = bias;
    bool ok = train_model_write(&spec, &job->shared, &job->data, &model);
    free(weights);
    free(bias);
    free(text);
    if (!ok) return CLI_FAILED;
    train_validate(&job->data, model, job->common);
    ok = !job->shared.page || write_page(job, model);
    if (!ok) cli_error("%s", job->error.text);
    kb_model_free(model);
    remove(job->checkpoint);
    return ok ? CLI_DONE : CLI_FAILED;
}

static int learn(hash_job *job)
{
    job->trainer = kbi_hash_trainer_create(&job->data.set, &job->o, &job->error);
    if (!job->trainer) return cli_error("%s", job->error.text);
    if (job->shared.resume && io_path_exists(job->checkpoint)) {
        if (!kbi_hash_trainer_restore(job->trainer, job->checkpoint, &job->error))
            return cli_error("%s", job->error.text);
        log_read(&job->log, job->log_path, kbi_hash_trainer_steps(job->trainer));
        cli_say(job->common, "going on after step %lld", (long long)kbi_hash_trainer_steps(job->trainer));
    }
    job->started = io_clock_seconds() - (job->log.count ? job->log.rows[job->log.count - 1][LOG_COLUMNS - 1] : 0);
    io_progress_start(&job->progress, "hashsift", (size_t)job->o.steps, job->common->quiet);
    kbi_hash_trainer_run(job->trainer, job->o.steps, on_report, job);
    io_progress_end(&job->progress);
    return job->failed ? cli_error("%s", job->error.text) : finish(job);
}

static int run(hash_job *job, int argc, char **argv)
{
    if (!job->shared.output) return cli_usage_error(job->common, "needs -o MODEL.kbm");
    if (!train_data_load(&job->data, &job->shared, job->common, argc, argv)) return job->common->exit_code;
    job->o.bits = job->shared.bits;
    job->o.seed = job->shared.seed;
    job->o.parallel = job->common->parallel;
    if (job->shared.augment) job->o.augment = job->shared.amounts;
    kbi_hash_defaults(&job->o);
    job->log_path = job->shared.log ? io_copy_string(job->shared.log) : train_path(&job->shared, ".csv");
    job->checkpoint = train_path(&job->shared, ".checkpoint");
    int code = learn(job);
    kbi_hash_trainer_free(job->trainer);
    train_data_free(&job->data);
    free(job->log.rows);
    free(job->log_path);
    free(job->checkpoint);
    return code;
}

int train_hashsift(int argc, char **argv)
{
    cli_common common;
    hash_job job;
    int option;
    memset(&job, 0, sizeof job);
    job.common = &common;
    train_options_begin(&job.shared);
    cli_begin(&common, help);
    while ((option = cli_getopt(&common, argc, argv, "o:", longs)) != CLI_END) {
        if (option == CLI_STOP) return cli_end(&common, common.exit_code);
        if (!read_option(&common, option, &job.o, &job.shared)) return cli_end(&common, common.exit_code);
    }
    if (!cli_ready(&common)) return cli_end(&common, common.exit_code);
    return cli_end(&common, run(&job, argc, argv));
}
