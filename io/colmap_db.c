/* SPDX-License-Identifier: Apache-2.0 */
/* COLMAP's database through SQLite: written by export, read back by the benchmark and for patches. */
#include "io/colmap_db.h"

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/common.h"
#include "io/colmap_model.h"
#include "io_colmap_tables.h" /* made of io/colmap.sql */
#include "io/number.h"

#define PI 3.14159265358979323846
#define PAIR_FACTOR 2147483647 /* pair_id = factor x smaller image_id + larger */

struct io_colmap_db {
    io_writer *writer;
    sqlite3 *handle;
};

/* ----------------------------------------------------------------------------------------------------- cameras */

static const struct {
    const char *name;
    int parameters;
} camera_models[] = {{"SIMPLE_PINHOLE", 3}, {"PINHOLE", 4}, {"SIMPLE_RADIAL", 4}, {"RADIAL", 5}, {"OPENCV", 8}};
#define CAMERA_MODELS (sizeof camera_models / sizeof *camera_models)

bool io_camera_parse(const char *text, io_camera *camera, io_error *error)
{
    size_t length = strcspn(text, ",");
    memset(camera, 0, sizeof *camera);
    for (size_t i = 0; i < CAMERA_MODELS; i++) {
        if (strlen(camera_models[i].name) != length || strncmp(camera_models[i].name, text, length) != 0) continue;
        const char *at = text + length;
        int n = 0;
        while (*at == ',' && n < camera_models[i].parameters && io_number_parse(at + 1, &at, &camera->parameters[n]) &&
               isfinite(camera->parameters[n]))
            n++;
        camera->model = (io_camera_model)i;
        camera->known = true;
        if (n == camera_models[i].parameters && *at == '\0' && camera->parameters[0] > 0) return true;
        return io_fail(error, "camera \"%s\": %s takes %d numbers, the first of them a positive focal length", text,
                       camera_models[i].name, camera_models[i].parameters);
    }
    return io_fail(error, "camera \"%s\": the models are SIMPLE_PINHOLE, PINHOLE, SIMPLE_RADIAL, RADIAL and OPENCV",
                   text);
}

bool io_camera_from_folder(const char *folder, io_camera *camera)
{
    double k[9];
    io_bytes bytes;
    char *path = io_path_join(folder, "K.txt");
    bool good = io_path_exists(path) && io_file_read(path, &bytes, NULL);
    free(path);
    if (!good) return false;
    const char *at = (const char *)bytes.data;
    for (int i = 0; i < 9 && good; i++) good = io_number_parse(at, &at, &k[i]) && isfinite(k[i]);
    good = good && at[strspn(at, " \t\r\n")] == '\0' && k[0] > 0 && k[4] > 0 && k[8] == 1;
    io_bytes_free(&bytes);
    if (good) *camera = (io_camera){IO_PINHOLE, {k[0], k[4], k[2], k[5]}, true};
    return good;
}

kb_camera io_camera_lens(const io_camera *camera) { return io_lens_camera((int)camera->model, camera->parameters); }

io_camera io_camera_of_focal(int32_t width, int32_t height, double focal)
{
    io_camera camera = io_camera_guess(width, height);
    camera.parameters[0] = focal * (width > height ? width : height);
    camera.known = true;
    return camera;
}

io_camera io_camera_guess(int32_t width, int32_t height)
{
    double longer = width > height ? width : height;
    return (io_camera){IO_SIMPLE_RADIAL, {1.2 * longer, width / 2.0, height / 2.0, 0}, false};
}

/* ---------------------------------------------------------------------------------------------------- the tables */

static bool run_sql(sqlite3 *handle, const char *sql, io_error *error)
{
    if (sqlite3_exec(handle, sql, NULL, NULL, NULL) == SQLITE_OK) return true;
    return io_fail(error, "database: %s", sqlite3_errmsg(handle));
}

