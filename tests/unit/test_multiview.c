/* SPDX-License-Identifier: Apache-2.0 */
/* Patches out of reconstructions and out of the Brown format. The scene is a textured plane that three cameras see. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "io/image_io.h"
#include "io/brown.h"
#include "io/colmap_model.h"
#include "pipeline/colmap_patches.h"
#include "pipeline/patch_load.h"
#include "learn/random.h"
#include "learn/warp.h"
#include "render.h"
#include "scratch.h"

enum { TEXTURE = 512, SIDE = 320, CAMERAS = 3, POINTS = 900 };
#define FOCAL 400.0

/* ------------------------------------------------------------------------------------------------------ the scene */

typedef struct camera {
    double quaternion[4], rotation[9], translation[3];
} camera;

static double point[POINTS][2]; /* on the plane z = 0 */
static camera cameras[CAMERAS];

/* Turned around the upright axis by `yaw` and around the view axis by `roll` (radians), looking at the origin from 2.2
 * units. */
static camera make_camera(double yaw, double roll)
{
    camera c;
    double cy = cos(yaw / 2), sy = sin(yaw / 2), cr = cos(roll / 2), sr = sin(roll / 2);
    const double q[4] = {cr * cy, -sr * sy, cr * sy, sr * cy}; /* roll (around z) times yaw (around y) */
    double w = q[0], x = q[1], y = q[2], z = q[3];
    const double r[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
                         2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                         2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)};
    memcpy(c.quaternion, q, sizeof q);
    memcpy(c.rotation, r, sizeof r);
    c.translation[0] = c.translation[1] = 0;
    c.translation[2] = 2.2;
    return c;
}

static void project(const camera *c, double x, double y, double out[2])
{
    double p[3];
    for (int i = 0; i < 3; i++) p[i] = c->rotation[3 * i] * x + c->rotation[3 * i + 1] * y + c->translation[i];
    out[0] = FOCAL * p[0] / p[2] + SIDE / 2.0;
    out[1] = FOCAL * p[1] / p[2] + SIDE / 2.0; /* COLMAP's pixels */
}

/* The picture that a camera takes: every pixel's ray meets the plane somewhere. As homographies, pixel -> texture is
 * the inverse of K [r1 r2 t] A, where A takes texture pixels to the plane. */
static void photograph(const camera *c, const kb_image *texture, const char *name)
{
    double f = 2.0 / TEXTURE, h[9], pixels_of[9];
    io_error error;
    for (int i = 0; i < 3; i++) {
        double a = c->rotation[3 * i] * f, b = c->rotation[3 * i + 1] * f;
        h[3 * i] = a;
        h[3 * i + 1] = b;
        h[3 * i + 2] = c->translation[i] - (a + b) * TEXTURE / 2;
    }
    for (int j = 0; j < 3; j++) {
        pixels_of[j] = FOCAL * h[j] + (SIDE / 2.0 - 0.5) * h[6 + j];
        pixels_of[3 + j] = FOCAL * h[3 + j] + (SIDE / 2.0 - 0.5) * h[6 + j];
        pixels_of[6 + j] = h[6 + j];
    }
    kbi_view view = {.width = SIDE, .height = SIDE};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            int r0 = (j + 1) % 3, r1 = (j + 2) % 3, c0 = (i + 1) % 3, c1 = (i + 2) % 3;
            view.to_photo[3 * i + j] =
                pixels_of[3 * r0 + c0] * pixels_of[3 * r1 + c1] - pixels_of[3 * r0 + c1] * pixels_of[3 * r1 + c0];
        }
    }
    uint8_t *pixels = malloc(SIDE * SIDE), *mask = malloc(SIDE * SIDE);
    kbi_view_render(&view, texture, pixels, mask);
    assert_true(io_png_write(in_scratch(name), IO_GRAY8, SIDE, SIDE, pixels, &error));
    free(pixels);
    free(mask);
}

/* ------------------------------------------------------------------------------------------------------ the model */

