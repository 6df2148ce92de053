/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a run reads and writes, so that no output overwrites an input or another output. A file is known by
 * device and inode, whatever its name; one that does not exist yet by the inode of its folder and its name there. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "io/bytes.h"

typedef struct claim {
    dev_t device;
    ino_t inode;
    char *name; /* in the folder that device and inode tell; NULL: the file exists, and is device and inode */
    char *path; /* as the user wrote it; NULL: an empty slot */
    bool output;
} claim;

/* Open addressing; the number of slots is a power of two. */
typedef struct cli_paths {
    claim *slots;
    size_t size, used;
    bool standard_input, standard_output;
} cli_paths;

/* -------------------------------------------------------------------------------------------------- what file it is */

static char *folder_of(const char *path)
{
    size_t length = (size_t)(io_path_base(path) - path);
    char *folder = io_alloc(length + 3, 1);
    if (length) memcpy(folder, path, length);
    else strcpy(folder, "./");
    return folder;
}

/* Where a dangling symbolic link points to; NULL when path is none. */
static char *follow_link(const char *path)
{
    char target[4096];
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length <= 0) return NULL;
    target[length] = 0;
    if (target[0] == '/') return io_copy_string(target);
    char *folder = folder_of(path), *joined = io_path_join(folder, target);
    free(folder);
    return joined;
}

/* Fills device, inode and name. False for what is no file: a folder, a device. */
static bool identify(const char *path, claim *out)
{
    struct stat status;
    if (stat(path, &status) == 0) {
        *out = (claim){.device = status.st_dev, .inode = status.st_ino};
        return S_ISREG(status.st_mode);
    }
    char *at = io_copy_string(path);
    for (int links = 0; links < 40; links++) {
        char *next = follow_link(at);
        if (!next) break;
        free(at);
        at = next;
    }
    char *folder = folder_of(at);
    bool known = stat(folder, &status) == 0;
    *out = (claim){.device = known ? status.st_dev : 0,
                   .inode = known ? status.st_ino : 0,
                   .name = io_copy_string(known ? io_path_base(at) : at)};
    free(folder);
    free(at);
    return true;
}

static bool same_file(const claim *a, const claim *b)
{
    if (a->device != b->device || a->inode != b->inode || !a->name != !b->name) return false;
    return !a->name || strcmp(a->name, b->name) == 0;
}

/* ----------------------------------------------------------------------------------------------------------- claims */

static size_t hash_of(const claim *c)
{
    uint64_t hash = ((uint64_t)c->inode ^ (uint64_t)c->device << 32) * 0x9e3779b97f4a7c15u;
    if (c->name) hash = kbi_sum_bytes(hash, c->name, strlen(c->name));
    return (size_t)(hash ^ hash >> 29);
}

static claim *find_slot(const cli_paths *paths, const claim *wanted)
{
    size_t at = hash_of(wanted) & (paths->size - 1);
    while (paths->slots[at].path && !same_file(&paths->slots[at], wanted)) at = (at + 1) & (paths->size - 1);
    return &paths->slots[at];
}

static void make_space(cli_paths *paths)
{
    if (2 * (paths->used + 1) <= paths->size) return;
    cli_paths old = *paths;
    paths->size = old.size ? 2 * old.size : 64;
    paths->slots = io_alloc(paths->size, sizeof *paths->slots);
    for (size_t i = 0; i < old.size; i++)
        if (old.slots[i].path) *find_slot(paths, &old.slots[i]) = old.slots[i];
    free(old.slots);
}

static cli_paths *paths_of(cli_common *common)
{
    if (!common->paths) common->paths = io_alloc(1, sizeof *common->paths);
    return common->paths;
}

static bool claim_file(cli_common *common, const char *path, bool output, io_error *error)
{
    cli_paths *paths = paths_of(common);
    claim wanted;
    if (!identify(path, &wanted)) return true;
    make_space(paths);
    claim *slot = find_slot(paths, &wanted);
    if (!slot->path) {
        *slot = wanted;
        slot->path = io_copy_string(path);
        slot->output = output;
        paths->used++;
        return true;
    }
    free(wanted.name);
    if (!slot->output && !output) return true;
    if (slot->output && output) return io_fail(error, "%s would be written twice", path);
    return io_fail(error, "%s is an input, and would be overwritten", output ? path : slot->path);
}

bool cli_claim_input(cli_common *common, const char *path, io_error *error)
{
    if (!path) return true;
    if (strcmp(path, "-") != 0) return claim_file(common, path, false, error);
    if (paths_of(common)->standard_input) return io_fail(error, "standard input can be read only once");
    return common->paths->standard_input = true;
}

bool cli_claim_output(cli_common *common, const char *path, io_error *error)
{
    if (!path) return true;
    if (strcmp(path, "-") != 0) return claim_file(common, path, true, error);
    if (paths_of(common)->standard_output) return io_fail(error, "two results want standard output");
    return common->paths->standard_output = true;
}

bool cli_claim_folder(cli_common *common, const char *folder, io_error *error)
{
    DIR *directory = opendir(folder);
    bool ok = true;
    if (!directory) return true; /* nothing is in it yet */
    for (struct dirent *entry; ok && (entry = readdir(directory));) {
        char *path = io_path_join(folder, entry->d_name);
        ok = claim_file(common, path, true, error);
        free(path);
    }
    closedir(directory);
    return ok;
}

void cli_paths_free(cli_paths *paths)
{
    if (!paths) return;
    for (size_t i = 0; i < paths->size; i++) {
        free(paths->slots[i].name);
        free(paths->slots[i].path);
    }
    free(paths->slots);
    free(paths);
}

/* ------------------------------------------------------------------------------------------------------------ lists */

bool cli_claim_images(cli_common *common, int count, char *const *arguments, io_names *images, io_error *error)
{
    if (!io_names_images(images, count, arguments, error)) return false;
    for (int i = 0; i < count; i++) {
        io_error left;
        if (io_path_is_folder(arguments[i]) && io_folder_left(arguments[i], &left)) cli_warn(common, "%s", left.text);
    }
    for (size_t i = 0; i < images->count; i++) /* - was claimed as an argument */
        if (strcmp(images->items[i], "-") != 0 && !cli_claim_input(common, images->items[i], error)) return false;
    return true;
}

/* Of out/ and out/{}.hex the folder is made. */
static bool make_output_folder(const char *output, io_error *error)
{
    const char *place = strstr(output, "{}"), *base = io_path_base(output);
    if (*base && (!place || place < base || base == output)) return true;
    char *folder = folder_of(output);
    bool ok = io_folder_make(folder, error);
    free(folder);
    return ok;
}

bool cli_claim_outputs(cli_common *common, const io_names *inputs, const char *output, const char *suffix,
                       io_names *outputs, io_error *error)
{
    if (!output) return true;
    if (!io_names_outputs(outputs, inputs, output, suffix, error)) return false;
    for (size_t i = 0; i < outputs->count; i++)
        if (!cli_claim_output(common, outputs->items[i], error)) return false;
    return make_output_folder(output, error);
}