static bool open_database(io_colmap_db *db, const char *path, io_error *error)
{
    db->writer = io_writer_open(path, error);
    if (!db->writer) return false;
    const char *temporary = io_writer_temporary(db->writer);
    if (!temporary) return io_fail(error, "%s: a database cannot be written to a pipe or device", path);
    if (sqlite3_open(temporary, &db->handle) != SQLITE_OK)
        return io_fail(error, "%s: %s", path, sqlite3_errmsg(db->handle));
    return run_sql(db->handle, "PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; BEGIN;", error) &&
           run_sql(db->handle, IO_COLMAP_TABLES, error);
}

io_colmap_db *io_colmap_db_create(const char *path, io_error *error)
{
    io_colmap_db *db = io_alloc(1, sizeof *db);
    if (open_database(db, path, error)) return db;
    io_colmap_db_abandon(db);
    return NULL;
}

void io_colmap_db_abandon(io_colmap_db *db)
{
    if (!db) return;
    sqlite3_close(db->handle);
    if (db->writer) io_writer_abandon(db->writer);
    free(db);
}

bool io_colmap_db_commit(io_colmap_db *db, io_error *error)
{
    bool good = run_sql(db->handle, "COMMIT;", error);
    if (!good) {
        io_colmap_db_abandon(db);
        return false;
    }
    sqlite3_close(db->handle);
    good = io_writer_commit(db->writer, error);
    free(db);
    return good;
}

/* ------------------------------------------------------------------------------------------------------- writing */

/* What goes into one column of an INSERT. */
typedef struct cell {
    enum { INTEGER, TEXT, BLOB, REAL } kind; /* REAL: data points to a double */
    int64_t integer;
    const void *data;
    size_t size;
} cell;

static bool insert(io_colmap_db *db, const char *sql, const cell *cells, int count, io_error *error)
{
    sqlite3_stmt *statement = NULL;
    bool good = sqlite3_prepare_v2(db->handle, sql, -1, &statement, NULL) == SQLITE_OK;
    for (int i = 0; i < count && good; i++) {
        const cell *c = &cells[i];
        int code = c->kind == INTEGER ? sqlite3_bind_int64(statement, i + 1, c->integer)
                   : c->kind == REAL  ? sqlite3_bind_double(statement, i + 1, *(const double *)c->data)
                   : c->kind == TEXT  ? sqlite3_bind_text(statement, i + 1, c->data, -1, SQLITE_STATIC)
                                      : sqlite3_bind_blob64(statement, i + 1, c->data, c->size, SQLITE_STATIC);
        good = code == SQLITE_OK;
    }
    good = good && sqlite3_step(statement) == SQLITE_DONE;
    if (!good) io_fail(error, "database: %s", sqlite3_errmsg(db->handle));
    sqlite3_finalize(statement);
    return good;
}

bool io_colmap_db_add_camera(io_colmap_db *db, const io_camera *camera, int32_t width, int32_t height, int64_t *id,
                          io_error *error)
{
    size_t size = (size_t)camera_models[camera->model].parameters * sizeof(double);
    const cell cells[] = {{INTEGER, camera->model, NULL, 0}, {INTEGER, width, NULL, 0}, {INTEGER, height, NULL, 0},
                          {BLOB, 0, camera->parameters, size}, {INTEGER, camera->known, NULL, 0}};
    bool good =
        insert(db, "INSERT INTO cameras(model, width, height, params, prior_focal_length) VALUES(?, ?, ?, ?, ?);",
               cells, 5, error);
    *id = good ? sqlite3_last_insert_rowid(db->handle) : 0;
    return good;
}

bool io_colmap_db_add_image(io_colmap_db *db, const char *name, int64_t camera, int64_t *id, io_error *error)
{
    const cell cells[] = {{TEXT, 0, name, 0}, {INTEGER, camera, NULL, 0}};
    bool good = insert(db, "INSERT INTO images(name, camera_id) VALUES(?, ?);", cells, 2, error);
    *id = good ? sqlite3_last_insert_rowid(db->handle) : 0;
    return good;
}

