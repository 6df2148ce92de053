/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of names: folders, list files, and what the user typed. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/file.h"
#include "io/image_io.h"

void io_names_add(io_names *names, const char *name)
{
    /* Grows at powers of two. */
    if ((names->count & (names->count + 1)) == 0) {
        names->items = io_grow(names->items, 2 * names->count + 2, sizeof *names->items);
    }
    names->items[names->count++] = io_copy_string(name);
}

void io_names_split(io_names *names, const char *list)
{
    char *copy = io_copy_string(list);
    for (char *rest = copy, *name; (name = strsep(&rest, ",")) != NULL;)
        if (*name) io_names_add(names, name);
    free(copy);
}

void io_names_free(io_names *names)
{
    for (size_t i = 0; i < names->count; i++) free(names->items[i]);
    free(names->items);
    *names = (io_names){NULL, 0};
}

static int compare_names(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* ---- natural order ---- */

int io_names_compare(const char *a, const char *b)
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

static int compare_natural(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    int order = io_names_compare(x, y);
    return order != 0 ? order : strcmp(x, y); /* 01 and 1 */
}

void io_names_sort(io_names *names)
{
    if (names->count > 1) qsort(names->items, names->count, sizeof *names->items, compare_natural);
}

/* ---- what the user named ---- */

static bool has_one_of(const char *name, const char *const *suffixes)
{
    for (; *suffixes; suffixes++) {
        if (io_path_has_suffix(name, *suffixes)) return true;
    }
    return false;
}

bool io_names_folder(io_names *names, const char *folder, const char *const *suffixes, io_error *error)
{
    DIR *directory = opendir(folder);
    if (!directory) return io_fail(error, "%s: the folder cannot be read: %s", folder, strerror(errno));
    size_t first = names->count;
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (entry->d_name[0] == '.' || (suffixes && !has_one_of(entry->d_name, suffixes))) continue;
        char *path = io_path_join(folder, entry->d_name);
        if (suffixes ? io_path_is_file(path) : io_path_is_folder(path)) io_names_add(names, path);
        free(path);
    }
    closedir(directory);
    if (names->count > first) qsort(names->items + first, names->count - first, sizeof *names->items, compare_names);
    return true;
}

/* The images of a folder, or of its folders when it has none itself. */
static bool add_folder(io_names *names, const char *folder, io_error *error)
{
    io_names folders = {NULL, 0};
    size_t before = names->count;
    bool ok = io_names_folder(names, folder, io_image_suffixes, error);
    if (ok && names->count == before) {
        ok = io_names_folder(&folders, folder, NULL, error);
        for (size_t i = 0; ok && i < folders.count; i++)
            ok = io_names_folder(names, folders.items[i], io_image_suffixes, error);
        io_names_free(&folders);
    }
    if (!ok || names->count > before) return ok;
    io_error left;
    if (io_folder_left(folder, &left)) return io_fail(error, "%s; no image files remain", left.text);
    return io_fail(error, "%s: the folder holds no image files", folder);
}

/* ---- what is left ---- */

/* Pictures that people have and that no build, or not every build, reads; and their videos. */
static const char *const unread_suffixes[] = {".heic", ".heif", ".avif", ".jxl", ".jp2", ".gif", ".dng", ".cr2", ".cr3",
                                              ".nef",  ".arw",  ".orf",  ".rw2", ".raf", ".raw", ".webp", ".tif",
                                              ".tiff", ".mp4",  ".mov",  ".avi",  ".mkv", NULL};

typedef enum rest_kind { REST_UNREAD, REST_LOST, REST_FOLDER, REST_KINDS } rest_kind;

static const char *const rest_words[REST_KINDS][2] = {
    {"file of a format that is not read", "files of formats that are not read"},
    {"name that leads to no file", "names that lead to no file"}, /* a symbolic link, say */
    {"folder in it", "folders in it"}};

typedef struct folder_rest {
    size_t images, counts[REST_KINDS];
    char *examples[REST_KINDS]; /* owned */
} folder_rest;

static void rest_add(folder_rest *rest, rest_kind kind, const char *path)
{
    char **first = &rest->examples[kind];
    if (rest->counts[kind]++ == 0 || strcmp(path, *first) < 0) { /* whatever order the folder has */
        free(*first);
        *first = io_copy_string(path);
    }
}

