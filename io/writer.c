/* SPDX-License-Identifier: Apache-2.0 */
/* Writing so that nobody ever sees half a file: a temporary file beside the target, then one rename. The file is on the
 * disc before the rename, and so is the rename before the caller hears of it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file.h"
#include "io/temporary.h"

struct io_writer {
    FILE *file;
    char *target;    /* NULL: standard output */
    char *temporary; /* NULL: written straight */
    io_temporary entry;
    bool work; /* a work file: does not wait for the disc */
};

/* With the permissions of the file to be replaced, or those that a plain fopen gives. */
static bool open_beside(io_writer *writer, io_error *error)
{
    struct stat old;
    bool exists = stat(writer->target, &old) == 0;
    writer->temporary = io_alloc(strlen(writer->target) + 16, 1);
    sprintf(writer->temporary, "%s.part-XXXXXX", writer->target);
    int descriptor = io_temporary_file(writer->temporary, exists ? old.st_mode & 0777 : 0666, &writer->entry);
    if (descriptor >= 0) {
        if (exists) fchmod(descriptor, old.st_mode & 0777);
        writer->file = fdopen(descriptor, "wb");
        if (writer->file) return true;
    }
    int reason = errno;
    if (descriptor >= 0) {
        close(descriptor);
        io_temporary_remove(writer->entry);
    }
    free(writer->temporary);
    writer->temporary = NULL;
    return io_fail(error, "%s: cannot be written: %s", writer->target, strerror(reason));
}

/* The folder that a file is in; to be freed. */
static char *folder_of(const char *target)
{
    const char *base = io_path_base(target);
    char *folder = io_copy_string(base == target ? "." : target);
    if (base != target) folder[base - target] = 0;
    return folder;
}

/* A link that somebody else left in a folder where everybody may leave files, such as /tmp, is a trap: as Linux does by
 * fs.protected_symlinks, it is followed only if the folder's owner made it. */
static bool link_is_planted(const char *link)
{
    struct stat status, folder_status;
    char *folder = folder_of(link);
    bool shared = stat(folder, &folder_status) == 0 && (folder_status.st_mode & S_ISVTX) &&
                  (folder_status.st_mode & S_IWOTH);
    free(folder);
    return shared && lstat(link, &status) == 0 && status.st_uid != geteuid() &&
           status.st_uid != folder_status.st_uid;
}

/* Goes through symbolic links to the file itself, which the rename would otherwise replace; the file need not be
 * there. */
static bool follow_links(io_writer *writer, io_error *error)
{
    for (int hops = 0; hops < 40; hops++) {
        char to[PATH_MAX];
        ssize_t length = readlink(writer->target, to, sizeof to - 1);
        if (length < 0) return true; /* not a link, or nothing at all */
        if (link_is_planted(writer->target))
            return io_fail(error, "%s: cannot be written: another user's link in a shared folder", writer->target);
        to[length] = 0;
        const char *slash = strrchr(writer->target, '/');
        size_t folder = to[0] != '/' && slash ? (size_t)(slash + 1 - writer->target) : 0;
        char *next = io_alloc(folder + (size_t)length + 1, 1);
        memcpy(next, writer->target, folder);
        memcpy(next + folder, to, (size_t)length);
        free(writer->target);
        writer->target = next;
    }
    return io_fail(error, "%s: cannot be written: %s", writer->target, strerror(ELOOP));
}

static bool open_target(io_writer *writer, io_error *error)
{
    struct stat status;
    bool exists = stat(writer->target, &status) == 0;
    if (!exists && errno == EACCES) /* also a link that the system does not follow */
        return io_fail(error, "%s: cannot be written: %s", writer->target, strerror(errno));
    if (exists && S_ISDIR(status.st_mode))
        return io_fail(error, "%s: cannot be written: it is a folder", writer->target);
    if (exists && access(writer->target, W_OK) != 0) {
        return io_fail(error, "%s: cannot be written: %s", writer->target, strerror(errno));
    }
    if (exists && !S_ISREG(status.st_mode)) {
        writer->file = fopen(writer->target, "wb");
        if (writer->file) return true;
        return io_fail(error, "%s: cannot be written: %s", writer->target, strerror(errno));
    }
    return follow_links(writer, error) && open_beside(writer, error);
}