bool io_colmap_db_set_prior(io_colmap_db *db, int64_t image, const double prior[3], io_error *error)
{
    const cell cells[] = {
        {REAL, 0, &prior[0], 0}, {REAL, 0, &prior[1], 0}, {REAL, 0, &prior[2], 0}, {INTEGER, image, NULL, 0}};
    double unknown[9];
    for (int i = 0; i < 9; i++) unknown[i] = NAN;
    const cell later[] = {{INTEGER, image, NULL, 0}, {BLOB, 0, prior, 3 * sizeof *prior}, {BLOB, 0, unknown, sizeof unknown}};
    return insert(db, "UPDATE images SET prior_tx = ?, prior_ty = ?, prior_tz = ? WHERE image_id = ?;", cells, 4,
                  error) &&
           insert(db, "INSERT INTO pose_priors(image_id, position, coordinate_system, position_covariance) "
                      "VALUES(?, ?, 0, ?);", later, 3, error); /* 0: latitude, longitude and altitude of WGS84 */
}

/* x, y, scale (a radius), orientation in radians. */
bool io_colmap_db_add_keypoints(io_colmap_db *db, int64_t image, const kb_keypoint *keypoints, size_t n,
                                io_error *error)
{
    float *data = io_alloc(n + 1, 4 * sizeof *data);
    for (size_t i = 0; i < n; i++) {
        const kb_keypoint *k = &keypoints[i];
        data[4 * i] = k->x + 0.5f;
        data[4 * i + 1] = k->y + 0.5f;
        data[4 * i + 2] = k->size / 2;
        data[4 * i + 3] = k->angle < 0 ? 0 : (float)(k->angle * (PI / 180));
    }
    const cell cells[] = {
        {INTEGER, image, NULL, 0}, {INTEGER, (int64_t)n, NULL, 0}, {BLOB, 0, data, n * 4 * sizeof *data}};
    bool good = insert(db, "INSERT INTO keypoints(image_id, rows, cols, data) VALUES(?, ?, 4, ?);", cells, 3, error);
    free(data);
    return good;
}

static int64_t pair_id(int64_t a, int64_t b) { return a < b ? PAIR_FACTOR * a + b : PAIR_FACTOR * b + a; }

/* Pairs of indices, those of the image with the lower id first; malloc'ed. */
static uint32_t *match_data(int64_t a, int64_t b, const kb_match *matches, size_t n)
{
    uint32_t *data = io_alloc(n + 1, 2 * sizeof *data);
    for (size_t i = 0; i < n; i++) {
        data[2 * i] = (uint32_t)(a < b ? matches[i].a : matches[i].b);
        data[2 * i + 1] = (uint32_t)(a < b ? matches[i].b : matches[i].a);
    }
    return data;
}

bool io_colmap_db_add_matches(io_colmap_db *db, int64_t a, int64_t b, const kb_match *matches, size_t n,
                              io_error *error)
{
    uint32_t *data = match_data(a, b, matches, n);
    const cell cells[] = {
        {INTEGER, pair_id(a, b), NULL, 0}, {INTEGER, (int64_t)n, NULL, 0}, {BLOB, 0, data, n * 2 * sizeof *data}};
    bool good = insert(db, "INSERT INTO matches(pair_id, rows, cols, data) VALUES(?, ?, 2, ?);", cells, 3, error);
    free(data);
    return good;
}

/* COLMAP's quaternion of a rotation: w, x, y, z. */
void io_quaternion_of(const double r[9], double q[4])
{
    const double squares[4] = {1 + r[0] + r[4] + r[8], 1 + r[0] - r[4] - r[8], 1 - r[0] + r[4] - r[8],
                               1 - r[0] - r[4] + r[8]};
    int largest = 0;
    for (int i = 1; i < 4; i++)
        if (squares[i] > squares[largest]) largest = i;
    const double d = 2 * sqrt(squares[largest]), w = r[7] - r[5], x = r[2] - r[6], y = r[3] - r[1];
    const double table[4][4] = {{d * d / 4, w, x, y}, {w, d * d / 4, r[1] + r[3], r[2] + r[6]},
                                {x, r[1] + r[3], d * d / 4, r[5] + r[7]}, {y, r[2] + r[6], r[5] + r[7], d * d / 4}};
    for (int i = 0; i < 4; i++) q[i] = table[largest][i] / d;
    for (int i = 3; q[0] < 0 && i >= 0; i--) q[i] = -q[i];
}

