/* Keypoints out of COLMAP's database: rows of 4 floats (x, y, scale, angle in radians) or 6 (x, y and the affine shape
 * a11 a12 a21 a22, whose first column is scale x (cos, sin)). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "common/common.h"
#include "learn/colmap_model.h"

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

static bool decode(const char *path, sqlite3_stmt *row, kb_keypoint **keypoints, size_t *count, io_error *error)
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

bool kbi_colmap_keypoints_read(const char *database, uint32_t image_id, kb_keypoint **keypoints, size_t *count,
                              io_error *error)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *row = NULL;
    *keypoints = NULL;
    *count = 0;
    bool ok = sqlite3_open_v2(database, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
              sqlite3_prepare_v2(db, "SELECT rows, cols, data FROM keypoints WHERE image_id = ?", -1, &row, NULL) ==
                  SQLITE_OK &&
              sqlite3_bind_int64(row, 1, image_id) == SQLITE_OK;
    int step = ok ? sqlite3_step(row) : SQLITE_ERROR;
    if (step == SQLITE_ROW) ok = decode(database, row, keypoints, count, error);
    else if (step != SQLITE_DONE) ok = io_fail(error, "%s: %s", database, db ? sqlite3_errmsg(db) : "out of memory");
    sqlite3_finalize(row);
    sqlite3_close(db);
    return ok;
}
