/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol is in the header. COLMAP runs as a program of its own, and all that is read back is its analysis. */
#include "eval/sfm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eval/cache.h"
#include "eval/hash.h"
#include "eval/scenes.h"
#include "io/number.h"
#include "io/process.h"
#include "io/progress.h"
#include "io/temporary.h"

/* ------------------------------------------------------------------------------------------- running COLMAP */

static const char *program_of(const char *program) { return program ? program : "colmap"; }

bool ev_sfm_find_colmap(const char *program, io_error *error)
{
    const char *name = program_of(program);
    return io_program_exists(name) ||
           io_fail(error, "%s is not installed, and reconstruction needs it (Debian: apt-get install colmap); "
                          "\"keybits export colmap\" writes the database without it", name);
}

/* code: as io_program_run. */
static bool run_colmap(char *const *arguments, const char *log, int *code, io_error *error)
{
    setenv("QT_QPA_PLATFORM", "offscreen", 1); /* no window is opened */
    return io_program_run(arguments, log, code, error);
}

/* ---------------------------------------------------------------------------------------------- the work folder */

typedef struct places {
    io_temporary temporary; /* the folder, unless it is kept */
    char *folder, *database, *pairs, *sparse, *log;
} places;

static bool places_make(places *p, const char *keep, const char *method, io_error *error)
{
    memset(p, 0, sizeof *p);
    if (keep) {
        char *stem = io_path_stem(method);
        for (char *c = stem; *c; c++)
            if (*c == ':') *c = '-';
        p->folder = io_path_join(keep, stem);
        free(stem);
        if (!io_folder_make(keep, error) || !io_folder_make(p->folder, error)) return false;
    } else {
        p->folder = io_temporary_folder("keybits-sfm", &p->temporary);
        if (!p->folder) return io_fail(error, "no temporary folder: %s", strerror(errno));
    }
    p->database = io_path_join(p->folder, "database.db");
    p->pairs = io_path_join(p->folder, "pairs.txt");
    p->sparse = io_path_join(p->folder, "sparse");
    p->log = io_path_join(p->folder, "colmap.log");
    return true;
}

static void places_free(places *p)
{
    free(p->folder);
    free(p->database);
    free(p->pairs);
    free(p->sparse);
    free(p->log);
}

/* ------------------------------------------------------------------------------------------------------- counting */

bool ev_sfm_parse_analysis(const char *text, ev_sfm_result *result)
{
    const struct {
        const char *label;
        double *value;
    } lines[] = {{"Registered images:", &result->registered}, {"Points:", &result->points},
                 {"Observations:", &result->observations},    {"Mean track length:", &result->track_length},
                 {"Mean reprojection error:", &result->reprojection_px}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const char *at = strstr(text, lines[i].label), *end;
        if (!at || !io_number_parse(at + strlen(lines[i].label), &end, lines[i].value)) return false;
    }
    return true;
}

static bool analyze(const char *program, const char *model, const char *log, ev_sfm_result *result, io_error *error)
{
    char *arguments[] = {(char *)program, "model_analyzer", "--path", (char *)model, NULL};
    io_bytes bytes;
    if (!run_colmap(arguments, log, NULL, error) || !io_file_read(log, &bytes, error)) return false;
    bool good = ev_sfm_parse_analysis((const char *)bytes.data, result) ||
                io_fail(error, "%s: colmap's analysis has other lines than expected", log);
    io_bytes_free(&bytes);
    return good;
}

/* COLMAP may make several models that do not hang together; the one with most images counts, then with most points. */
static bool analyze_largest(const char *program, const places *p, ev_sfm_result *result, io_error *error)
{
    io_names models = {NULL, 0};
    char *log = io_path_join(p->folder, "analysis.txt");
    bool good = ev_folders_in(p->sparse, &models, error);
    for (size_t i = 0; i < models.count && good; i++) {
        ev_sfm_result one = *result;
        good = analyze(program, models.items[i], log, &one, error);
        if (good && (one.registered > result->registered ||
                     (one.registered == result->registered && one.points > result->points)))
            *result = one;
    }
    free(log);
    io_names_free(&models);
    return good;
}

/* ---------------------------------------------------------------------------------------------------- all of it */