static void multiply(const double a[9], const double b[9], double out[9])
{
    for (int i = 0; i < 9; i++)
        out[i] = a[i / 3 * 3] * b[i % 3] + a[i / 3 * 3 + 1] * b[3 + i % 3] + a[i / 3 * 3 + 2] * b[6 + i % 3];
}

/* From COLMAP's pixels, half a pixel larger than ours, to rays; and the other way. NULL: to our pixels. Distortion is
 * no matrix and is left out. */
static void to_rays(const kb_camera *c, double m[9])
{
    const double fx = c ? c->fx : 1, fy = c ? c->fy : 1, cx = c ? c->cx : 0, cy = c ? c->cy : 0;
    const double filled[9] = {1 / fx, 0, -(cx + 0.5) / fx, 0, 1 / fy, -(cy + 0.5) / fy, 0, 0, 1};
    memcpy(m, filled, sizeof filled);
}

static void to_pixels(const kb_camera *c, double m[9])
{
    const double fx = c ? c->fx : 1, fy = c ? c->fy : 1, cx = c ? c->cx : 0, cy = c ? c->cy : 0;
    const double filled[9] = {fx, 0, cx + 0.5, 0, fy, cy + 0.5, 0, 0, 1};
    memcpy(m, filled, sizeof filled);
}

/* What holds between COLMAP's pixels: of F or E right^T m left, of H or R right^-1 m left, where left and right lead
 * from COLMAP's pixels to ours, or to rays. */
static void in_pixels(const double m[9], bool epipolar, const kb_camera *cameras, double out[9])
{
    double left[9], right[9], half[9];
    to_rays(cameras ? &cameras[0] : NULL, left);
    if (epipolar) {
        double turned[9];
        to_rays(cameras ? &cameras[1] : NULL, turned);
        for (int i = 0; i < 9; i++) right[i] = turned[i % 3 * 3 + i / 3];
    } else {
        to_pixels(cameras ? &cameras[1] : NULL, right);
    }
    multiply(m, left, half);
    multiply(right, half, out);
}

/* A row of two_view_geometries. */
typedef struct two_view_row {
    int config;
    double f[9], e[9], h[9], q[4], t[3];
} two_view_row;

static two_view_row row_of(const io_two_view *v)
{
    enum { CALIBRATED = 2, UNCALIBRATED, PLANAR, PANORAMIC, PLANAR_OR_PANORAMIC };
    two_view_row row = {.config = UNCALIBRATED, .q = {1, 0, 0, 0}};
    bool metric = v->geometry == KB_GEOMETRY_ESSENTIAL || v->geometry == KB_GEOMETRY_ROTATION;
    if (metric) io_quaternion_of(v->rotation, row.q);
    if (v->geometry == KB_GEOMETRY_ESSENTIAL) {
        row.config = CALIBRATED;
        memcpy(row.e, v->model, sizeof row.e);
        memcpy(row.t, v->translation, sizeof row.t);
        in_pixels(v->model, true, v->cameras, row.f);
    } else if (v->geometry == KB_GEOMETRY_FUNDAMENTAL) {
        in_pixels(v->model, true, NULL, row.f);
    } else {
        row.config = metric ? PANORAMIC : v->cameras ? PLANAR : PLANAR_OR_PANORAMIC;
        in_pixels(metric ? v->rotation : v->model, false, metric ? v->cameras : NULL, row.h);
    }
    return row;
}