/* The features of a camera: every third point is not in its track. */
static bool tracked(int camera_index, int p) { return p % CAMERAS != camera_index; }

static void write_text(void)
{
    io_folder_make(in_scratch("text"), NULL);
    FILE *f = fopen(in_scratch("text/cameras.txt"), "w");
    fprintf(f, "# Camera list\n1 SIMPLE_RADIAL %d %d %.17g %.17g %.17g 0\n", SIDE, SIDE, FOCAL, SIDE / 2.0, SIDE / 2.0);
    fclose(f);
    f = fopen(in_scratch("text/images.txt"), "w");
    for (int c = 0; c < CAMERAS; c++) {
        const double *q = cameras[c].quaternion, *t = cameras[c].translation;
        fprintf(f, "%d %.17g %.17g %.17g %.17g %.17g %.17g %.17g 1 view %d.png\n", 7 - c, q[0], q[1], q[2], q[3], t[0],
                t[1], t[2], c);
        for (int p = 0; p < POINTS; p++) {
            double at[2];
            project(&cameras[c], point[p][0], point[p][1], at);
            fprintf(f, "%.17g %.17g %d ", at[0], at[1], tracked(c, p) ? 100 + p : -1);
        }
        fprintf(f, "\n");
    }
    fclose(f);
    f = fopen(in_scratch("text/points3D.txt"), "w");
    for (int p = POINTS - 1; p >= 0; p--)
        fprintf(f, "%d %.17g %.17g 0 1 2 3 %g 7 0 6 0\n", 100 + p, point[p][0], point[p][1], p == 4 ? 9.0 : 0.5);
    fclose(f);
}

static void put64(FILE *f, uint64_t v) { fwrite(&v, 8, 1, f); }
static void put32(FILE *f, uint32_t v) { fwrite(&v, 4, 1, f); }
static void put_double(FILE *f, double v) { fwrite(&v, 8, 1, f); }

static void write_binary(void)
{
    io_folder_make(in_scratch("binary"), NULL);
    FILE *f = fopen(in_scratch("binary/cameras.bin"), "wb");
    put64(f, 1);
    put32(f, 1);
    put32(f, 2);
    put64(f, SIDE);
    put64(f, SIDE);
    const double lens[4] = {FOCAL, SIDE / 2.0, SIDE / 2.0, 0};
    fwrite(lens, 8, 4, f);
    fclose(f);
    f = fopen(in_scratch("binary/images.bin"), "wb");
    put64(f, CAMERAS);
    for (int c = 0; c < CAMERAS; c++) {
        put32(f, (uint32_t)(7 - c));
        fwrite(cameras[c].quaternion, 8, 4, f);
        fwrite(cameras[c].translation, 8, 3, f);
        put32(f, 1);
        fprintf(f, "view %d.png%c", c, 0);
        put64(f, POINTS);
        for (int p = 0; p < POINTS; p++) {
            double at[2];
            project(&cameras[c], point[p][0], point[p][1], at);
            fwrite(at, 8, 2, f);
            put64(f, tracked(c, p) ? (uint64_t)(100 + p) : UINT64_MAX);
        }
    }
    fclose(f);
    f = fopen(in_scratch("binary/points3D.bin"), "wb");
    put64(f, POINTS);
    for (int p = 0; p < POINTS; p++) {
        put64(f, (uint64_t)(100 + p));
        put_double(f, point[p][0]);
        put_double(f, point[p][1]);
        put_double(f, 0);
        fwrite("abc", 1, 3, f);
        put_double(f, p == 4 ? 9.0 : 0.5);
        put64(f, 1);
        put32(f, 7);
        put32(f, 0);
    }
    fclose(f);
}

