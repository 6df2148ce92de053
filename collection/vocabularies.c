/* SPDX-License-Identifier: Apache-2.0 */
/* Vocabularies by name: those that are compiled in, those that are installed, files. */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collection/photos.h"
#include "keybits/collection.h"

const char *photos_vocabulary_name(size_t index, size_t *size)
{
    for (size_t i = 0; photos_builtin_vocabularies[i].name; i++) {
        if (i != index) continue;
        if (size) *size = photos_builtin_vocabularies[i].size;
        return photos_builtin_vocabularies[i].name;
    }
    return NULL;
}

kb_status kb_collection_vocabulary(const char *name, const kb_allocator *allocator, kb_vocabulary **out)
{
    if (!name || !out) return KB_E_ARGUMENT;
    *out = NULL;
    for (const builtin_vocabulary *v = photos_builtin_vocabularies; v->name; v++)
        if (strcmp(v->name, name) == 0) return kb_vocabulary_load(v->data, v->size, allocator, out, NULL);
    return KB_E_UNKNOWN;
}

static bool open_builtin(const char *name, io_vocabulary *out)
{
    memset(out, 0, sizeof *out);
    return kb_collection_vocabulary(name, NULL, &out->vocabulary) == KB_OK;
}

/* NAME.kbv in share/keybits beside this file (a program or a library where it was built) or beside its folder (where it
 * is installed), or in the folder of the Python package. NULL when it is not there; else to be freed. */
static char *installed_beside(const char *file, const char *name)
{
    static const char *const folders[] = {"share/keybits", "../share/keybits", "vocabularies"};
    char path[4096];
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%.*s%s/%s.kbv", (int)(io_path_base(file) - file), file, folders[i], name);
        if (io_path_exists(path)) return io_copy_string(path);
    }
    return NULL;
}

static char *installed_path(const char *name)
{
    char program[2048];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    Dl_info library;
    if (strchr(name, '/')) return NULL;
    program[length > 0 ? length : 0] = 0;
    char *path = length > 0 ? installed_beside(program, name) : NULL;
    if (!path && dladdr(photos_builtin_vocabularies, &library) && library.dli_fname)
        path = installed_beside(library.dli_fname, name);
    return path;
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

bool photos_vocabulary_installed(const char *name, size_t *size)
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

static bool unknown_name(const char *name, io_error *error)
{
    char names[128] = "";
    for (size_t i = 0; photos_vocabulary_name(i, NULL); i++) {
        size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, "%s%s", i ? ", " : "", photos_vocabulary_name(i, NULL));
    }
    return io_fail(error, "no such vocabulary or file: %s; built-in vocabularies: %s", name, names);
}

bool photos_vocabulary_open(const char *name_or_path, const kb_model_info *model, io_vocabulary *out, io_error *error)
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
        if (strcmp(name, "-") != 0 && !io_path_exists(name)) return unknown_name(name, error);
        if (!io_vocabulary_read(name, out, error)) return false;
    }
    if (!model || vocabulary_fits(name, out, model, error)) return true;
    io_vocabulary_free(out);
    return false;
}