bool io_colmap_db_add_geometry(io_colmap_db *db, int64_t a, int64_t b, const kb_match *matches, size_t n,
                               const io_two_view *view, io_error *error)
{
    if (a > b) return io_fail(error, "the geometry of images %lld and %lld: the lower one must be first", (long long)a,
                              (long long)b);
    const two_view_row row = row_of(view);
    uint32_t *data = match_data(a, b, matches, n);
    const cell cells[] = {{INTEGER, pair_id(a, b), NULL, 0},
                          {INTEGER, (int64_t)n, NULL, 0},
                          {BLOB, 0, data, n * 2 * sizeof *data},
                          {INTEGER, row.config, NULL, 0},
                          {BLOB, 0, row.f, sizeof row.f},
                          {BLOB, 0, row.e, sizeof row.e},
                          {BLOB, 0, row.h, sizeof row.h},
                          {BLOB, 0, row.q, sizeof row.q},
                          {BLOB, 0, row.t, sizeof row.t}};
    bool good = insert(db, "INSERT INTO two_view_geometries(pair_id, rows, cols, data, config, F, E, H, qvec, tvec) "
                           "VALUES(?, ?, 2, ?, ?, ?, ?, ?, ?, ?);", cells, 9, error);
    free(data);
    return good;
}

/* ------------------------------------------------------------------------------------------------------- reading */

/* A database is a program as well: views, computed columns. What reads one reads its tables and nothing else. */
static int allow_tables_only(void *context, int action, const char *first, const char *second, const char *database,
                             const char *view)
{
    (void)context, (void)first, (void)database;
    bool sum = action == SQLITE_FUNCTION && (strcmp(second, "count") == 0 || strcmp(second, "total") == 0);
    return !view && (action == SQLITE_SELECT || action == SQLITE_READ || sum) ? SQLITE_OK : SQLITE_DENY;
}

static int stop(void *context)
{
    (void)context;
    return 1;
}

static int cut_to_int(int64_t value) { return value < INT32_MAX ? (int)value : INT32_MAX; }

/* Bounded by the size of the file: no value is larger, and no question takes more steps than all rows would; pages that
 * lead to each other in circles do. Functions of computed columns cannot be denied, but made to have nothing to do. */
/* Whether a file of that name with this at its end has something in it. */
static bool has_beside(const char *path, const char *end)
{
    struct stat status;
    char *name = io_alloc(strlen(path) + strlen(end) + 1, 1);
    sprintf(name, "%s%s", path, end);
    bool there = stat(name, &status) == 0 && status.st_size > 0;
    free(name);
    return there;
}

/* SQLite's name for the database. To read one in WAL mode, SQLite makes files beside it, and leaves them there, unless
 * it is told that nobody writes; which is so when there is nothing that a writer has begun. */
static char *read_uri(const char *path)
{
    bool quiet = !has_beside(path, "-wal") && !has_beside(path, "-journal");
    char *uri = io_alloc(3 * strlen(path) + 32, 1), *to = uri + sprintf(uri, "file:%s", path[0] == '/' ? "" : "./");
    for (const char *from = path; *from; from++) to += sprintf(to, "%%%02x", (unsigned)(unsigned char)*from);
    strcpy(to, quiet ? "?immutable=1" : "");
    return uri;
}