static int make_scene(void **state)
{
    uint64_t random = 3;
    if (make_scratch(state)) return -1;
    uint8_t *pixels = render_texture(TEXTURE, TEXTURE, 1);
    kb_image texture = view_of(pixels, TEXTURE, TEXTURE);
    for (int c = 0; c < CAMERAS; c++) {
        char name[32];
        cameras[c] = make_camera(0.25 * (c - 1), 0.5 * c);
        snprintf(name, sizeof name, "view %d.png", c);
        photograph(&cameras[c], &texture, name);
    }
    for (int p = 0; p < POINTS; p++) {
        point[p][0] = kbi_random_between(&random, -0.6, 0.6);
        point[p][1] = kbi_random_between(&random, -0.6, 0.6);
    }
    write_text();
    write_binary();
    free(pixels);
    return 0;
}

/* ---------------------------------------------------------------------------------------------------------- tests */

static void test_text_and_binary_agree(void **state)
{
    (void)state;
    io_scene text, binary;
    io_error error = {""};
    assert_true(io_colmap_model_read(in_scratch("text"), &text, &error));
    assert_true(io_colmap_model_read(in_scratch("binary"), &binary, &error));
    assert_int_equal(text.image_count, CAMERAS);
    assert_int_equal(binary.image_count, CAMERAS);
    assert_int_equal(text.point_count, POINTS);
    assert_memory_equal(text.points, binary.points, POINTS * sizeof *text.points);
    const io_scene_camera *c = text.cameras, *d = binary.cameras; /* which have padding */
    assert_true(c->id == d->id && c->width == d->width && c->height == d->height);
    assert_true(c->focal == d->focal && c->cx == d->cx && c->cy == d->cy);
    for (int i = 0; i < CAMERAS; i++) {
        const io_scene_image *a = &text.images[i], *b = &binary.images[i];
        assert_string_equal(a->name, b->name);
        assert_int_equal(a->id, b->id);
        assert_int_equal(a->feature_count, POINTS);
        assert_memory_equal(a->features, b->features, POINTS * sizeof *a->features);
        assert_memory_equal(a->rotation, b->rotation, sizeof a->rotation);
        for (int k = 0; k < 9; k++) assert_true(fabs(a->rotation[k] - cameras[i].rotation[k]) < 1e-12);
    }
    double at[2];
    project(&cameras[0], point[5][0], point[5][1], at);
    assert_true(text.images[0].features[5].x == at[0] - 0.5 && text.cameras[0].cx == SIDE / 2.0 - 0.5);
    assert_int_equal(io_scene_point_index(&text, 105), 5);
    assert_true(io_scene_point_index(&text, 99) == SIZE_MAX);
    io_scene_free(&text);
    io_scene_free(&binary);
}

typedef struct counts {
    int warnings;
    size_t steps;
} counts;

static void count_warning(void *context, const char *text)
{
    assert_true(strlen(text) > 10);
    ((counts *)context)->warnings++;
}
static void count_step(void *context, size_t done) { ((counts *)context)->steps = done; }

static bool convert_to(int32_t side, float support, const char *model_folder, const char *database, const char *set,
                       multiview_report *report, counts *seen, io_error *error)
{
    io_scene model;
    colmap_patches_options o;
    colmap_patches_defaults(&o);
    o.images = scratch;
    o.database = database;
    o.multiview.octaves = side == KB_OCTAVE_SIDE;
    assert_true(io_colmap_model_read(model_folder, &model, error));
    io_patch_writer *writer = io_patch_writer_open(set, side, support, error);
    assert_non_null(writer);
    bool ok = colmap_patches(&model, &o, 1, &support, &writer, count_warning, count_step, seen, report, error);
    if (ok) assert_true(io_patch_writer_close(writer, error));
    else io_patch_writer_abandon(writer);
    io_scene_free(&model);
    return ok;
}

static bool convert(const char *model_folder, const char *database, const char *set, multiview_report *report,
                    counts *seen, io_error *error)
{
    return convert_to(KB_PATCH_SIDE, 1, model_folder, database, set, report, seen, error);
}

static double distance(const uint8_t *a, const uint8_t *b)
{
    double sum = 0;
    for (int i = 0; i < 1024; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum / 1024);
}

