/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about the HPatches release: its 116 sequences in the order of the benchmark's own split file (the task files
 * are drawn in that order), and which of them are the test parts of the splits a, b and c. The first 57 change
 * illumination, the others viewpoint. */
#include "eval/hpatches_splits.h"

#include <stdlib.h>
#include <string.h>

#include "io/json.h"

#define ILLUMINATION 57
#define TEST_SIZE 40

static const char *const sequences[] = {
    "i_crownnight", "i_table", "i_objects", "i_nescafe", "i_nijmegen", "i_whitebuilding", "i_porta", "i_santuario",
    "i_dc", "i_castle", "i_steps", "i_contruction", "i_melon", "i_yellowtent", "i_miniature", "i_troulos",
    "i_veggies", "i_zion", "i_gonnenberg", "i_autannes", "i_boutique", "i_fruits", "i_pool", "i_fog", "i_fenis",
    "i_village", "i_ajuntament", "i_partyfood", "i_kurhaus", "i_school", "i_chestnuts", "i_smurf", "i_indiana",
    "i_pinard", "i_lionnight", "i_kions", "i_ski", "i_greenhouse", "i_ktirio", "i_tools", "i_toy", "i_bridger",
    "i_lionday", "i_brooklyn", "i_crownday", "i_londonbridge", "i_greentea", "i_leuven", "i_nuts", "i_resort",
    "i_bologna", "i_duda", "i_dome", "i_pencils", "i_books", "i_parking", "i_salon", "v_circus", "v_charing",
    "v_colors", "v_astronautis", "v_maskedman", "v_talent", "v_london", "v_underground", "v_coffeehouse",
    "v_calder", "v_grace", "v_yard", "v_dogman", "v_laptop", "v_eastsouth", "v_boat", "v_strand", "v_busstop",
    "v_artisans", "v_machines", "v_soldiers", "v_home", "v_wapping", "v_wounded", "v_weapons", "v_adam", "v_there",
    "v_vitro", "v_cartooncity", "v_abstract", "v_dirtywall", "v_beyus", "v_apprentices", "v_sunseason", "v_wall",
    "v_war", "v_bricks", "v_fest", "v_churchill", "v_blueprint", "v_tempera", "v_samples", "v_man", "v_bees",
    "v_pomegranate", "v_bip", "v_feast", "v_azzola", "v_woman", "v_yuri", "v_posters", "v_bird", "v_graffiti",
    "v_bark", "v_wormhole", "v_tabletop", "v_courses", "v_birdwoman", "v_gardens",
};
#define SEQUENCES (sizeof sequences / sizeof *sequences)

static const unsigned char tests[3][TEST_SIZE] = {
    {26, 49, 1, 15, 50, 34, 6, 17, 43, 21, 54, 41, 5, 28, 56, 19, 39, 7, 23, 4, 113, 65, 86, 103, 105, 62, 112, 100,
     73, 94, 68, 64, 104, 71, 106, 77, 99, 101, 114, 74},
    {21, 12, 9, 49, 30, 35, 28, 19, 51, 27, 36, 52, 37, 53, 6, 42, 29, 41, 25, 23, 60, 102, 58, 105, 103, 68, 95,
     109, 63, 90, 107, 100, 89, 114, 59, 70, 83, 82, 64, 92},
    {36, 1, 15, 12, 39, 35, 45, 4, 20, 55, 10, 23, 47, 8, 27, 22, 9, 50, 31, 0, 104, 97, 76, 65, 109, 75, 61, 62,
     100, 87, 96, 92, 82, 101, 74, 81, 115, 103, 99, 80},
};

const char *const ev_hpatches_split_names[] = {"a", "b", "c", "full", "illum", "view", NULL};

static void add_range(io_names *out, size_t first, size_t last)
{
    for (size_t i = first; i < last; i++) io_names_add(out, sequences[i]);
}

static bool built_in_split(const char *name, io_names *out)
{
    if (strcmp(name, "full") == 0) add_range(out, 0, SEQUENCES);
    else if (strcmp(name, "illum") == 0) add_range(out, 0, ILLUMINATION);
    else if (strcmp(name, "view") == 0) add_range(out, ILLUMINATION, SEQUENCES);
    else if (strlen(name) == 1 && *name >= 'a' && *name <= 'c')
        for (size_t i = 0; i < TEST_SIZE; i++) io_names_add(out, sequences[tests[*name - 'a'][i]]);
    return out->count > 0;
}

/* {"a": {"test": ["i_...", ...]}, ...} */
static bool split_from_file(const char *path, const char *name, io_names *out, io_error *error)
{
    io_json_value *root = io_json_read(path, error);
    if (!root) return false;
    const io_json_value *test = io_json_get(io_json_get(root, name), "test");
    for (const io_json_value *item = test ? test->first : NULL; item; item = item->next)
        if (item->kind == IO_JSON_STRING) io_names_add(out, item->string);
    io_json_free(root);
    return out->count > 0 || io_fail(error, "%s: no split \"%s\" with test sequences", path, name);
}

bool ev_hpatches_split(const char *tasks, const char *name, io_names *out, io_error *error)
{
    memset(out, 0, sizeof *out);
    char *folder = tasks ? io_path_join(tasks, "splits") : NULL;
    char *path = tasks ? io_path_join(folder, "splits.json") : NULL;
    bool good;
    if (tasks && io_path_exists(path)) good = split_from_file(path, name, out, error);
    else
        good = built_in_split(name, out) ||
               io_fail(error, "no split \"%s\": a, b, c, full, illum and view are known", name);
    free(folder);
    free(path);
    return good;
}
