/* SPDX-License-Identifier: Apache-2.0 */
/* Describing many images with a progress bar, indexes as files. */
#include "retrieval.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- many images ---- */

static bool bar_progress(void *context, const char *step, size_t done, size_t total)
{
    retrieval_bar *bar = context;
    if (!bar->step || strcmp(bar->step, step) != 0) {
        retrieval_bar_end(bar);
        io_progress_start(&bar->progress, step, total, bar->common->quiet || total < 2);
        bar->step = step;
    }
    io_progress_update(&bar->progress, done);
    if (done == total) retrieval_bar_end(bar);
    return true;
}

static void bar_wipe(retrieval_bar *bar)
{
    if (bar->step) io_progress_wipe(&bar->progress);
}

static void bar_warn(void *context, const char *sentence)
{
    retrieval_bar *bar = context;
    bar_wipe(bar);
    cli_error("%s", sentence);
}

photos_host retrieval_host(retrieval_bar *bar, const cli_common *common)
{
    *bar = (retrieval_bar){.common = common};
    return (photos_host){bar_progress, bar_warn, bar};
}

void retrieval_bar_end(retrieval_bar *bar)
{
    if (bar->step) io_progress_end(&bar->progress);
    bar->step = NULL;
}

typedef struct bar_take {
    retrieval_bar bar;
    photos_take take;
    void *context;
} bar_take;

/* What takes an image may print. */
static bool take_wiped(void *context, size_t index, features *f, const char *why)
{
    bar_take *t = context;
    bar_wipe(&t->bar);
    return t->take(t->context, index, f, why);
}

bool retrieval_describe(cli_common *common, const cli_pipeline *p, const io_read_options *reading,
                        const io_names *images, const char *label, photos_take take, void *context, io_error *error)
{
    bar_take t = {.take = take, .context = context};
    photos_host host = retrieval_host(&t.bar, common);
    bool ok = photos_describe(&p->pipeline, reading, images, &host, label, take_wiped, &t, error);
    retrieval_bar_end(&t.bar);
    return ok;
}

void retrieval_warn_empty(const cli_common *common, const char *photo, size_t keypoints)
{
    if (keypoints == 0) cli_warn(common, "%s: no keypoints, so that nothing can be found", photo);
}

static void warn(void *common, const char *sentence) { cli_warn(common, "%s", sentence); }

bool retrieval_images(cli_common *common, int count, char *const *arguments, io_names *images, io_error *error)
{
    if (!cli_claim_images(common, count, arguments, images, error)) return false;
    io_names_unique(images, warn, common);
    return true;
}

bool retrieval_open(cli_common *common, cli_pipeline *p, io_error *error)
{
    if (!cli_pipeline_open(common, p, error)) return false;
    if (p->pipeline.info.row_floats > 0)
        return io_fail(error, "%s: words and indexes need binary descriptors, and this model gives numbers",
                       p->model_name);
    return true;
}

/* ---- indexes ---- */

/* The file is locked, not a name: whoever waited finds that another file has taken its place, and waits for that. */
int retrieval_index_lock(const cli_common *common, const char *path, io_error *error)
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

void retrieval_index_unlock(int lock)
{
    if (lock >= 0) close(lock);
}

bool retrieval_index_open(const char *path, bool check, retrieval_index *out, io_error *error)
{
    kb_error why;
    memset(out, 0, sizeof *out);
    if (!io_mapping_open(path, &out->file, error)) return false;
    if (kb_index_load(out->file.data, out->file.size, check, NULL, &out->index, &why) == KB_OK) return true;
    io_mapping_close(&out->file);
    return io_fail(error, "%s: %s", path, why.text);
}

void retrieval_index_close(retrieval_index *index)
{
    kb_index_free(index->index);
    if (index->file.data) io_mapping_close(&index->file);
    memset(index, 0, sizeof *index);
}

const char *retrieval_image_name(const kb_index *index, size_t position)
{
    kb_index_image image;
    KB_INIT(image);
    return kb_index_get_image(index, position, &image, NULL, NULL) == KB_OK ? image.name : "";
}

double retrieval_threshold(const kb_index *index, int32_t max_size)
{
    kb_index_image image;
    int32_t least = INT32_MAX;
    KB_INIT(image);
    for (size_t i = 0; kb_index_get_image(index, i, &image, NULL, NULL) == KB_OK; i++) {
        if (image.removed) continue;
        int32_t longer = image.width > image.height ? image.width : image.height;
        least = longer < least ? longer : least;
    }
    return 3 * photos_step(least == INT32_MAX ? 0 : least, 0, max_size);
}

static kb_status write_part(void *self, const void *data, size_t size)
{
    return fwrite(data, 1, size, self) == size ? KB_OK : KB_E_SPACE;
}

bool retrieval_index_write(const char *path, kb_index *index, io_error *error)
{
    io_writer *writer = io_writer_open(path, error);
    if (!writer) return false;
    kb_status status = kb_index_save(index, write_part, io_writer_file(writer));
    if (status == KB_OK || status == KB_E_SPACE) return io_writer_commit(writer, error);
    io_writer_abandon(writer);
    return io_fail(error, "%s: %s", path, kb_status_string(status));
}

/* Takes from the index what no option says, and refuses options that say something else. */
static bool settle_keypoints(const kb_index_info *index, pipeline_options *o, io_read_options *reading, io_error *error)
{
    kb_detect_options *d = &o->detect;
    const char *rows = index->upright ? "upright" : "oriented";
    if (reading->max_size == CLI_UNSAID)
        reading->max_size = index->detector ? index->max_size : atoi(MAX_SIZE_RECOGNISE);
    if (!index->detector) return true;
    if (!d->detector) d->detector = index->detector;
    if (d->detector != index->detector)
        return io_fail(error, "the index has keypoints of %s, not of %s", features_detector_name(index->detector),
                       features_detector_name(d->detector));
    int32_t revision = kb_detector_get_info(d->detector).revision;
    if (index->revision != revision)
        return io_fail(error,
                       "the index has keypoints of revision %d of %s, and this program finds revision %d: build it "
                       "again",
                       (int)index->revision, features_detector_name(d->detector), (int)revision);
    if (index->upright && !o->angles) o->angles = KB_ORIENTATION_NONE;
    if ((o->angles == KB_ORIENTATION_NONE) != (index->upright == 1))
        return io_fail(error, "the index has %s rows, and --orientation %s gives others", rows,
                       kb_name(KB_NAMES_ORIENTATION, o->angles));
    return reading->max_size == index->max_size ||
           io_fail(error, "the index has images up to %d px (0: of any size), not up to %d", (int)index->max_size,
                   (int)reading->max_size);
}

bool retrieval_open_for(cli_common *common, cli_pipeline *p, io_read_options *reading, const kb_index *index,
                        io_error *error)
{
    kb_vocabulary_info info;
    kb_index_info kept;
    KB_INIT(kept);
    if (kb_index_get_info(index, &kept) != KB_OK || !settle_keypoints(&kept, &p->options, reading, error)) return false;
    KB_INIT(info);
    kb_vocabulary_get_info(kept.vocabulary, &info);
    bool named = p->model_name != NULL;
    if (!named && info.model_name[0]) p->model_name = info.model_name;
    if (!retrieval_open(common, p, error)) return false;
    if (info.model_id == 0 || info.model_id == p->pipeline.info.id) return true;
    return io_fail(error, "the index was made with the model %s (%016llx), not with %s (%016llx)%s", info.model_name,
                   (unsigned long long)info.model_id, p->model_name, (unsigned long long)p->pipeline.info.id,
                   named ? "" : "; name its file with --model");
}
