/* SPDX-License-Identifier: Apache-2.0 */
/* What evaluations and exports read besides images: results for a page, splits and pairs of benchmarks, numbers that
 * were kept, cameras, lists of images and of pairs. The first byte chooses. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eval/brown.h"
#include "eval/cache.h"
#include "eval/hpatches_splits.h"
#include "eval/pose.h"
#include "eval/report.h"
#include "fuzz.h"
#include "io/colmap_db.h"
#include "pipeline/colmap_export.h"

enum { REPORT, SPLIT, PAIRS, CACHE, CAMERA, MATRIX, NAMES, POSES, POSE_LISTS, EXPORT, READERS };
enum { SIDE = 16 };

static char folder[64];
static const char *const files[] = {"splits/splits.json",
                                    "patches0000.bmp",
                                    "pairs.txt",
                                    "0000000000000007.txt",
                                    "K.txt",
                                    "list.txt",
                                    "a.pgm",
                                    "b.pgm",
                                    "page.html",
                                    "images/a.pgm",
                                    "images/b.pgm",
                                    "gt_dense_cameras/a.pgm.camera",
                                    "gt_dense_cameras/b.pgm.camera",
                                    "poses/cameras.txt",
                                    "poses/pairs.txt",
                                    "poses/pairs.json",
                                    "poses/a_b.txt",
                                    "poses/a.pgm",
                                    "poses/b.pgm",
                                    "export.db",
                                    "export.txt"};
static const char *const folders[] = {"splits", "images", "gt_dense_cameras", "poses"};

static const char *in_folder(const char *name)
{
    static char path[4][192];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static void remove_folder(void)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) unlink(in_folder(files[i]));
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) rmdir(in_folder(folders[i]));
    rmdir(folder);
}

static const char *put_file(const char *name, const void *data, size_t size)
{
    const char *path = in_folder(name);
    FILE *file = fopen(path, "wb");
    fuzz_expect(file != NULL && (size == 0 || fwrite(data, 1, size, file) == size) && fclose(file) == 0);
    return path;
}

static void make_folder(void)
{
    char picture[16 + SIDE * SIDE];
    if (folder[0]) return;
    strcpy(folder, "/dev/shm/keybits-fuzz-XXXXXX");
    if (!mkdtemp(folder)) fuzz_expect(mkdtemp(strcpy(folder, "/tmp/keybits-fuzz-XXXXXX")) != NULL);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) fuzz_expect(mkdir(in_folder(folders[i]), 0777) == 0);
    size_t head = (size_t)sprintf(picture, "P5 %d %d 255\n", SIDE, SIDE);
    for (int i = 0; i < SIDE * SIDE; i++) picture[head + (size_t)i] = (char)(i * i / 7 + i / SIDE * 31);
    static const char *const pictures[] = {"a.pgm",        "b.pgm",       "images/a.pgm",
                                           "images/b.pgm", "poses/a.pgm", "poses/b.pgm"};
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++) put_file(pictures[i], picture, head + SIDE * SIDE);
    put_file("patches0000.bmp", "BM", 2);
    atexit(remove_folder);
}

/* A refusal has words. */
static void agree(bool ok, const io_error *error)
{
    fuzz_expect(ok || (error->text[0] != 0 && memchr(error->text, 0, sizeof error->text) != NULL));
}

/* --------------------------------------------------------------------------------------------------------- readers */

static void read_report(const char *data, size_t size, io_error *error)
{
    ev_report report = {0};
    io_json_value *document = io_json_parse("result", data, size, error);
    if (!document) return;
    bool ok = ev_report_add(&report, "result", document, error);
    agree(ok, error);
    if (ok) {
        FILE *page = fopen(in_folder("page.html"), "wb");
        fuzz_expect(page != NULL);
        ev_report_write(&report, "title", page);
        fclose(page);
    }
    ev_report_free(&report);
    io_json_free(document);
}

static void read_split(const char *data, size_t size, io_error *error)
{
    io_names names;
    put_file("splits/splits.json", data, size);
    bool ok = ev_hpatches_split(folder, "a", &names, error);
    agree(ok, error);
    fuzz_expect(!ok || names.count > 0);
    io_names_free(&names);
}

/* The one file of patches is refused when pairs are right. */
static void read_pairs(const char *data, size_t size, io_error *error)
{
    const ev_brown_options o = {.pairs = "pairs.txt", .quiet = true};
    put_file("pairs.txt", data, size);
    agree(ev_brown_export_patches(folder, &o, in_folder("page.html"), error), error);
}

static void read_cache(const char *data, size_t size)
{
    double numbers[3];
    put_file("0000000000000007.txt", data, size);
    ev_cache_get(folder, 7, numbers, 3);
}

