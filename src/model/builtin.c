/* Models by name. The learned ones are model files compiled in (KB_HAVE_BUILTIN_TABLES; the build makes a C file out of
 * models/); SIFT and RootSIFT need no table. */
#include "model/model.h"

#ifdef KB_HAVE_BUILTIN_TABLES
extern const kbi_builtin_table kbi_builtin_tables[];
#else
static const kbi_builtin_table kbi_builtin_tables[] = {{NULL, NULL, 0}};
#endif

static const char *const names[] = {"bad256",      "bad512",      "bag128", "bag256",  "bag512",
                                    "hashsift256", "hashsift512", "sift",   "rootsift"};

static const kbi_builtin_table *find_table(const char *name)
{
    for (const kbi_builtin_table *t = kbi_builtin_tables; t->name; t++)
        if (strcmp(t->name, name) == 0) return t;
    return NULL;
}

static kb_kind tableless_kind(const char *name)
{
    if (!kbi_kind_built(KB_SIFT)) return (kb_kind)0;
    return strcmp(name, "sift") == 0 ? KB_SIFT : strcmp(name, "rootsift") == 0 ? KB_ROOTSIFT : (kb_kind)0;
}

kb_status kb_model_builtin_with(const char *name, const kb_allocator *allocator, kb_model **out)
{
    if (out) *out = NULL;
    if (!name || !out) return KB_E_ARGUMENT;
    kb_kind kind = tableless_kind(name);
    if (kind) {
        kb_model_spec spec = {.struct_size = sizeof spec, .kind = kind, .name = name};
        return kb_model_create_with(&spec, allocator, out, NULL);
    }
    const kbi_builtin_table *table = find_table(name);
    if (table) return kb_model_load_with(table->data, table->size, allocator, out, NULL);
    for (size_t i = 0; i < KBI_COUNT(names); i++)
        if (strcmp(names[i], name) == 0) return KB_E_NO_TABLE;
    return KB_E_UNKNOWN;
}

kb_status kb_model_builtin(const char *name, kb_model **out) { return kb_model_builtin_with(name, NULL, out); }

const char *kb_model_builtin_name(int32_t index, int32_t *available)
{
    if (index < 0 || index >= (int32_t)KBI_COUNT(names)) return NULL;
    if (available) *available = tableless_kind(names[index]) || find_table(names[index]);
    return names[index];
}