static io_writer *writer_open(const char *path, bool work, io_error *error)
{
    io_writer *writer = io_alloc(1, sizeof *writer);
    writer->entry = -1;
    writer->work = work;
    if (!path || strcmp(path, "-") == 0) {
        writer->file = stdout;
        return writer;
    }
    writer->target = io_copy_string(path);
    if (work ? open_beside(writer, error) : open_target(writer, error)) return writer;
    free(writer->target);
    free(writer);
    return NULL;
}

io_writer *io_writer_open(const char *path, io_error *error) { return writer_open(path, false, error); }

io_writer *io_writer_open_work(const char *path, io_error *error) { return writer_open(path, true, error); }

FILE *io_writer_file(io_writer *writer) { return writer->file; }

const char *io_writer_temporary(const io_writer *writer) { return writer->temporary; }

static void free_writer(io_writer *writer)
{
    free(writer->temporary);
    free(writer->target);
    free(writer);
}

static const char *target_name(const io_writer *writer) { return writer->target ? writer->target : "standard output"; }

bool io_writer_check(const io_writer *writer, io_error *error)
{
    if (!ferror(writer->file)) return true;
    return io_fail(error, "%s: cannot be written: %s", target_name(writer), strerror(errno));
}

/* Closes the file and says whether all of it got out; errno says why not. */
static bool close_file(io_writer *writer)
{
    bool ok = !ferror(writer->file);
    bool closed = (writer->file == stdout ? fflush(stdout) : fclose(writer->file)) == 0;
    if (!ok && closed && errno != EFBIG) errno = ENOSPC; /* stdio keeps no reason; this is the usual one */
    return closed && ok;
}

/* fsync; file systems that have none say so, which is no failure. */
static bool sync_descriptor(int descriptor)
{
    return fsync(descriptor) == 0 || errno == EINVAL || errno == ENOSYS || errno == ENOTSUP;
}

bool io_stream_sync(FILE *file) { return fflush(file) == 0 && sync_descriptor(fileno(file)); }

/* The name of a file is in its folder. A folder that cannot be opened, since it may be written only, is left alone. */
static bool sync_folder(const char *target)
{
    char *folder = folder_of(target);
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    if (descriptor < 0) return true;
    bool ok = sync_descriptor(descriptor);
    int reason = errno;
    close(descriptor);
    errno = reason;
    return ok;
}

bool io_writer_commit(io_writer *writer, io_error *error)
{
    bool waits = writer->temporary && !writer->work && !ferror(writer->file);
    bool synced = !waits || io_stream_sync(writer->file);
    int reason = errno;
    bool ok = close_file(writer) && synced;
    if (synced) reason = errno;
    if (writer->temporary && ok) {
        ok = io_temporary_rename(writer->entry, writer->target) && (!waits || sync_folder(writer->target));
        reason = errno;
    } else if (writer->temporary) {
        io_temporary_remove(writer->entry);
    }
    if (!ok) io_fail(error, "%s: cannot be written: %s", target_name(writer), strerror(reason));
    free_writer(writer);
    return ok;
}

void io_writer_abandon(io_writer *writer)
{
    if (!writer) return;
    close_file(writer);
    if (writer->temporary) io_temporary_remove(writer->entry);
    free_writer(writer);
}

static bool write_buffer(io_writer *writer, const void *data, size_t size, io_error *error)
{
    if (!writer) return false;
    if (size) fwrite(data, 1, size, writer->file);
    return io_writer_commit(writer, error);
}

bool io_file_write(const char *path, const void *data, size_t size, io_error *error)
{
    return write_buffer(io_writer_open(path, error), data, size, error);
}

bool io_file_write_work(const char *path, const void *data, size_t size, io_error *error)
{
    return write_buffer(io_writer_open_work(path, error), data, size, error);
}
