/* SPDX-License-Identifier: Apache-2.0 */
/* COLMAP's database and what is read of its words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <sqlite3.h>

#include "eval/sfm.h"
#include "io/colmap_db.h"
#include "eval_files.h"

static void cameras_are_parsed(void **state)
{
    io_camera camera;
    io_error error;
    (void)state;
    assert_true(io_camera_parse("PINHOLE,2759.48,2764.16,1520.69,1006.81", &camera, &error));
    assert_int_equal(camera.model, IO_PINHOLE);
    assert_true(camera.known && camera.parameters[3] == 1006.81);
    assert_true(io_camera_parse("SIMPLE_RADIAL,800,320,240,0.1", &camera, &error));
    assert_int_equal(camera.model, 2);
    static const char *const wrong[] = {"",
                                        "FISHEYE,1,2,3",
                                        "PINHOLE",
                                        "PINHOLE,1,2,3",
                                        "PINHOLE,1,2,3,4,5",
                                        "PINHOLE,1,2,x,4",
                                        "PINHOLE,-1,2,3,4",
                                        "PINHOLE,inf,2,3,4",
                                        "PINHOLE,1,2,nan,4",
                                        "PINHOLEX,1,2,3,4"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) assert_false(io_camera_parse(wrong[i], &camera, &error));
    camera = io_camera_guess(600, 800);
    assert_true(camera.parameters[0] == 960 && camera.parameters[1] == 300 && !camera.known);

    make_folder("with_k");
    write_text("with_k/K.txt", "2759.48 0 1520.69 \n0 2764.16 1006.81 \n0 0 1 \n");
    assert_true(io_camera_from_folder(in_scratch("with_k"), &camera));
    assert_true(camera.parameters[1] == 2764.16 && camera.parameters[2] == 1520.69);
    assert_false(io_camera_from_folder(scratch, &camera));
}

/* One value of a query; blobs are copied into blob. */
static int64_t ask(sqlite3 *db, const char *sql, void *blob, size_t size)
{
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(statement, 0);
    if (blob) {
        assert_int_equal(sqlite3_column_bytes(statement, 0), size);
        memcpy(blob, sqlite3_column_blob(statement, 0), size);
    }
    sqlite3_finalize(statement);
    return value;
}

static void the_database_holds_what_was_given(void **state)
{
    const kb_keypoint keypoints[] = {{10, 20, 8, 90, 0, 0, -1}, {30, 40, 6, -1, 0, 0, -1}};
    const kb_match matches[] = {{0, 1, 5, 9}, {1, 0, 6, 9}, {1, 1, 6, 9}};
    const io_camera camera = {IO_PINHOLE, {700, 710, 320, 240}, true};
    int64_t camera_id, first, second;
    io_error error;
    (void)state;
    io_colmap_db *db = io_colmap_db_create(in_scratch("a.db"), &error);
    assert_non_null(db);
    assert_true(io_colmap_db_add_camera(db, &camera, 640, 480, &camera_id, &error));
    assert_true(io_colmap_db_add_image(db, "one.png", camera_id, &first, &error));
    assert_true(io_colmap_db_add_image(db, "two.png", camera_id, &second, &error));
    assert_true(io_colmap_db_add_keypoints(db, first, keypoints, 2, &error));
    assert_true(io_colmap_db_add_keypoints(db, second, NULL, 0, &error));
    assert_true(io_colmap_db_add_matches(db, second, first, matches, 3, &error)); /* given the other way round */
    assert_false(io_path_exists(in_scratch("a.db")));
    assert_true(io_colmap_db_commit(db, &error));

    sqlite3 *read;
    assert_int_equal(sqlite3_open(in_scratch("a.db"), &read), SQLITE_OK);
    double parameters[4];
    float rows[2][4];
    uint32_t pairs[3][2];
    assert_int_equal(ask(read, "PRAGMA user_version", NULL, 0), 3800);
    ask(read, "SELECT params FROM cameras WHERE model = 1 AND width = 640 AND prior_focal_length = 1", parameters,
        sizeof parameters);
    assert_true(parameters[1] == 710);
    ask(read, "SELECT data FROM keypoints WHERE image_id = 1 AND rows = 2 AND cols = 4", rows, sizeof rows);
    assert_true(rows[0][0] == 10.5f && rows[0][1] == 20.5f && rows[0][2] == 4);
    assert_true(fabsf(rows[0][3] - 1.5707963f) < 1e-6f && rows[1][3] == 0);
    assert_int_equal(ask(read, "SELECT rows FROM keypoints WHERE image_id = 2", NULL, 0), 0);
    ask(read, "SELECT data FROM matches WHERE pair_id = 2147483647 * 1 + 2 AND rows = 3 AND cols = 2", pairs,
        sizeof pairs);
    assert_true(pairs[0][0] == 1 && pairs[0][1] == 0 && pairs[1][0] == 0 && pairs[1][1] == 1);
    sqlite3_close(read);

    int64_t verified, inliers;
    assert_true(io_colmap_db_verified(in_scratch("a.db"), &verified, &inliers, &error));
    assert_true(verified == 0 && inliers == 0);
    assert_false(io_colmap_db_verified(in_scratch("absent.db"), &verified, &inliers, &error));
}

