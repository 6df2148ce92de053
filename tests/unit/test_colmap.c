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
        cmocka_unit_test(the_analysis_is_read),
    };
    return cmocka_run_group_tests_name("colmap", tests, make_scratch, remove_scratch);
}
