/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/models.h"

#include <string.h>

/* "bad256, bad512, ...": what this build holds. */
static void list_models(char *text, size_t capacity)
{
    size_t used = 0;
    const char *name;
    text[0] = 0;
    for (int32_t i = 0; (name = kb_name(KB_NAMES_MODEL, i)) && used < capacity; i++)
        used += (size_t)snprintf(text + used, capacity - used, "%s%s", used ? ", " : "", name);
}

static bool load_file(const char *path, kb_model **out, io_error *error)
{
    io_bytes bytes;
    kb_error why;
    if (!io_file_read(path, &bytes, error)) return false;
    kb_status status = kb_model_load(bytes.data, bytes.size, NULL, out, &why);
    io_bytes_free(&bytes);
    if (status == KB_OK) return true;
    return io_fail(error, "%s: %s", path, why.text[0] ? why.text : kb_status_string(status));
}

bool models_open(const char *name_or_path, kb_model **out, io_error *error)
{
    kb_status status = kb_model_builtin(name_or_path, NULL, out);
    char models[256];
    if (status == KB_OK) return true;
    if (status == KB_E_NO_TABLE) {
        list_models(models, sizeof models);
        return io_fail(error, "%s: this build holds no table for that model; it has: %s", name_or_path, models);
    }
    if (status != KB_E_UNKNOWN) return io_fail(error, "%s: %s", name_or_path, kb_status_string(status));
    if (io_path_exists(name_or_path)) return load_file(name_or_path, out, error);
    list_models(models, sizeof models);
    return io_fail(error, "no such model or file: %s; built-in models: %s", name_or_path, models);
}

const char *models_default(void)
{
    static const char *const wanted[] = {"bag256", "bad256", "hashsift256"};
    for (size_t w = 0; w < sizeof wanted / sizeof wanted[0]; w++) {
        const char *name;
        for (int32_t i = 0; (name = kb_name(KB_NAMES_MODEL, i)); i++) {
            if (strcmp(name, wanted[w]) == 0) return wanted[w];
        }
    }
    return "sift";
}