static void rest_count(const char *folder, folder_rest *rest)
{
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (entry->d_name[0] == '.') continue;
        char *path = io_path_join(folder, entry->d_name);
        if (io_path_is_folder(path)) rest_add(rest, REST_FOLDER, path);
        else if (has_one_of(path, io_image_suffixes) && io_path_is_file(path)) rest->images++;
        else if (has_one_of(path, io_image_suffixes)) rest_add(rest, REST_LOST, path);
        else if (has_one_of(path, unread_suffixes)) rest_add(rest, REST_UNREAD, path);
        free(path);
    }
    if (directory) closedir(directory);
}

bool io_folder_left(const char *folder, io_error *sentence)
{
    folder_rest rest = {0};
    io_names folders = {0};
    rest_count(folder, &rest);
    if (rest.images == 0 && io_names_folder(&folders, folder, NULL, NULL)) { /* its folders are taken, theirs are not */
        rest.counts[REST_FOLDER] = 0;
        for (size_t i = 0; i < folders.count; i++) rest_count(folders.items[i], &rest);
    }
    char text[3 * 600] = "";
    for (int kind = 0; kind < REST_KINDS; kind++) {
        size_t at = strlen(text), count = rest.counts[kind];
        if (count > 0)
            snprintf(text + at, sizeof text - at, "%s%zu %s, such as %.500s", at > 0 ? "; " : "", count,
                     rest_words[kind][count > 1], rest.examples[kind]);
        free(rest.examples[kind]);
    }
    if (*text) io_fail(sentence, "%s: left out: %s", folder, text);
    io_names_free(&folders);
    return *text != 0;
}

static bool add_images(io_names *names, const char *argument, bool lists_allowed, io_error *error);

static bool add_list(io_names *names, const char *path, io_error *error)
{
    io_bytes text;
    if (!*path) return io_fail(error, "@ stands alone; the name of a list follows it: @list.txt");
    if (!io_text_read(path, &text, error)) return false;
    bool ok = true;
    size_t before = names->count;
    char *line = (char *)text.data;
    while (ok && line) {
        char *end = strchr(line, '\n');
        if (end) *end = 0;
        size_t length = strlen(line);
        while (length && strchr(" \t\r", line[length - 1])) line[--length] = 0;
        line += strspn(line, " \t");
        if (*line && *line != '#') ok = add_images(names, line, false, error);
        line = end ? end + 1 : NULL;
    }
    io_bytes_free(&text);
    return ok && (names->count > before || io_fail(error, "%s: the list names no images", io_path_shown(path)));
}

static bool add_images(io_names *names, const char *argument, bool lists_allowed, io_error *error)
{
    if (lists_allowed && argument[0] == '@') return add_list(names, argument + 1, error);
    if (!io_path_is_folder(argument)) {
        io_names_add(names, argument);
        return true;
    }
    return add_folder(names, argument, error);
}

bool io_names_images(io_names *names, int count, char *const *arguments, io_error *error)
{
    for (int i = 0; i < count; i++) {
        if (!add_images(names, arguments[i], true, error)) return false;
    }
    return true;
}

bool io_names_outputs(io_names *outputs, const io_names *inputs, const char *output, const char *suffix,
                      io_error *error)
{
    size_t length = strlen(output);
    bool slash = length > 0 && output[length - 1] == '/';
    bool folder = slash || io_path_is_folder(output);
    if (!folder && !strstr(output, "{}") && inputs->count != 1) {
        return io_fail(error, "%s: for %zu images the output is a folder, or a pattern with {} for the name", output,
                       inputs->count);
    }
    char *in_folder = io_path_join(output, "{}");
    in_folder = io_grow(in_folder, strlen(in_folder) + strlen(suffix) + 1, 1);
    strcat(in_folder, suffix);
    for (size_t i = 0; i < inputs->count; i++) {
        char *path = io_path_pattern(folder ? in_folder : output, inputs->items[i]);
        io_names_add(outputs, path);
        free(path);
    }
    free(in_folder);
    return true;
}

bool io_names_spared(const io_names *inputs, const char *output, io_error *error)
{
    struct stat old, input;
    if (stat(output, &old) != 0 || !S_ISREG(old.st_mode)) return true;
    for (size_t i = 0; i < inputs->count; i++)
        if (inputs->items[i] && stat(inputs->items[i], &input) == 0 && input.st_dev == old.st_dev &&
            input.st_ino == old.st_ino)
            return io_fail(error, "%s is an input, and would be overwritten", output);
    return true;
}
