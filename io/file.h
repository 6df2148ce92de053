/* SPDX-License-Identifier: Apache-2.0 */
/* Files: errors in words, reading whole, writing so that nobody ever sees half a file, names and lists of names. */
#ifndef IO_FILE_H
#define IO_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What went wrong, one line that names the file, the line or the value. */
typedef struct io_error {
    char text[512];
} io_error;

/* Formats the sentence (error may be NULL) and returns false, so that a failure is one line. Whatever names of files
 * hold, the sentence is one line of UTF-8 without control characters (io_printable). */
__attribute__((format(printf, 2, 3))) bool io_fail(io_error *error, const char *format, ...);

/* ---- reading ---- */
typedef struct io_bytes {
    uint8_t *data; /* owned; one zero byte follows the last, so that text can be parsed in place */
    size_t size;
} io_bytes;

/* The whole file; "-" is standard input. Fails for folders, and above 4 GiB, for pipes 1 GiB, for devices 64 MiB. */
bool io_file_read(const char *path, io_bytes *out, io_error *error);
/* The same for text; fails when a zero byte is in it, at which the text would end. */
bool io_text_read(const char *path, io_bytes *out, io_error *error);
void io_bytes_free(io_bytes *bytes);

/* ---- writing ----
 * A writer fills a temporary file beside the target; commit puts it in place in one step, abandon removes it, and so do
 * a signal that ends the program and exit() (io/temporary.h). path NULL or "-" is standard output; a target that is a
 * device or a pipe (/dev/null) is written straight, and one that is a symbolic link through it, dangling ones too, but
 * not a link that another user left in a shared folder such as /tmp. */
typedef struct io_writer io_writer;

io_writer *io_writer_open(const char *path, io_error *error); /* NULL when it failed */
/* For work files, of which there are thousands and which are made again when they are lost: commit does not wait for
 * the disc. Their names are not the user's, so a link in the place of one is replaced, not followed. */
io_writer *io_writer_open_work(const char *path, io_error *error);
FILE *io_writer_file(io_writer *writer);
/* The name of the temporary file, for those who let a library write it (SQLite); NULL for standard output and
 * devices. */
const char *io_writer_temporary(const io_writer *writer);
/* Whether all that was written so far got out, for those who write for long; to be asked straight after writing. */
bool io_writer_check(const io_writer *writer, io_error *error);
/* Both free the writer. Commit fails when anything written to the FILE failed, such as a full disc; once it has
 * succeeded, the file survives a power failure, for which it waits some milliseconds. */
bool io_writer_commit(io_writer *writer, io_error *error);
void io_writer_abandon(io_writer *writer);
/* A buffer as a file, in one go. */
bool io_file_write(const char *path, const void *data, size_t size, io_error *error);
bool io_file_write_work(const char *path, const void *data, size_t size, io_error *error);
/* What was written so far is on the disc, for a file that grows; else errno says why not. */
bool io_stream_sync(FILE *file);

/* ---- names ---- */
const char *io_path_base(const char *path);   /* what follows the last slash */
const char *io_path_suffix(const char *path); /* ".npy", or "" when the last part has none */
bool io_path_has_suffix(const char *path, const char *suffix); /* in any case of letters */
bool io_path_is_folder(const char *path);
bool io_path_is_file(const char *path); /* a regular one */
bool io_path_exists(const char *path);
/* Fails for what is there and no regular file: a pipe that somebody else's file names would be waited for. */
bool io_path_never_waits(const char *path, io_error *error);
/* True for a path that says by its suffix what goes into it: not standard output, a device, a folder or NULL. */
bool io_path_is_plain(const char *path);
const char *io_path_shown(const char *path); /* of an input, in messages: "standard input" for "-" */
/* The result is malloc'ed; memory out ends the program. */
char *io_path_stem(const char *path); /* the last part without its suffix */
char *io_path_join(const char *folder, const char *name);
char *io_path_with_suffix(const char *path, const char *suffix); /* instead of its own */
/* `pattern` with every {} replaced by the stem of path. */
char *io_path_pattern(const char *pattern, const char *path);
/* Makes the folder if it is not there; its parent must be. */
bool io_folder_make(const char *path, io_error *error);
/* The same for one whose name is not the user's: a link in its place is not followed. */
bool io_folder_make_work(const char *path, io_error *error);

/* ---- memory ----
 * There is nothing better to do than to stop when memory is out: the program is asked to (io/host.h). */
void *io_alloc(size_t count, size_t size); /* zeroed; checks count x size */
void *io_grow(void *block, size_t count, size_t size);
char *io_copy_string(const char *text);
/* For those whose allocations fail elsewhere, so that they do not take it for a fault of the file at hand. */
__attribute__((noreturn)) void io_out_of_memory(void);

/* ---- lists of names ---- */
typedef struct io_names {
    char **items; /* owned, each owned */
    size_t count;
} io_names;

void io_names_add(io_names *names, const char *name); /* copies */
void io_names_split(io_names *names, const char *list); /* adds what stands between commas; nothing for nothing */
void io_names_free(io_names *names);
/* Sorts names so that 2.jpg comes before 10.jpg. */
void io_names_sort(io_names *names);
int io_names_compare(const char *a, const char *b);
/* The regular files of a folder whose suffix is one of `suffixes` (NULL-terminated, such as {".png", NULL}), as paths,
 * sorted by name byte by byte. NULL suffixes: the folders in it. */
bool io_names_folder(io_names *names, const char *folder, const char *const *suffixes, io_error *error);
/* What the user named: a folder means its image files (it must hold at least one), "@list.txt" the names in a list, one
 * per line and at least one ('#' starts a comment line, blank lines are skipped), "@-" a list on standard input;
 * anything else is itself, "-" too, which is an image on standard input. Names in a list are taken as if they had been
 * given on the command line. */
bool io_names_images(io_names *names, int count, char *const *arguments, io_error *error);
/* Whether an output is none of these files, by whatever name; fails with a sentence. NULL among them: nothing. */
bool io_names_spared(const io_names *inputs, const char *output, io_error *error);
/* What io_names_images leaves of a folder without an error, as a sentence: pictures and videos of formats that are not
 * read, names of images that lead to no file, and folders beside images. False when there is nothing. */
bool io_folder_left(const char *folder, io_error *sentence);
typedef void (*io_take_sentence)(void *context, const char *sentence);
/* Of names that lead to one file, or to files of the same bytes, the first stays; `say` (may be NULL) is told of the
 * others. Keeps the order. */
void io_names_unique(io_names *names, io_take_sentence say, void *context);
/* Where the result of each input goes. `output` is a pattern in which {} stands for an input's name without folder and
 * suffix, or a folder (one that exists, or a name that ends with a slash), which means FOLDER/{}SUFFIX, or, for one
 * input only, a file. The caller makes folders, and sees to it that nothing is overwritten. */
bool io_names_outputs(io_names *outputs, const io_names *inputs, const char *output, const char *suffix,
                      io_error *error);
#endif
