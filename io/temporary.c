/* SPDX-License-Identifier: Apache-2.0 */
/* The table of temporary files, and the handler that removes them.
 *
 * The handler walks the table with nothing but calls that a handler may make: unlink(), kill(), waitpid(), and for a
 * folder fork() and execve() of rm. It may run on any thread, so it must not find a file that is made and not yet
 * noted. A lock that is an atomic flag guards both. A thread that holds it or waits for it has signals blocked, so the
 * handler can wait for it too. The handler never releases it: no file is made until the program has ended. */
#define _GNU_SOURCE /* nftw */
#include "io/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_ENTRIES 64

typedef struct table_entry {
    char *volatile path; /* NULL: free */
    volatile sig_atomic_t is_folder;
} table_entry;

static table_entry table[MAX_ENTRIES];
static volatile pid_t running_child;
static atomic_flag table_lock = ATOMIC_FLAG_INIT;
static pthread_once_t handlers_once = PTHREAD_ONCE_INIT;

static void wait_for_table(void)
{
    const struct timespec moment = {0, 50000};
    while (atomic_flag_test_and_set(&table_lock)) nanosleep(&moment, NULL);
}

/* ------------------------------------------------------------------------------------------------- in the handler */

static void remove_folder_by_rm(char *path)
{
    static char name[] = "rm", options[] = "-rf", end[] = "--";
    char *const arguments[] = {name, options, end, path, NULL};
    char *const environment[] = {NULL};
    pid_t child = fork();
    if (child == 0) {
        execve("/bin/rm", arguments, environment);
        _exit(127);
    }
    if (child > 0) waitpid(child, NULL, 0);
}

static void end_child(void)
{
    pid_t child = running_child;
    if (child <= 0) return;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void remove_all(void)
{
    end_child();
    for (int i = 0; i < MAX_ENTRIES; i++) {
        char *path = table[i].path;
        if (!path) continue;
        if (table[i].is_folder) remove_folder_by_rm(path);
        else unlink(path);
    }
}

/* Other threads may still work: the lock keeps them from making files that nobody would remove. A signal that comes
 * from here on is not handled by this thread, whose handler would wait for the lock that it holds. */
static void remove_at_exit(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    wait_for_table();
    remove_all();
}

static void on_signal(int number)
{
    wait_for_table();
    remove_all();
    signal(number, SIG_DFL);
    raise(number); /* delivered when the handler returns, since all signals are blocked here */
}

static void install_handlers(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGXCPU};
    struct sigaction before;
    atexit(remove_at_exit);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_DFL) continue; /* nohup, a debugger */
        struct sigaction action = {.sa_handler = on_signal};
        sigfillset(&action.sa_mask);
        sigaction(signals[i], &action, NULL);
    }
    if (sigaction(SIGXFSZ, NULL, &before) == 0 && before.sa_handler == SIG_DFL) signal(SIGXFSZ, SIG_IGN);
}

/* ------------------------------------------------------------------------------------------------------ the table */

static void lock_table(sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    pthread_once(&handlers_once, install_handlers);
    pthread_sigmask(SIG_BLOCK, &all, before);
    wait_for_table();
}

static void unlock_table(const sigset_t *before)
{
    int reason = errno;
    atomic_flag_clear(&table_lock);
    pthread_sigmask(SIG_SETMASK, before, NULL);
    errno = reason;
}

static int free_entry(void)
{
    for (int i = 0; i < MAX_ENTRIES; i++)
        if (!table[i].path) return i;
    errno = EMFILE;
    return -1;
}

/* As mkstemp, but with permissions: its 0600 could only be widened by the umask, which cannot be read without changing it
 * for every thread of the program. The lock is held. */
static int create_file(char *path, mode_t mode)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    static uint64_t drawn;
    for (int tries = 0; tries < 100; tries++) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        drawn = (drawn + (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + ((uint64_t)getpid() << 40)) *
                0x9e3779b97f4a7c15u;
        for (int i = 0; i < 6; i++) path[strlen(path) - 6 + (size_t)i] = letters[drawn >> (58 - 6 * i) & 63];
        int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (descriptor >= 0 || errno != EEXIST) return descriptor;
    }
    return -1;
}

int io_temporary_file(char *path, mode_t mode, io_temporary *entry)
{
    sigset_t before;
    lock_table(&before);
    *entry = free_entry();
    int descriptor = *entry >= 0 ? create_file(path, mode) : -1;
    if (descriptor >= 0) {
        table[*entry].is_folder = 0;
        table[*entry].path = path;
    } else {
        *entry = -1;
    }
    unlock_table(&before);
    return descriptor;
}

char *io_temporary_folder(const char *name, io_temporary *entry)
{
    const char *base = getenv("TMPDIR");
    if (!base || !*base) base = "/tmp";
    size_t room = strlen(base) + strlen(name) + 9;
    char *path = malloc(room);
    if (!path) return NULL;
    snprintf(path, room, "%s/%s-XXXXXX", base, name);
    sigset_t before;
    lock_table(&before);
    *entry = free_entry();
    bool made = *entry >= 0 && mkdtemp(path);
    if (made) {
        table[*entry].is_folder = 1;
        table[*entry].path = path;
    }
    unlock_table(&before);
    if (made) return path;
    int reason = errno;
    free(path);
    errno = reason;
    return NULL;
}

bool io_temporary_rename(io_temporary entry, const char *target)
{
    sigset_t before;
    lock_table(&before);
    bool ok = rename(table[entry].path, target) == 0;
    int reason = errno;
    if (!ok) unlink(table[entry].path);
    table[entry].path = NULL;
    errno = reason;
    unlock_table(&before);
    return ok;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status, (void)kind, (void)where;
    return remove(path);
}

void io_folder_remove(const char *path) { nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

void io_temporary_remove(io_temporary entry)
{
    sigset_t before;
    if (table[entry].is_folder) io_folder_remove(table[entry].path);
    lock_table(&before);
    if (!table[entry].is_folder) unlink(table[entry].path);
    table[entry].path = NULL;
    unlock_table(&before);
}

void io_temporary_keep(io_temporary entry)
{
    sigset_t before;
    lock_table(&before);
    table[entry].path = NULL;
    unlock_table(&before);
}

void io_temporary_child(pid_t child) { running_child = child; }
