/* Writing so that nobody ever sees half a file: a temporary file beside the target, then one rename. The names of open
 * temporary files stand in a table that the handler of interrupts can walk with nothing but unlink(), which is one of
 * the few calls a handler may make.
 *
 * The handler may run on any thread, so it must not find a file that is made and not yet noted. A lock that is an
 * atomic flag guards both; whoever holds it or waits for it has interrupts blocked, so the handler can wait for it too.
 * The handler never gives it back: from then on no file is made until the program is gone. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "io/file.h"

struct io_writer {
    FILE *file;
    char *target;    /* NULL: standard output */
    char *temporary; /* NULL: written straight */
    int slot;        /* in the table of temporary files */
};

#define MAX_TEMPORARIES 64
static char *volatile open_temporaries[MAX_TEMPORARIES];
static atomic_flag table_lock = ATOMIC_FLAG_INIT;
static pthread_once_t handlers_once = PTHREAD_ONCE_INIT;

static void wait_for_table(void)
{
    const struct timespec moment = {0, 50000};
    while (atomic_flag_test_and_set(&table_lock)) nanosleep(&moment, NULL);
}

static void remove_temporaries(void)
{
    for (int i = 0; i < MAX_TEMPORARIES; i++) {
        char *name = open_temporaries[i];
        if (name) unlink(name);
    }
}

static void on_interrupt(int signal_number)
{
    wait_for_table();
    remove_temporaries();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void install_handlers(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    atexit(remove_temporaries);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        struct sigaction before;
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_DFL) continue; /* nohup, a debugger */
        struct sigaction action = {.sa_handler = on_interrupt};
        sigfillset(&action.sa_mask);
        sigaction(signals[i], &action, NULL);
    }
}

/* While the table and the file system are brought into step. */
static void lock_table(sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, before);
    wait_for_table();
}

static void unlock_table(const sigset_t *before)
{
    atomic_flag_clear(&table_lock);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* The permissions that a plain fopen would have given, or those of the file to be replaced. */
static mode_t wanted_mode(const char *target)
{
    struct stat status;
    if (stat(target, &status) == 0) return status.st_mode & 0777;
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/* Makes the temporary file and notes it in the table; -1 with errno set when that failed. */
static int make_temporary(io_writer *writer)
{
    sigset_t before;
    lock_table(&before);
    int descriptor = -1, slot = 0;
    while (slot < MAX_TEMPORARIES && open_temporaries[slot]) slot++;
    if (slot == MAX_TEMPORARIES) {
        errno = EMFILE;
    } else {
        descriptor = mkstemp(writer->temporary);
    }
    if (descriptor >= 0) {
        fchmod(descriptor, wanted_mode(writer->target));
        writer->slot = slot;
        open_temporaries[slot] = writer->temporary;
    }
    unlock_table(&before);
    return descriptor;
}

static bool open_beside(io_writer *writer, io_error *error)
{
    writer->temporary = io_alloc(strlen(writer->target) + 16, 1);
    sprintf(writer->temporary, "%s.part-XXXXXX", writer->target);
    int descriptor = make_temporary(writer);
    if (descriptor >= 0) {
        writer->file = fdopen(descriptor, "wb");
        return true;
    }
    int reason = errno;
    free(writer->temporary);
    writer->temporary = NULL;
    return io_fail(error, "%s: cannot be written: %s", writer->target, strerror(reason));
}

static bool open_target(io_writer *writer, io_error *error)
{
    struct stat status;
    bool exists = stat(writer->target, &status) == 0;
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
    if (exists) { /* through a symbolic link to the file itself, which the rename would otherwise replace */
        char *real = realpath(writer->target, NULL);
        if (real) {
            free(writer->target);
            writer->target = real;
        }
    }
    return open_beside(writer, error);
}

io_writer *io_writer_open(const char *path, io_error *error)
{
    pthread_once(&handlers_once, install_handlers);
    io_writer *writer = io_alloc(1, sizeof *writer);
    writer->slot = -1;
    if (!path || strcmp(path, "-") == 0) {
        writer->file = stdout;
        return writer;
    }
    writer->target = io_copy_string(path);
    if (open_target(writer, error)) return writer;
    free(writer->target);
    free(writer);
    return NULL;
}

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
    if (!ok) errno = ENOSPC; /* stdio keeps no reason; this is the usual one */
    return closed && ok;
}

bool io_writer_commit(io_writer *writer, io_error *error)
{
    bool ok = close_file(writer);
    int reason = errno;
    if (writer->temporary) {
        sigset_t before;
        lock_table(&before);
        if (ok && rename(writer->temporary, writer->target) != 0) {
            ok = false;
            reason = errno;
        }
        if (!ok) unlink(writer->temporary);
        open_temporaries[writer->slot] = NULL;
        unlock_table(&before);
    }
    if (!ok) io_fail(error, "%s: cannot be written: %s", target_name(writer), strerror(reason));
    free_writer(writer);
    return ok;
}

void io_writer_abandon(io_writer *writer)
{
    if (!writer) return;
    close_file(writer);
    if (writer->temporary) {
        sigset_t before;
        lock_table(&before);
        unlink(writer->temporary);
        open_temporaries[writer->slot] = NULL;
        unlock_table(&before);
    }
    free_writer(writer);
}

bool io_file_write(const char *path, const void *data, size_t size, io_error *error)
{
    io_writer *writer = io_writer_open(path, error);
    if (!writer) return false;
    if (size) fwrite(data, 1, size, writer->file);
    return io_writer_commit(writer, error);
}