/* Patches of one point look alike: they were turned and scaled in the same way. */
static void check_set(const char *path, size_t least_points, double ratio)
{
    kbi_patch_set set;
    io_error error = {""};
    double right = 0, wrong = 0;
    assert_true(patch_set_load(path, 0, 0, &set, &error));
    assert_true(set.points >= least_points);
    assert_int_equal(set.singletons, 0);
    for (size_t p = 0; p < set.points; p++) {
        size_t i = set.first[p], other = set.first[(p + 1) % set.points];
        assert_true(set.view[i] != set.view[i + 1]);
        right += distance(set.pixels + i * 1024, set.pixels + (i + 1) * 1024);
        wrong += distance(set.pixels + i * 1024, set.pixels + other * 1024);
    }
    if (!(right < ratio * wrong))
        fail_msg("%g within points, %g between them", right / (double)set.points, wrong / (double)set.points);
    kbi_patch_set_free(&set);
}

static void test_detected(void **state)
{
    (void)state;
    io_error error = {""};
    io_bytes a, b;
    multiview_report text, binary;
    counts seen = {0, 0};
    assert_true(convert(in_scratch("text"), NULL, in_scratch("text.kbp"), &text, &seen, &error));
    assert_int_equal(seen.warnings, 0);
    assert_int_equal(seen.steps, 2 * CAMERAS);
    check_set(in_scratch("text.kbp"), 40, 0.75); /* the texture is fine: a detector may find another corner of it */
    assert_true(convert(in_scratch("binary"), NULL, in_scratch("binary.kbp"), &binary, &seen, &error));
    assert_int_equal(text.patches, binary.patches);
    assert_true(io_file_read(in_scratch("text.kbp"), &a, &error) && io_file_read(in_scratch("binary.kbp"), &b, &error));
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    io_bytes_free(&a);
    io_bytes_free(&b);
}

/* Octaves are of the same points and views as patches, and look alike as these do. */
static void test_octaves(void **state)
{
    (void)state;
    io_error error = {""};
    multiview_report patches, octaves;
    kbi_patch_set a, b;
    counts seen = {0, 0};
    const char *plain = in_scratch("plain.kbp"), *path = in_scratch("octaves.kbp");
    assert_true(convert_to(KB_PATCH_SIDE, 2, in_scratch("text"), NULL, plain, &patches, &seen, &error));
    assert_true(convert_to(KB_OCTAVE_SIDE, 2, in_scratch("text"), NULL, path, &octaves, &seen, &error));
    assert_int_equal(patches.patches, octaves.patches);
    check_set(path, 40, 0.85);
    assert_true(patch_set_load(plain, 0, 0, &a, &error) && patch_set_load(path, 0, 0, &b, &error));
    assert_true(b.side == KB_OCTAVE_SIDE && b.support == 2.0f && a.patches == b.patches && a.points == b.points);
    assert_memory_equal(a.label, b.label, a.patches * sizeof *a.label);
    assert_memory_equal(a.view, b.view, a.patches * sizeof *a.view);
    assert_memory_not_equal(a.pixels, b.pixels, a.patches * 1024);
    kbi_patch_set_free(&a);
    kbi_patch_set_free(&b);
}

/* A database with the keypoints of the model: upright on the plane, of one size there; the third camera's are turned
 * wrongly. */
