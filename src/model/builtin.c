/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per image, file or model. */
/* Models by name. The build turns the files in models/ into one C file (KB_HAVE_BUILTIN_TABLES), which names every
 * model and has the tables of the chosen ones. A new model is a new file there. SIFT and RootSIFT need no table. */
#include "model/model.h"

#ifdef KB_HAVE_BUILTIN_TABLES
extern const kbi_builtin_table kbi_builtin_tables[];
#  define UNKNOWN_NAME KB_E_UNKNOWN
#else
static const kbi_builtin_table kbi_builtin_tables[] = {{NULL, NULL, 0}};
#  define UNKNOWN_NAME KB_E_NO_TABLE /* it may be one of models/, which this build has not seen */
#endif

static const char *const tableless[] = {"sift", "rootsift"};

static const kbi_builtin_table *find_table(const char *name)
{
    for (const kbi_builtin_table *t = kbi_builtin_tables; t->name; t++)
        if (strcmp(t->name, name) == 0) return t;
    return NULL;
}

static kb_kind tableless_kind(const char *name)
{
    return strcmp(name, "sift") == 0 ? KB_KIND_SIFT : strcmp(name, "rootsift") == 0 ? KB_KIND_ROOTSIFT : (kb_kind)0;
}

kb_status kb_model_builtin(const char *name, const kb_allocator *allocator, kb_model **out)
{
    if (out) *out = NULL;
    if (!name || !out) return KB_E_ARGUMENT;
    kb_kind kind = tableless_kind(name);
    if (kind && !kbi_kind_built(kind)) return KB_E_NO_TABLE;
    if (kind) {
        kb_model_spec spec = {.struct_size = sizeof spec, .kind = kind, .name = name};
        return kb_model_create(&spec, allocator, out, NULL);
    }
    const kbi_builtin_table *table = find_table(name);
    if (!table) return UNKNOWN_NAME;
    return table->data ? kb_model_load(table->data, table->size, allocator, out, NULL) : KB_E_NO_TABLE;
}

const char *kbi_model_builtin_name(int32_t index)
{
    const kbi_builtin_table *t = kbi_builtin_tables;
    if (index < 0) return NULL;
    for (; t->name; t++)
        if (t->data && index-- == 0) return t->name;
    return kbi_kind_built(KB_KIND_SIFT) && index < (int32_t)KBI_COUNT(tableless) ? tableless[index] : NULL;
}