static void wrong_names_are_refused_and_leave_nothing(void **state)
{
    const io_camera camera = io_camera_guess(10, 10);
    int64_t id;
    io_error error;
    (void)state;
    io_colmap_db *db = io_colmap_db_create(in_scratch("b.db"), &error);
    assert_true(io_colmap_db_add_camera(db, &camera, 10, 10, &id, &error));
    assert_true(io_colmap_db_add_image(db, "with space.png", id, &id, &error)); /* only lists of names cannot hold it */
    assert_true(io_colmap_db_add_image(db, "same.png", 1, &id, &error));
    assert_false(io_colmap_db_add_image(db, "same.png", 1, &id, &error));
    io_colmap_db_abandon(db);
    assert_false(io_path_exists(in_scratch("b.db")));
    assert_null(io_colmap_db_create(in_scratch("no/such/folder/c.db"), &error));
}

static void make_database(const char *name, const char *sql)
{
    sqlite3 *db;
    unlink(in_scratch(name));
    assert_int_equal(sqlite3_open(in_scratch(name), &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) fail_msg("%s", sqlite3_errmsg(db));
    sqlite3_close(db);
}

/* Both questions that are asked of a database; false when both are refused. The memory is bounded by the file. */
static bool answers(const char *name, size_t size)
{
    int64_t pairs, matches;
    kb_keypoint *keypoints;
    size_t count;
    io_error error;
    sqlite3_memory_highwater(1);
    alarm(60); /* what never ends fails */
    bool verified = io_colmap_db_verified(in_scratch(name), &pairs, &matches, &error);
    if (!verified) assert_non_null(strstr(error.text, name));
    bool read = io_colmap_db_keypoints(in_scratch(name), 1, &keypoints, &count, &error);
    if (!read) assert_non_null(strstr(error.text, name));
    alarm(0);
    free(keypoints);
    assert_true(sqlite3_memory_highwater(0) <= (int64_t)(4 * size) + (4 << 20));
    return verified || read;
}

/* Views and computed columns are programs: they could take any time and memory. */
static void a_database_runs_nothing(void **state)
{
    static const char *const hostile[] = {
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT 1, 1, 4, x FROM c WHERE x < 0",
        "SELECT 1, 60000000, 4, zeroblob(960000000)",
        "SELECT 1, count(*), 4, NULL FROM t a, t b, t c, t d, t e, t f, t g, t h",
        "SELECT 1, a.x, 4, NULL FROM (VALUES (1), (2)) b, t a"};
    char sql[2000];
    (void)state;
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        snprintf(sql, sizeof sql,
                 "CREATE TABLE t(x INT); WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 200)"
                 " INSERT INTO t SELECT x FROM c; CREATE VIEW keypoints(image_id, rows, cols, data) AS %s;"
                 " CREATE VIEW two_view_geometries(image_id, rows, cols, data) AS %s;", hostile[i], hostile[i]);
        make_database("view.db", sql);
        assert_false(answers("view.db", 8192));
    }
    static const char *const computed[] = {"zeroblob(960000000)", "hex(zeroblob(400000000))",
                                           "replace(hex(zeroblob(2000)), '0', hex(zeroblob(200000)))",
                                           "hex(zeroblob(2000)) LIKE '%0%0%0%0%0%0%0%0%0%0%1'"};
    for (size_t i = 0; i < sizeof computed / sizeof *computed; i++) {
        snprintf(sql, sizeof sql,
                 "CREATE TABLE keypoints(image_id INTEGER PRIMARY KEY, rows INT, cols INT);"
                 "INSERT INTO keypoints VALUES(1, 60000000, 4); ALTER TABLE keypoints ADD COLUMN data AS (%s);"
                 "CREATE TABLE two_view_geometries(x INT); INSERT INTO two_view_geometries VALUES(1);"
                 "ALTER TABLE two_view_geometries ADD COLUMN rows AS (%s);",
                 computed[i], computed[i]);
        make_database("computed.db", sql);
        assert_false(answers("computed.db", 16384));
    }
}