static bool reconstruct(const ev_sfm_options *options, const places *p, ev_sfm_result *result, io_error *error)
{
    char threads[16];
    char *program = (char *)program_of(options->colmap);
    snprintf(threads, sizeof threads, "%d", options->threads > 0 ? options->threads : -1);
    char *verify[] = {program,
                      "matches_importer",
                      "--database_path",
                      p->database,
                      "--match_list_path",
                      p->pairs,
                      "--match_type",
                      "pairs",
                      "--SiftMatching.use_gpu",
                      "0",
                      "--SiftMatching.num_threads",
                      threads,
                      NULL};
    char *map[] = {program, "mapper", "--database_path", p->database, "--image_path", (char *)options->folder,
                   "--output_path", p->sparse, "--Mapper.num_threads", threads, NULL};
    char *map_log = io_path_join(p->folder, "mapper.log");
    io_progress progress;
    double start = io_clock_seconds();
    int64_t pairs = 0, matches = 0;
    io_progress_start(&progress, "colmap verifies and maps", 2, options->export.quiet);
    bool good = run_colmap(verify, p->log, NULL, error);
    io_progress_update(&progress, 1);
    io_folder_remove(p->sparse);
    good = good && io_colmap_db_verified(p->database, &pairs, &matches, error) && io_folder_make(p->sparse, error);
    /* The mapper ends with 1 when nothing can be reconstructed; for us that is a result. */
    int code = 0;
    good = good && run_colmap(map, map_log, &code, error);
    if (good && code > 1) good = io_fail(error, "%s mapper ended with code %d; see %s", program, code, map_log);
    io_progress_end(&progress);
    result->seconds = io_clock_seconds() - start;
    result->verified_pairs = (double)pairs;
    result->verified_matches = (double)matches;
    free(map_log);
    return good && analyze_largest(program, p, result, error);
}

static uint64_t result_key(const io_names *images, const ev_method *method, const ev_sfm_options *options, bool *good,
                           io_error *error)
{
    const colmap_export_options *e = &options->export;
    const ev_keypoint_source *k = &options->keypoints;
    double numbers[9] = {kb_model_scale(NULL, options->preset), e->max_ratio, e->filter, e->one_camera,
                         k->folder ? 0 : k->detector, k->folder ? 0 : k->max_keypoints, k->orientation, k->selection, k->fast_threshold_min};
    uint64_t key = ev_hash_string(KBI_SUM_START, "sfm 3 " KB_VERSION_STRING);
    key = kbi_sum_bytes(kbi_sum_bytes(key, &method->id, sizeof method->id), numbers, sizeof numbers);
    if (e->camera) {
        double camera[2] = {e->camera->model, e->camera->known};
        key = kbi_sum_bytes(key, camera, sizeof camera);
        key = kbi_sum_bytes(key, e->camera->parameters, sizeof e->camera->parameters);
    }
    if (e->pairs) *good = ev_hash_file(&key, e->pairs, error);
    for (size_t i = 0; i < images->count && *good; i++) {
        char *csv = k->folder ? ev_keypoint_path(k, NULL, images->items[i]) : NULL;
        *good = ev_hash_file(&key, images->items[i], error) && (!csv || ev_hash_file(&key, csv, error));
        free(csv);
    }
    return key;
}

/* ------------------------------------------------------------------------------------------- features of a method */

typedef struct method_source {
    ev_method *method;
    const ev_sfm_options *options;
} method_source;

static bool method_describe(void *context, const char *path, features *out, io_error *error)
{
    const method_source *s = context;
    io_image image;
    if (!ev_image_load(&s->options->keypoints, path, &image, error)) return false;
    bool good = ev_keypoints_load(&s->options->keypoints, NULL, path, &image.view, 0, &out->keypoints, error) &&
                (ev_method_is_file(s->method) ||
                 ev_method_describe(s->method, &image.view, out->keypoints.items, out->keypoints.count,
                                    s->options->preset, &out->rows, error));
    features_to_file(out, &image.file);
    io_image_free(&image);
    return good;
}

/* Rows of a file are taken in the order of the images. */
static bool method_complete(void *context, const char *path, features *out, io_error *error)
{
    (void)path;
    const method_source *s = context;
    return ev_method_take(s->method, out->keypoints.count, &out->rows, error);
}

static bool export_method(const io_names *images, ev_method *method, const ev_sfm_options *options, const places *p,
                          colmap_export_counts *counts, io_error *error)
{
    method_source source = {method, options};
    colmap_export_options export = options->export;
    export.describe = method_describe;
    export.complete = ev_method_is_file(method) ? method_complete : NULL;
    export.context = &source;
    return colmap_export(images, &export, p->database, p->pairs, counts, error) && ev_method_finish(method, error);
}

bool ev_sfm_run(const io_names *images, ev_method *method, const ev_sfm_options *options, ev_sfm_result *result,
                io_error *error)
{
    const size_t numbers = sizeof *result / sizeof(double);
    places p;
    bool good = true;
    uint64_t key = options->cache ? result_key(images, method, options, &good, error) : 0;
    if (!good) return false;
    if (!ev_method_is_file(method) && ev_cache_get(options->cache, key, (double *)result, numbers)) return true;
    memset(result, 0, sizeof *result);
    result->images = (double)images->count;
    colmap_export_counts counts = {0, 0, 0, 0};
    good = places_make(&p, options->keep, method->name, error);
    good = good && export_method(images, method, options, &p, &counts, error);
    result->matches = (double)counts.matches;
    good = good && reconstruct(options, &p, result, error);
    if (!options->keep && p.folder) { /* after a failure COLMAP's log tells why */
        if (good) io_temporary_remove(p.temporary);
        else io_temporary_keep(p.temporary);
    }
    places_free(&p);
    return good && ev_cache_put(options->cache, key, (double *)result, numbers, error);
}