static void read_camera(const char *text, io_error *error)
{
    io_camera camera;
    bool ok = io_camera_parse(text, &camera, error);
    agree(ok, error);
    if (ok) fuzz_expect(camera.parameters[0] > 0 && isfinite(camera.parameters[0]));
}

static void read_matrix(const char *data, size_t size)
{
    io_camera camera;
    put_file("K.txt", data, size);
    if (!io_camera_from_folder(folder, &camera)) return;
    for (int i = 0; i < 4; i++) fuzz_expect(isfinite(camera.parameters[i]));
}

static void read_names(const char *data, size_t size, io_error *error)
{
    char argument[200];
    char *const arguments[] = {argument};
    io_names names = {NULL, 0};
    snprintf(argument, sizeof argument, "@%s", put_file("list.txt", data, size));
    bool ok = io_names_images(&names, 1, arguments, error);
    agree(ok, error);
    fuzz_expect(!ok || names.count > 0);
    io_names_free(&names);
}

/* A set that is accepted can be run, but for images that are not there. */
static void run_poses(const char *path, const io_names *matches, io_error *error)
{
    static pipeline p;
    static kb_model *model;
    const ev_pose_options o = {.model = "sift", .matches = matches, .quiet = true};
    ev_pose_set set;
    ev_pose_result result;
    if (!model) {
        pipeline_options options;
        pipeline_options_init(&options);
        fuzz_expect(kb_model_builtin("sift", NULL, &model) == KB_OK && pipeline_open(&p, &options, model, NULL, error));
    }
    bool ok = ev_pose_set_open(path, 1, &set, error);
    agree(ok, error);
    if (!ok) return;
    fuzz_expect(set.pair_count > 0 && set.image_count > 0);
    for (size_t i = 0; i < set.image_count; i++) /* images of 65535 pixels a side are right, and slow */
        ok = ok && set.images[i].width <= 64 && set.images[i].height <= 64;
    if (ok) {
        ok = ev_pose_run(&p, &set, &o, &result, error);
        agree(ok, error);
        if (ok) ev_pose_result_free(&result);
    }
    ev_pose_set_free(&set);
}

static void read_poses(const char *data, size_t size, io_error *error)
{
    put_file("gt_dense_cameras/a.pgm.camera", data, size);
    put_file("gt_dense_cameras/b.pgm.camera", data, size);
    run_poses(folder, NULL, error);
}

/* The first byte chooses the kind of list, or matches for a list that is right. */
static void read_pose_lists(const char *data, size_t size, io_error *error)
{
    static const char right[] = "a.pgm 20 20 8 8 1 0 0 0 1 0 0 0 1 0 0 0\nb.pgm 20 20 8 8 1 0 0 0 1 0 0 0 1 1 0 0\n";
    static const char *const names[] = {"poses/cameras.txt", "poses/pairs.txt", "poses/pairs.json", "poses/a_b.txt"};
    char path[192], *given = path;
    int kind = size ? (unsigned char)data[0] % 4 : 0;
    const io_names matches = {&given, 1};
    put_file(names[kind], data + (size > 0), size - (size > 0));
    snprintf(path, sizeof path, "%s", in_folder("poses"));
    if (kind == 3)
        run_poses(put_file("poses/cameras.txt", right, strlen(right)), &matches, error);
    else
        run_poses(in_folder(names[kind]), NULL, error);
}

static bool describe_nothing(void *context, const char *path, features *out, io_error *error)
{
    (void)context, (void)path, (void)error;
    *out = (features){.width = SIDE, .height = SIDE, .rows = {.bytes = io_alloc(1, 1), .width = 8}};
    out->keypoints.items = io_alloc(1, sizeof *out->keypoints.items);
    return true;
}

static void read_export(const char *data, size_t size, io_error *error)
{
    char *names[] = {"a.pgm", "b.pgm", "c.pgm"};
    const io_names images = {names, 3};
    char *list = io_copy_string(put_file("pairs.txt", data, size));
    const colmap_export_options o = {.describe = describe_nothing, .pairs = list, .quiet = true};
    agree(colmap_export(&images, &o, in_folder("export.db"), in_folder("export.txt"), NULL, error), error);
    free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    io_error error = {""};
    if (size == 0) return 0;
    make_folder();
    int reader = data[0] % READERS;
    char *text = malloc(size);
    memcpy(text, data + 1, --size);
    text[size] = 0;
    switch (reader) {
    case REPORT: read_report(text, size, &error); break;
    case SPLIT: read_split(text, size, &error); break;
    case PAIRS: read_pairs(text, size, &error); break;
    case CACHE: read_cache(text, size); break;
    case CAMERA: read_camera(text, &error); break;
    case MATRIX: read_matrix(text, size); break;
    case NAMES: read_names(text, size, &error); break;
    case POSES: read_poses(text, size, &error); break;
    case POSE_LISTS: read_pose_lists(text, size, &error); break;
    default: read_export(text, size, &error);
    }
    free(text);
    return 0;
}