/* Pages of a table that all lead to the same next page: 60^10 rows in 13 pages. */
/* Reading leaves nothing beside the database, whatever the mode that its header tells; what a writer has begun is read. */
static void a_database_is_left_alone(void **state)
{
    (void)state;
    static const char sql[] = "PRAGMA journal_mode = WAL; CREATE TABLE two_view_geometries(pair_id INT, rows INT);"
                              "INSERT INTO two_view_geometries VALUES(1, 7);";
    static const char *const beside[] = {"-wal", "-shm", "-journal"};
    io_error error;
    int64_t pairs, matches;
    make_database("a ?%#.db", sql);
    assert_true(io_colmap_db_verified(in_scratch("a ?%#.db"), &pairs, &matches, &error));
    assert_int_equal(pairs, 1);
    assert_int_equal(matches, 7);
    for (int i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "a ?%%#.db%s", beside[i]);
        assert_false(io_path_exists(in_scratch(name)));
    }
    sqlite3 *writer;
    assert_int_equal(sqlite3_open(in_scratch("a ?%#.db"), &writer), SQLITE_OK);
    assert_int_equal(sqlite3_exec(writer, "INSERT INTO two_view_geometries VALUES(2, 5);", NULL, NULL, NULL), SQLITE_OK);
    assert_true(io_colmap_db_verified(in_scratch("a ?%#.db"), &pairs, &matches, &error));
    assert_int_equal(pairs, 2);
    sqlite3_close(writer);
}

/* Rows that tell other numbers than they have, of other types, negative or huge: refused, or as many as the data has. */
static void hostile_rows_are_refused(void **state)
{
    (void)state;
    static const char *const numbers[] = {"0", "1", "2", "-1", "2147483648", "4611686018427387904", "1.5", "'two'", "NULL",
                                          "x'0102'"};
    static const char *const columns[] = {"2", "4", "6", "0", "-2", "1073741824", "NULL"};
    static const char *const data[] = {"NULL", "x''", "zeroblob(8)", "zeroblob(31)", "zeroblob(32)", "zeroblob(48)", "'text'",
                                       "7"};
    io_error error;
    size_t read = 0;
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
            for (size_t d = 0; d < sizeof data / sizeof *data; d++) {
                char sql[512];
                kb_keypoint *keypoints = NULL;
                size_t count = 0;
                int64_t pairs, matches;
                snprintf(sql, sizeof sql,
                         "CREATE TABLE keypoints(image_id INT, rows, cols, data); CREATE TABLE two_view_geometries(rows);"
                         "INSERT INTO keypoints VALUES(1, %s, %s, %s); INSERT INTO two_view_geometries VALUES(%s);",
                         numbers[n], columns[c], data[d], numbers[n]);
                make_database("rows.db", sql);
                if (io_colmap_db_keypoints(in_scratch("rows.db"), 1, &keypoints, &count, &error)) {
                    assert_true(count <= 6); /* 48 bytes are at most so many pairs of floats */
                    read += count > 0;
                } else {
                    assert_true(error.text[0] != 0);
                }
                free(keypoints);
                if (io_colmap_db_verified(in_scratch("rows.db"), &pairs, &matches, &error))
                    assert_true(pairs >= 0 && pairs <= 1 && matches >= 0);
            }
    assert_true(read > 0);
}

