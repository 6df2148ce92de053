/* SPDX-License-Identifier: Apache-2.0 */
/* Temporary files and folders that do not outlive the program: whatever is registered here is removed by exit() and by
 * the signals that end a program (SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGXCPU). SIGXFSZ is ignored, so that a
 * file above the limit is a failed write, which is told like a full disc. */
#ifndef IO_TEMPORARY_H
#define IO_TEMPORARY_H

#include <stdbool.h>
#include <sys/types.h>

/* The place in the table; -1: none. */
typedef int io_temporary;

/* Makes a file that was not there: path ends in XXXXXX, is changed to the name, and must live until the file is kept or
 * removed; mode is what open takes, less the umask. Returns the descriptor, or -1 with errno set. */
int io_temporary_file(char *path, mode_t mode, io_temporary *entry);
/* The same for a folder in $TMPDIR or /tmp, whose name begins with `name`; the path is malloc'ed, and the caller's to
 * free after io_temporary_remove or io_temporary_keep. NULL with errno set when it failed. */
char *io_temporary_folder(const char *name, io_temporary *entry);
/* Renames the file to its final name and forgets it. On failure it is removed; errno tells why. */
bool io_temporary_rename(io_temporary entry, const char *target);
/* Removes the file, or the folder with all that is in it. */
void io_temporary_remove(io_temporary entry);
/* It stays, and is the caller's from now on. */
void io_temporary_keep(io_temporary entry);
/* Removes any folder with all that is in it; nothing happens when it is not there. */
void io_folder_remove(const char *path);

/* A program that was started and works in such a folder: it is ended before the folder is removed. 0: none. */
void io_temporary_child(pid_t child);

#endif