static bool open_to_read(const char *path, sqlite3 **handle, io_error *error)
{
    struct stat status;
    int64_t size = stat(path, &status) == 0 ? status.st_size : 0;
    char *uri = read_uri(path);
    int opened = sqlite3_open_v2(uri, handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
    free(uri);
    if (opened != SQLITE_OK)
        return io_fail(error, "%s: %s", path, *handle ? sqlite3_errmsg(*handle) : "out of memory");
    sqlite3_set_authorizer(*handle, allow_tables_only, NULL);
    sqlite3_limit(*handle, SQLITE_LIMIT_LENGTH, cut_to_int(size + 4096));
    sqlite3_limit(*handle, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 0);
    sqlite3_progress_handler(*handle, cut_to_int(1000000 + 16 * size), stop, NULL);
    return true;
}

bool io_colmap_db_verified(const char *path, int64_t *pairs, int64_t *matches, io_error *error)
{
    sqlite3 *handle = NULL;
    sqlite3_stmt *statement = NULL;
    bool open = open_to_read(path, &handle, error);
    bool good = open &&
                sqlite3_prepare_v2(handle, "SELECT count(*), total(rows) FROM two_view_geometries WHERE rows > 0;", -1,
                                   &statement, NULL) == SQLITE_OK &&
                sqlite3_step(statement) == SQLITE_ROW;
    if (good) {
        *pairs = sqlite3_column_int64(statement, 0);
        double sum = sqlite3_column_double(statement, 1); /* of whatever stands there */
        *matches = sum >= 0 && sum < 9e18 ? (int64_t)sum : 0;
    } else if (open) {
        io_fail(error, "%s: %s", path, sqlite3_errmsg(handle));
    }
    sqlite3_finalize(statement);
    sqlite3_close(handle);
    return good;
}

/* Rows of 4 floats (x, y, scale, angle in radians) or 6 (x, y and the affine shape a11 a12 a21 a22, whose first column
 * is scale x (cos, sin)). */
static kb_keypoint keypoint_of(const float *row, int cols)
{
    kb_keypoint k = {row[0] - 0.5f, row[1] - 0.5f, 0, 0, 0, 0, -1};
    double scale = row[2], degrees = (double)row[3] * 57.295779513082320877;
    if (cols == 6) {
        scale = sqrt(fabs((double)row[2] * row[5] - (double)row[3] * row[4]));
        degrees = kbi_atan2_degrees(row[4], row[2]);
    }
    degrees -= 360 * floor(degrees / 360);
    k.size = (float)(2 * scale);
    k.angle = (float)degrees >= 360.0f ? 0.0f : (float)degrees;
    return k;
}

static bool decode_keypoints(const char *path, sqlite3_stmt *row, kb_keypoint **keypoints, size_t *count,
                             io_error *error)
{
    int64_t rows = sqlite3_column_int64(row, 0), cols = sqlite3_column_int64(row, 1);
    const void *data = sqlite3_column_blob(row, 2);
    int bytes = sqlite3_column_bytes(row, 2);
    if (cols != 4 && cols != 6)
        return io_fail(error, "%s: keypoints of %lld numbers have no scale and angle; 4 or 6 do", path,
                       (long long)cols);
    if (rows < 0 || rows > INT32_MAX || bytes != rows * cols * 4)
        return io_fail(error, "%s: keypoints are damaged", path);
    *keypoints = io_alloc((size_t)rows, sizeof **keypoints);
    *count = (size_t)rows;
    for (size_t i = 0; i < *count; i++) {
        float values[6];
        memcpy(values, (const char *)data + i * (size_t)cols * 4, (size_t)cols * 4);
        (*keypoints)[i] = keypoint_of(values, (int)cols);
    }
    return true;
}

bool io_colmap_db_keypoints(const char *database, uint32_t image_id, kb_keypoint **keypoints, size_t *count,
                              io_error *error)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *row = NULL;
    *keypoints = NULL;
    *count = 0;
    bool open = open_to_read(database, &db, error);
    bool ok = open &&
              sqlite3_prepare_v2(db, "SELECT rows, cols, data FROM keypoints WHERE image_id = ?", -1, &row, NULL) ==
                  SQLITE_OK &&
              sqlite3_bind_int64(row, 1, image_id) == SQLITE_OK;
    int step = ok ? sqlite3_step(row) : SQLITE_ERROR;
    if (step == SQLITE_ROW) ok = decode_keypoints(database, row, keypoints, count, error);
    else if (open && step != SQLITE_DONE) ok = io_fail(error, "%s: %s", database, sqlite3_errmsg(db));
    sqlite3_finalize(row);
    sqlite3_close(db);
    return ok;
}