static void write_database(const char *path, int cols)
{
    sqlite3 *db;
    sqlite3_stmt *insert;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "CREATE TABLE keypoints (image_id INTEGER PRIMARY KEY, rows INTEGER, cols INTEGER, data BLOB)",
                     NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_prepare_v2(db, "INSERT INTO keypoints VALUES (?, ?, ?, ?)", -1, &insert, NULL);
    float *rows = malloc(POINTS * 6 * sizeof *rows);
    for (int c = 0; c < CAMERAS; c++) {
        for (int p = 0; p < POINTS; p++) {
            double at[2], right[2], angle, scale;
            project(&cameras[c], point[p][0], point[p][1], at);
            project(&cameras[c], point[p][0] + 0.01, point[p][1], right);
            angle = atan2(right[1] - at[1], right[0] - at[0]) + (c == 2 ? 2 : 0);
            scale = 2.2 * hypot(right[0] - at[0], right[1] - at[1]);
            float *row = rows + p * cols, s = (float)scale, o = (float)angle;
            row[0] = (float)at[0];
            row[1] = (float)at[1];
            row[2] = cols == 4 ? s : s * cosf(o);
            row[3] = cols == 4 ? o : -s * sinf(o);
            if (cols == 6) row[4] = s * sinf(o), row[5] = s * cosf(o);
        }
        sqlite3_bind_int(insert, 1, 7 - c);
        sqlite3_bind_int(insert, 2, POINTS);
        sqlite3_bind_int(insert, 3, cols);
        sqlite3_bind_blob(insert, 4, rows, POINTS * cols * 4, SQLITE_TRANSIENT);
        assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
        sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
    sqlite3_close(db);
    free(rows);
}

static void test_database(void **state)
{
    (void)state;
    io_error error = {""};
    multiview_report four, six;
    counts seen = {0, 0};
    write_database(in_scratch("four.db"), 4);
    write_database(in_scratch("six.db"), 6);
    assert_true(convert(in_scratch("text"), in_scratch("four.db"), in_scratch("four.kbp"), &four, &seen, &error));
    assert_true(convert(in_scratch("text"), in_scratch("six.db"), in_scratch("six.kbp"), &six, &seen, &error));
    assert_int_equal(four.points, six.points);
    /* Only the points that cameras 0 and 1 both track, every third, can have two views: camera 2's directions fit
     * nothing. */
    assert_in_range(four.points, 20, POINTS / 3);
    assert_int_equal(four.patches, 2 * four.points);
    check_set(in_scratch("four.kbp"), 20, 0.4);
    check_set(in_scratch("six.kbp"), 20, 0.4);
    assert_false(convert(in_scratch("text"), in_scratch("none.db"), in_scratch("none.kbp"), &four, &seen, &error));
    assert_non_null(strstr(error.text, "none.db"));
    assert_int_not_equal(access(in_scratch("none.kbp"), F_OK), 0);
}

static void test_missing_image(void **state)
{
    (void)state;
    io_error error = {""};
    multiview_report report;
    counts seen = {0, 0};
    char old[256];
    strcpy(old, in_scratch("view 2.png"));
    assert_int_equal(rename(old, in_scratch("away")), 0);
    assert_true(convert(in_scratch("text"), NULL, in_scratch("two.kbp"), &report, &seen, &error));
    assert_int_equal(seen.warnings, 1);
    assert_int_equal(report.skipped, 1);
    assert_int_equal(report.patches, 2 * report.points);
    assert_int_equal(rename(in_scratch("away"), old), 0);
}

/* A camera far outside all numbers: its keypoints get places that are no numbers, and no point. */
static void test_wild_translation(void **state)
{
    (void)state;
    io_error error = {""};
    multiview_report report;
    counts seen = {0, 0};
    double before = cameras[1].translation[0];
    const double wild[] = {1e300, -1e300, 1e155};
    for (int i = 0; i < 3; i++) {
        cameras[1].translation[0] = wild[i];
        write_text();
        if (convert(in_scratch("text"), NULL, in_scratch("wild.kbp"), &report, &seen, &error))
            assert_int_equal(report.patches, 2 * report.points);
    }
    cameras[1].translation[0] = before;
    write_text();
}

static void test_damaged_models(void **state)
{
    (void)state;
    static const char *const names[] = {"cameras", "images", "points3D"};
    io_scene model;
    io_error error = {""};
    assert_false(io_colmap_model_read(scratch, &model, &error));
    assert_non_null(strstr(error.text, "no sparse model"));
    for (int file = 0; file < 3; file++) {
        for (int binary = 0; binary < 2; binary++) {
            char good[512], kept[520];
            io_bytes bytes;
            snprintf(good, sizeof good, "%s/%s/%s.%s", scratch, binary ? "binary" : "text", names[file],
                     binary ? "bin" : "txt");
            snprintf(kept, sizeof kept, "%s.kept", good);
            assert_true(io_file_read(good, &bytes, &error));
            assert_int_equal(rename(good, kept), 0);
            size_t cut = binary ? bytes.size - 5 : bytes.size / 2;
            if (!binary) memcpy(bytes.data + cut, "x\n", 2), cut += 2;
            assert_true(io_file_write(good, bytes.data, cut, &error));
            assert_false(io_colmap_model_read(in_scratch(binary ? "binary" : "text"), &model, &error));
            if (!strstr(error.text, names[file])) fail_msg("%s: \"%s\"", good, error.text);
            assert_int_equal(rename(kept, good), 0);
            io_bytes_free(&bytes);
        }
    }
}

/* ---------------------------------------------------------------------------------------------------------- Brown */

static void test_brown(void **state)
{
    (void)state;
    io_error error = {""};
    kbi_patch_set set;
    io_folder_make(in_scratch("brown"), NULL);
    uint8_t *sheet = malloc(1024 * 1024);
    for (int s = 0; s < 2; s++) {
        char name[64];
        for (int i = 0; i < 1024 * 1024; i++) { /* every patch is flat: its number */
            int patch = (i / 1024 / 64) * 16 + i % 1024 / 64;
            sheet[i] = (uint8_t)(s * 100 + patch % 100);
        }
        snprintf(name, sizeof name, "brown/patches%04d.bmp", s); /* the content says what it is */
        assert_true(io_png_write(in_scratch(name), IO_GRAY8, 1024, 1024, sheet, &error));
    }
    FILE *f = fopen(in_scratch("brown/info.txt"), "w");
    for (int i = 0; i < 300; i++) fprintf(f, "%d 0\n", i / 3);
    fclose(f);
    for (int small = 0; small < 2; small++) {
        int32_t side = small ? 32 : 64;
        io_patch_writer *writer = io_patch_writer_open(in_scratch("brown.kbp"), side, 0, &error);
        assert_true(io_brown_convert(in_scratch("brown"), side, writer, NULL, NULL, &error));
        assert_true(io_patch_writer_close(writer, &error));
        assert_true(patch_set_load(in_scratch("brown.kbp"), 0, 0, &set, &error));
        assert_int_equal(set.patches, 300);
        assert_int_equal(set.points, 100);
        for (size_t i = 0; i < 300; i++) {
            uint8_t expected = (uint8_t)(i < 256 ? i % 100 : 100 + (i - 256) % 100);
            assert_int_equal(set.pixels[i * (size_t)(side * side)], expected);
            assert_int_equal(set.pixels[(i + 1) * (size_t)(side * side) - 1], expected);
        }
        kbi_patch_set_free(&set);
    }
    io_patch_writer *writer = io_patch_writer_open(in_scratch("bad.kbp"), 64, 0, &error);
    f = fopen(in_scratch("brown/info.txt"), "a");
    for (int i = 0; i < 300; i++) fprintf(f, "%d 0\n", i);
    fclose(f);
    assert_false(io_brown_convert(in_scratch("brown"), 64, writer, NULL, NULL, &error));
    assert_non_null(strstr(error.text, "600"));
    f = fopen(in_scratch("brown/info.txt"), "w");
    fprintf(f, "1 0\nword 0\n");
    fclose(f);
    assert_false(io_brown_convert(in_scratch("brown"), 64, writer, NULL, NULL, &error));
    assert_non_null(strstr(error.text, "line 2"));
    io_patch_writer_abandon(writer);
    free(sheet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_and_binary_agree),
        cmocka_unit_test(test_detected),
        cmocka_unit_test(test_octaves),
        cmocka_unit_test(test_database),
        cmocka_unit_test(test_missing_image),
        cmocka_unit_test(test_wild_translation),
        cmocka_unit_test(test_damaged_models),
        cmocka_unit_test(test_brown),
    };
    return cmocka_run_group_tests(tests, make_scene, remove_scratch);
}