static void a_database_ends(void **state)
{
    enum { PAGE = 512, LEVELS = 10, CELLS = 60 };
    io_bytes bytes;
    io_error error;
    (void)state;
    make_database("deep.db", "PRAGMA page_size = 512; CREATE TABLE keypoints(image_id INT, rows INT, cols INT, data BLOB);"
                             "CREATE TABLE two_view_geometries(rows INT); INSERT INTO keypoints VALUES(9, 1, 4, x'00');");
    assert_true(io_file_read(in_scratch("deep.db"), &bytes, &error));
    assert_int_equal(bytes.size, 3 * PAGE);
    uint8_t *file = calloc(3 + LEVELS, PAGE);
    memcpy(file, bytes.data, bytes.size);
    memcpy(file + (2 + LEVELS) * PAGE, bytes.data + PAGE, PAGE); /* the leaf goes to the end */
    for (int level = 0; level < LEVELS; level++) {
        uint8_t *page = file + (level == 0 ? 1 : 2 + level) * PAGE, child = (uint8_t)(4 + level);
        memset(page, 0, PAGE);
        page[0] = 5; /* a table's inner page */
        page[4] = CELLS;
        page[5] = (PAGE - 5 * CELLS) >> 8, page[6] = (PAGE - 5 * CELLS) & 255;
        page[11] = child;
        for (int i = 0; i < CELLS; i++) {
            int at = PAGE - 5 * (CELLS - i);
            page[12 + 2 * i] = (uint8_t)(at >> 8), page[13 + 2 * i] = (uint8_t)at;
            page[at + 3] = child;
            page[at + 4] = (uint8_t)(i + 1);
        }
    }
    file[31] = 3 + LEVELS; /* pages */
    assert_true(io_file_write(in_scratch("deep.db"), file, (3 + LEVELS) * PAGE, &error));
    kb_keypoint *keypoints;
    size_t count;
    alarm(60);
    assert_false(io_colmap_db_keypoints(in_scratch("deep.db"), 1, &keypoints, &count, &error));
    alarm(0);
    assert_non_null(strstr(error.text, "deep.db: interrupted"));
    free(file);
    io_bytes_free(&bytes);
}

static void the_analysis_is_read(void **state)
{
    static const char text[] = "Cameras: 1\nImages: 11\nRegistered images: 11\nPoints: 5656\nObservations: 25506\n"
                               "Mean track length: 4.494273\nMean observations per image: 2318.727273\n"
                               "Mean reprojection error: 0.405012px\n";
    ev_sfm_result r = {0};
    (void)state;
    assert_true(ev_sfm_parse_analysis(text, &r));
    assert_true(r.registered == 11 && r.points == 5656 && r.observations == 25506);
    assert_true(r.track_length == 4.494273 && r.reprojection_px == 0.405012);
    assert_false(ev_sfm_parse_analysis("Registered images: 11\n", &r));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cameras_are_parsed),
        cmocka_unit_test(the_database_holds_what_was_given),
        cmocka_unit_test(wrong_names_are_refused_and_leave_nothing),
        cmocka_unit_test(a_database_runs_nothing),
        cmocka_unit_test(a_database_ends),
        cmocka_unit_test(hostile_rows_are_refused),
        cmocka_unit_test(a_database_is_left_alone),
        cmocka_unit_test(the_analysis_is_read),
    };
    return cmocka_run_group_tests_name("colmap", tests, make_scratch, remove_scratch);
}
