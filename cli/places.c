/* Describing many images at once, vocabularies by name, indexes as files. */
#include "places.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/progress.h"

/* ---- many images ---- */

#define BATCH 32 /* images whose features are held at once */

typedef struct batch {
    const cli_pipeline *p;
    const io_read_options *reading;
    const io_names *images;
    size_t first;
    features features[BATCH];
    io_error errors[BATCH];
    bool good[BATCH];
} batch;

bool places_describe_one(const cli_pipeline *p, const io_read_options *reading, const char *path, features *out,
                         io_error *error)
{
    io_image image;
    memset(out, 0, sizeof *out);
    if (!io_image_read(path, reading, &image, error)) return false;
    bool ok = pipeline_describe_alone(&p->pipeline, path, &image.view, false, out, error);
    out->width = image.width;
    out->height = image.height;
    io_image_free(&image);
    if (!ok) features_free(out);
    return ok;
}

static void batch_task(void *context, int32_t i)
{
    batch *b = context;
    b->good[i] = places_describe_one(b->p, b->reading, b->images->items[b->first + (size_t)i], &b->features[i],
                                     &b->errors[i]);
}

static bool batch_take(batch *b, size_t count, places_take take, void *context)
{
    bool going = true;
    for (size_t i = 0; i < count; i++) {
        if (going) going = take(context, b->first + i, b->good[i] ? &b->features[i] : NULL, b->errors[i].text);
        if (b->good[i]) features_free(&b->features[i]);
    }
    return going;
}

bool places_describe(cli_common *common, const cli_pipeline *p, const io_read_options *reading, const io_names *images,
                     const char *label, places_take take, void *context, io_error *error)
{
    batch *b = io_alloc(1, sizeof *b);
    io_progress progress;
    bool going = true;
    b->p = p;
    b->reading = reading;
    b->images = images;
    io_progress_start(&progress, label, images->count, common->quiet || images->count < 2);
    for (; going && b->first < images->count; b->first += BATCH) {
        size_t left = images->count - b->first, count = left < BATCH ? left : BATCH;
        io_progress_update(&progress, b->first);
        if (common->parallel && common->parallel->threads > 1)
            common->parallel->run(common->parallel->self, (int32_t)count, batch_task, b);
        else
            for (size_t i = 0; i < count; i++) batch_task(b, (int32_t)i);
        io_progress_wipe(&progress);
        going = batch_take(b, count, take, context);
    }
    io_progress_end(&progress);
    free(b);
    return going || io_fail(error, "%s: stopped", label);
}

bool places_open(cli_common *common, cli_pipeline *p, io_error *error)
{
    if (!cli_pipeline_open(common, p, error)) return false;
    if (p->pipeline.info.row_floats > 0)
        return io_fail(error, "%s: words and indexes need binary descriptors, and this model gives numbers",
                       p->model_name);
    return true;
}

kb_features places_features(const features *f)
{
    kb_features view;
    KB_INIT(view);
    view.rows = f->rows.bytes;
    view.n = f->rows.count;
    view.row_bytes = f->rows.width;
    view.keypoints = f->keypoints.items;
    view.model_id = f->model_id;
    view.width = f->width;
    view.height = f->height;
    return view;
}

/* ---- natural order ---- */

int places_compare(const char *a, const char *b)
{
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            size_t na = 0, nb = 0;
            while (*a == '0') a++;
            while (*b == '0') b++;
            while (isdigit((unsigned char)a[na])) na++;
            while (isdigit((unsigned char)b[nb])) nb++;
            if (na != nb) return na < nb ? -1 : 1;
            int order = strncmp(a, b, na);
            if (order != 0) return order;
            a += na;
            b += nb;
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    return *a ? 1 : *b ? -1 : 0;
}

static int compare_names(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    int order = places_compare(x, y);
    return order != 0 ? order : strcmp(x, y); /* 01 and 1 */
}

void places_sort(io_names *names)
{
    if (names->count > 1) qsort(names->items, names->count, sizeof *names->items, compare_names);
}

/* ---- vocabularies ---- */

typedef struct builtin_vocabulary {
    const char *name;
    const unsigned char *data;
    size_t size;
} builtin_vocabulary;
/* Made by cmake/embed_vocabularies.cmake; ends with a NULL name. */
extern const builtin_vocabulary places_builtin_vocabularies[];

const char *places_vocabulary_name(size_t index, size_t *size)
{
    for (size_t i = 0; places_builtin_vocabularies[i].name; i++) {
        if (i != index) continue;
        if (size) *size = places_builtin_vocabularies[i].size;
        return places_builtin_vocabularies[i].name;
    }
    return NULL;
}

static bool open_builtin(const char *name, io_vocabulary *out)
{
    memset(out, 0, sizeof *out);
    for (const builtin_vocabulary *v = places_builtin_vocabularies; v->name; v++)
        if (strcmp(v->name, name) == 0)
            return kb_vocabulary_load(v->data, v->size, &out->vocabulary, NULL) == KB_OK;
    return false;
}

/* NAME.kbv in the folder of data: share/keybits beside the program (where it was built) or beside its folder (where it
 * is installed). NULL when it is not there; else to be freed. */
static char *installed_path(const char *name)
{
    static const char *const folders[] = {"share/keybits", "../share/keybits"};
    char program[2048], path[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0 || strchr(name, '/')) return NULL;
    program[length] = 0;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        int folder = (int)(io_path_base(program) - program);
        snprintf(path, sizeof path, "%.*s%s/%s.kbv", folder, program, folders[i], name);
        if (io_path_exists(path)) return io_copy_string(path);
    }
    return NULL;
}