/* ----------------------------------------------------------------------------------------------------------- seeds */

size_t fuzz_seed(int index, uint8_t *buffer, size_t capacity)
{
    static const struct {
        int reader;
        const char *text;
    } seeds[] = {
        {SPLIT, "{\"a\": {\"test\": [\"i_one\", \"v_two\"]}}"},
        {PAIRS, "0 1 0 1 1 0 0\n\n2 3 0 200 3 0 0\n"},
        {CACHE, "0.5\n1e-3\n-inf\n"},
        {CAMERA, "OPENCV,2759.48,2764.16,1520.69,1006.81,0,0,1e-3,-2"},
        {CAMERA, "SIMPLE_PINHOLE,500,320,240"},
        {MATRIX, "2759.48 0 1520.69\n0 2764.16 1006.81\n0 0 1\n"},
        {NAMES, "# images\na.png\n  b c.jpg \r\n\n-\n@list\n"},
        {POSES, "20 0 8\n0 20 8\n0 0 1\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n1 2 3\n16 16\n"},
        {POSE_LISTS, "\004# a set\na.pgm 20 20 8 8 1 0 0 0 1 0 0 0 1 0 0 0\nb.pgm 20 20 8 8 1 0 0 0 1 0 0 0 1 1 0 0\n"},
        {POSE_LISTS, "\005a.pgm b.pgm 0 0 20 0 8 0 20 8 0 0 1 20 0 8 0 20 8 0 0 1 1 0 0 1 0 1 0 0 0 0 1 0 0 0 0 1\n"},
        {POSE_LISTS, "\006[{\"pair_names\": [\"a.pgm\", \"b.pgm\"], \"K0\": [[20, 0, 8], [0, 20, 8], [0, 0, 1]], "
                     "\"K1\": [20, 0, 8, 0, 20, 8, 0, 0, 1], \"size0_hw\": [16, 16], \"size1_hw\": [12, 12], "
                     "\"T_0to1\": [[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]}]"},
        {POSE_LISTS, "\0071 2 3 4\n5 6 7 8\n2.5 3e0 1 1\n"},
        {EXPORT, "# pairs\na.pgm b.pgm\nc.pgm a.pgm\r\n"},
        {REPORT, "[{\"benchmark\": \"oxford\", \"set\": \"s\", \"model\": \"sift\", \"keypoints\": \"orb\", "
                 "\"keypoints_kind\": \"orb\", \"pairs\": 1, \"strict_map\": 96.9, \"precision_at_recall\": [1, "
                 "0.5, 0.25], \"scenes\": [{\"scene\": \"graf\", \"strict_map\": 50}]}, {\"benchmark\": "
                 "\"bench\", \"images\": 2, \"repeats\": 1, \"threads\": 1, \"machine\": {\"cores\": 2, "
                 "\"memory_gib\": 23}, \"rows\": [{\"name\": \"describe-sift\", \"step\": \"describe\", "
                 "\"model\": \"sift\", \"ms\": 0.2, \"spread\": 0, \"peer\": \"ORB\", \"peer_ms\": 0.4, "
                 "\"ratio\": 0.5}], \"energy\": [{\"name\": \"detect\", \"millijoules\": 3, \"cpu_ms\": 4, "
                 "\"fps\": 5}]}]"},
        {REPORT, "[{\"benchmark\": \"hpatches\", \"model\": \"<b>&bad256\", \"split\": \"full\", \"matching\": "
                 "0.25}, {\"benchmark\": \"brown\", \"model\": \"bad256\", \"sets\": [{\"set\": \"notredame\", "
                 "\"fpr95\": 31.5}]}, {\"benchmark\": \"sfm\", \"set\": \"fountain-P11\", \"model\": "
                 "\"m/hashsift256.kbm\", \"points\": 5769}]"},
        {REPORT, "[{\"name\": \"learned threshold\", \"paper\": 19.95, \"map\": 44.5}]"},
    };
    if (index >= (int)(sizeof seeds / sizeof *seeds)) return 0;
    size_t length = strlen(seeds[index].text);
    fuzz_expect(length + 1 <= capacity);
    buffer[0] = (uint8_t)seeds[index].reader;
    memcpy(buffer + 1, seeds[index].text, length);
    return length + 1;
}
