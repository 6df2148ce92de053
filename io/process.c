/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* strsep */
#include "io/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/temporary.h"

bool io_program_exists(const char *name)
{
    if (strchr(name, '/')) return access(name, X_OK) == 0;
    const char *path = getenv("PATH");
    char *list = io_copy_string(path ? path : "");
    bool found = false;
    for (char *rest = list, *folder; !found && (folder = strsep(&rest, ":")) != NULL;) {
        char *candidate = io_path_join(*folder ? folder : ".", name);
        found = access(candidate, X_OK) == 0;
        free(candidate);
    }
    free(list);
    return found;
}

/* In the child. */
static void become(char *const *arguments, const char *log)
{
    int file = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file >= 0) {
        dup2(file, 1);
        dup2(file, 2);
    }
    execvp(arguments[0], arguments);
    _exit(127);
}

bool io_program_run(char *const *arguments, const char *log, int *code, io_error *error)
{
    int status = 0;
    pid_t child = fork();
    if (child < 0) return io_fail(error, "cannot start %s: %s", arguments[0], strerror(errno));
    if (child == 0) become(arguments, log);
    io_temporary_child(child);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    io_temporary_child(0);
    if (WIFEXITED(status) && code && WEXITSTATUS(status) != 127) {
        *code = WEXITSTATUS(status);
        return true;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
    const char *program = io_path_base(arguments[0]), *what = arguments[1] ? arguments[1] : "";
    if (WIFSIGNALED(status))
        return io_fail(error, "%s %s was ended by signal %d; see %s", program, what, WTERMSIG(status), log);
    return io_fail(error, "%s %s ended with code %d; see %s", program, what, WEXITSTATUS(status), log);
}