/* False with a sentence when there is such a file and it cannot be read; *found says whether there is one. */
static bool open_installed(const char *name, io_vocabulary *out, bool *found, io_error *error)
{
    char *path = installed_path(name);
    *found = path != NULL;
    bool ok = path && io_vocabulary_read(path, out, error);
    free(path);
    return ok;
}

bool places_vocabulary_installed(const char *name, size_t *size)
{
    io_mapping file;
    char *path = installed_path(name);
    bool ok = path && io_mapping_open(path, &file, NULL);
    free(path);
    if (!ok) return false;
    *size = file.size;
    io_mapping_close(&file);
    return true;
}

/* Whether rows of the model can become words; the message is for the user who named both. */
static bool vocabulary_fits(const char *name, const io_vocabulary *v, const kb_model_info *model, io_error *error)
{
    kb_vocabulary_info info;
    KB_INIT(info);
    kb_vocabulary_get_info(v->vocabulary, &info);
    if (info.row_bytes != model->row_bytes)
        return io_fail(error, "%s: rows of %d bytes, but those of the model %s have %d", name, info.row_bytes,
                       model->spec->name, model->row_bytes);
    if (info.model_id != 0 && info.model_id != model->id)
        return io_fail(error, "%s: made for the model %s (%016llx), not for %s (%016llx)", name, info.model_name,
                       (unsigned long long)info.model_id, model->spec->name, (unsigned long long)model->id);
    return true;
}

bool places_vocabulary_open(const char *name_or_path, const kb_model_info *model, io_vocabulary *out, io_error *error)
{
    char standard[96];
    snprintf(standard, sizeof standard, "%s-10k", model ? model->spec->name : "");
    const char *name = name_or_path ? name_or_path : standard;
    bool found = false;
    if (!open_builtin(name, out) && !open_installed(name, out, &found, error)) {
        if (found) return false;
        if (!name_or_path)
            return io_fail(error, "there is no %s.kbv in share/keybits beside the program or its folder: name a "
                                  "vocabulary with --vocab (built in: bag256-1k, bad256-1k), or make one with keybits "
                                  "vocab train", name);
        if (!io_vocabulary_read(name, out, error)) return false;
    }
    if (!model || vocabulary_fits(name, out, model, error)) return true;
    io_vocabulary_free(out);
    return false;
}

/* ---- indexes ---- */

/* The file is locked, not a name: whoever waited finds that another file has taken its place, and waits for that. */
int places_index_lock(const cli_common *common, const char *path, io_error *error)
{
    for (;;) {
        struct stat mine, now;
        int lock = open(path, O_RDONLY | O_CLOEXEC);
        if (lock < 0) {
            io_fail(error, "%s: cannot be opened: %s", path, strerror(errno));
            return -1;
        }
        int failed = flock(lock, LOCK_EX | LOCK_NB);
        if (failed && errno == EWOULDBLOCK) {
            cli_say(common, "%s: waiting for another program that changes it", path);
            do failed = flock(lock, LOCK_EX);
            while (failed && errno == EINTR);
        } /* a file system without locks is used without */
        if (fstat(lock, &mine) == 0 && stat(path, &now) == 0 && mine.st_ino == now.st_ino && mine.st_dev == now.st_dev)
            return lock;
        close(lock);
    }
}

void places_index_unlock(int lock)
{
    if (lock >= 0) close(lock);
}

bool places_index_open(const char *path, places_index *out, io_error *error)
{
    kb_error why;
    memset(out, 0, sizeof *out);
    if (!io_mapping_open(path, &out->file, error)) return false;
    if (kb_index_load(out->file.data, out->file.size, &out->index, &why) == KB_OK) return true;
    io_mapping_close(&out->file);
    return io_fail(error, "%s: %s", path, why.text);
}

void places_index_close(places_index *index)
{
    kb_index_free(index->index);
    if (index->file.data) io_mapping_close(&index->file);
    memset(index, 0, sizeof *index);
}

static kb_status write_part(void *self, const void *data, size_t size)
{
    return fwrite(data, 1, size, self) == size ? KB_OK : KB_E_SPACE;
}

bool places_index_write(const char *path, kb_index *index, io_error *error)
{
    io_writer *writer = io_writer_open(path, error);
    if (!writer) return false;
    kb_status status = kb_index_save(index, write_part, io_writer_file(writer));
    if (status == KB_OK || status == KB_E_SPACE) return io_writer_commit(writer, error);
    io_writer_abandon(writer);
    return io_fail(error, "%s: %s", path, kb_status_string(status));
}

bool places_open_for(cli_common *common, cli_pipeline *p, const kb_index *index, io_error *error)
{
    kb_vocabulary_info info;
    KB_INIT(info);
    kb_vocabulary_get_info(kb_index_get_vocabulary(index), &info);
    bool named = p->model_name != NULL;
    if (!named && info.model_name[0]) p->model_name = info.model_name;
    if (!places_open(common, p, error)) return false;
    if (info.model_id == 0 || info.model_id == p->pipeline.info.id) return true;
    return io_fail(error, "the index was made with the model %s (%016llx), not with %s (%016llx)%s", info.model_name,
                   (unsigned long long)info.model_id, p->model_name, (unsigned long long)p->pipeline.info.id,
                   named ? "" : "; name its file with --model");
}
