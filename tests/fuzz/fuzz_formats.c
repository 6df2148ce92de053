/* SPDX-License-Identifier: Apache-2.0 */
/* Files of other programs: vocabularies of every kind, EXIF, Brown's sets, COLMAP's database and good databases with
 * hostile cells, task files of HPatches, homographies; and rows of hexadecimal digits and the log of a training. The first
 * byte chooses. */
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eval/hpatches_tasks.h"
#include "eval/scenes.h"
#include "fuzz.h"
#include "io/brown.h"
#include "io/codecs.h"
#include "io/colmap_db.h"
#include "io/rows.h"
#include "io/train_log.h"
#include "io/vocabulary.h"
#include "source.h"

enum { VOCABULARY, EXIF, BROWN, DATABASE, TASKS, LOG, HOMOGRAPHY, ROWS, CELLS, READERS };
enum { ROW = 32, BITS = 4, SETTINGS = 7 };

static char folder[64];
static const char *const task_files[] = {"verif_pos_split-x.csv", "verif_neg_intra_split-x.csv",
                                         "verif_neg_inter_split-x.csv", "retr_queries_split-x.csv",
                                         "retr_distractors_split-x.csv"};
enum { TASK_FILES = sizeof task_files / sizeof *task_files };

static const char *file_in_folder(const char *name)
{
    static char path[192];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void remove_folder(void)
{
    for (int i = 0; i < TASK_FILES; i++) unlink(file_in_folder(task_files[i]));
    unlink(file_in_folder("info.txt"));
    unlink(file_in_folder("log.csv"));
    unlink(file_in_folder("rows.hex"));
    unlink(file_in_folder("seed"));
    unlink(file_in_folder("cells.db"));
    rmdir(folder);
}

static const char *put_file(const char *name, const uint8_t *data, size_t size)
{
    if (!folder[0]) {
        strcpy(folder, "/dev/shm/keybits-fuzz-XXXXXX");
        if (!mkdtemp(folder)) fuzz_expect(mkdtemp(strcpy(folder, "/tmp/keybits-fuzz-XXXXXX")) != NULL);
        atexit(remove_folder);
    }
    const char *path = file_in_folder(name);
    FILE *file = fopen(path, "wb");
    fuzz_expect(file != NULL && (size == 0 || fwrite(data, 1, size, file) == size) && fclose(file) == 0);
    return path;
}

static size_t get_file(const char *path, uint8_t *buffer, size_t capacity)
{
    FILE *file = fopen(path, "rb");
    fuzz_expect(file != NULL);
    size_t size = fread(buffer, 1, capacity, file);
    fclose(file);
    return size;
}

/* A refusal has words. */
static void refused(const io_error *error)
{
    fuzz_expect(error->text[0] != 0 && memchr(error->text, 0, sizeof error->text) != NULL);
}

/* ------------------------------------------------------------------------------------------------------------ readers */

static void read_vocabulary(const char *path, size_t size, io_error *error)
{
    io_vocabulary v;
    kb_vocabulary_info info;
    if (size == 0) return;
    if (!io_vocabulary_read(path, &v, error)) {
        refused(error);
        return;
    }
    KB_INIT(info);
    fuzz_expect(kb_vocabulary_get_info(v.vocabulary, &info) == KB_OK);
    fuzz_expect(info.bytes <= 16 * size + 4096); /* as docs/reliability.md promises */
    io_vocabulary_free(&v);
}

/* The block alone, then as a file, in which a JPEG's block is looked for. */
static void read_exif(const uint8_t *data, size_t size)
{
    io_position position;
    uint8_t *exact = malloc(size ? size : 1);
    memcpy(exact, data, size);
    int32_t orientation = io_exif_orientation(exact, size);
    fuzz_expect(orientation >= 1 && orientation <= 8);
    for (int file = 0; file < 2; file++) {
        bool found =
            file ? io_image_position(fuzz_file(data, size), &position) : io_exif_position(exact, size, &position);
        fuzz_expect(!found || (isfinite(position.latitude) && isfinite(position.longitude)));
    }
    double focal;
    if (io_image_focal(fuzz_file(data, size), &focal)) fuzz_expect(focal > 0 && isfinite(focal));
    free(exact);
}

static void read_brown(const uint8_t *data, size_t size, io_error *error)
{
    uint32_t *labels;
    size_t count;
    put_file("info.txt", data, size);
    if (io_brown_labels(folder, &labels, &count, error))
        fuzz_expect(count <= size && labels);
    else
        refused(error);
    free(labels);
}

static void read_database(const char *path, io_error *error)
{
    int64_t pairs = 0, matches = 0;
    kb_keypoint *keypoints;
    size_t count;
    if (!io_colmap_db_verified(path, &pairs, &matches, error)) refused(error);
    fuzz_expect(pairs >= 0 && matches >= 0);
    if (!io_colmap_db_keypoints(path, 1, &keypoints, &count, error)) refused(error);
    free(keypoints);
}

/* A cell as the input has it: whatever the column says, SQLite takes any type. */
static void bind_cell(sqlite3_stmt *row, int column, source *s)
{
    static const int64_t numbers[] = {0, 1, 2, 4, 6, -1, INT32_MAX, (int64_t)1 << 32, INT64_MAX, INT64_MIN};
    uint8_t kind = take_byte(s), length = take_byte(s);
    uint8_t bytes[256];
    take(s, bytes, length);
    if (kind % 5 == 0)
        sqlite3_bind_null(row, column);
    else if (kind % 5 == 1)
        sqlite3_bind_int64(row, column, numbers[length % 10]);
    else if (kind % 5 == 2)
        sqlite3_bind_double(row, column, length % 2 ? INFINITY : 1e300 * length);
    else if (kind % 5 == 3)
        sqlite3_bind_text(row, column, (const char *)bytes, length, SQLITE_TRANSIENT);
    else
        sqlite3_bind_blob(row, column, bytes, length, SQLITE_TRANSIENT);
}

/* A sound file whose rows come from the input: what a byte changed in a page seldom reaches. */
static void read_cells(const uint8_t *data, size_t size, io_error *error)
{
    source s = {data, size, 0};
    sqlite3 *db = NULL;
    sqlite3_stmt *row = NULL;
    put_file("cells.db", NULL, 0);
    unlink(file_in_folder("cells.db"));
    fuzz_expect(sqlite3_open(file_in_folder("cells.db"), &db) == SQLITE_OK);
    fuzz_expect(sqlite3_exec(db,
                             "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;"
                             "CREATE TABLE keypoints (image_id, rows, cols, data);"
                             "CREATE TABLE two_view_geometries (pair_id, rows, cols, data);",
                             NULL, NULL, NULL) == SQLITE_OK);
    for (int i = 0; i < 4; i++) {
        fuzz_expect(sqlite3_prepare_v2(db,
                                       i % 2 ? "INSERT INTO two_view_geometries VALUES (1, ?, ?, ?)"
                                             : "INSERT INTO keypoints VALUES (1, ?, ?, ?)",
                                       -1, &row, NULL) == SQLITE_OK);
        for (int column = 1; column <= 3; column++) bind_cell(row, column, &s);
        sqlite3_step(row);
        sqlite3_finalize(row);
    }
    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    sqlite3_close(db);
    read_database(file_in_folder("cells.db"), error);
}

/* The same bytes as every one of the five files: four of them do not fit, which is refused, or the rows do. */
static void read_tasks(const uint8_t *data, size_t size, io_error *error)
{
    static const uint8_t textured[8] = {1, 1, 1, 0, 1, 1, 1, 1};
    static const ev_sequence_facts sequences[] = {{"v_one", 8, textured}, {"i_two", 8, textured}};
    const ev_split_facts split = {"x", sequences, 2};
    ev_verification_task verification;
    ev_retrieval_task retrieval;
    for (int i = 0; i < TASK_FILES; i++) put_file(task_files[i], data, size);
    if (ev_verification_task_open(folder, &split, 10, &verification, error)) {
        for (size_t i = 0; i < verification.positive.count; i++) {
            fuzz_expect(verification.positive.items[i].a.sequence < 2 && verification.positive.items[i].a.index < 8);
            fuzz_expect(verification.positive.items[i].b.image <= 5);
        }
        ev_verification_task_free(&verification);
    } else {
        refused(error);
    }
    if (ev_retrieval_task_open(folder, &split, &retrieval, error))
        ev_retrieval_task_free(&retrieval);
    else
        refused(error);
}

static void read_log(const uint8_t *data, size_t size, io_error *error)
{
    io_train_log log;
    char *path = strdup(put_file("log.csv", data, size));
    if (io_train_log_open(&log, path, SETTINGS, BITS, true, error)) {
        fuzz_expect(log.count >= 0 && log.count <= BITS);
        fuzz_expect(io_train_log_close(&log, error));
    } else {
        refused(error);
    }
    free(path);
}

static void read_homography(const char *path, io_error *error)
{
    double h[9];
    if (!ev_homography_read(path, h, error)) {
        refused(error);
        return;
    }
    for (int i = 0; i < 9; i++) fuzz_expect(isfinite(h[i]));
}

static void read_rows(const char *path, size_t size, io_error *error)
{
    io_rows rows;
    if (!io_rows_read(path, &rows, error)) {
        refused(error);
        return;
    }
    fuzz_expect(2 * rows.count * rows.width <= size);
    io_rows_free(&rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    io_error error = {""};
    if (size == 0) return 0;
    int reader = data[0] % READERS;
    data++, size--;
    if (reader == VOCABULARY)
        read_vocabulary(fuzz_file(data, size), size, &error);
    else if (reader == EXIF)
        read_exif(data, size);
    else if (reader == BROWN)
        read_brown(data, size, &error);
    else if (reader == DATABASE)
        read_database(fuzz_file(data, size), &error);
    else if (reader == TASKS)
        read_tasks(data, size, &error);
    else if (reader == LOG)
        read_log(data, size, &error);
    else if (reader == HOMOGRAPHY)
        read_homography(fuzz_file(data, size), &error);
    else if (reader == CELLS)
        read_cells(data, size, &error);
    else
        read_rows(put_file("rows.hex", data, size), size, &error);
    return 0;
}

/* -------------------------------------------------------------------------------------------------------------- seeds */

static size_t seed_vocabulary(io_vocabulary_format format, uint8_t *buffer, size_t capacity)
{
    uint8_t rows[20 * ROW];
    kb_vocabulary *vocabulary = NULL;
    kb_vocabulary_options o;
    io_error error;
    KB_INIT(o);
    o.branching = 3;
    o.levels = 2;
    for (size_t i = 0; i < sizeof rows; i++) rows[i] = (uint8_t)(i * i / 3 + i * 7);
    fuzz_expect(kb_vocabulary_train(rows, 20, ROW, &o, NULL, &vocabulary, NULL) == KB_OK);
    put_file("seed", rows, 0);
    fuzz_expect(io_vocabulary_write(file_in_folder("seed"), vocabulary, format, &error));
    kb_vocabulary_free(vocabulary);
    return get_file(file_in_folder("seed"), buffer, capacity);
}

static size_t seed_database(uint8_t *buffer, size_t capacity)
{
    const kb_keypoint keypoints[2] = {{1, 2, 3, 4, 5, 0, 0}, {5, 6, 7, 8, 9, 0, 0}};
    const io_camera camera = io_camera_guess(64, 48);
    int64_t camera_id, image;
    io_error error;
    put_file("seed", NULL, 0);
    unlink(file_in_folder("seed"));
    io_colmap_db *db = io_colmap_db_create(file_in_folder("seed"), &error);
    fuzz_expect(db && io_colmap_db_add_camera(db, &camera, 64, 48, &camera_id, &error) &&
                io_colmap_db_add_image(db, "a.png", camera_id, &image, &error) &&
                io_colmap_db_add_keypoints(db, image, keypoints, 2, &error) && io_colmap_db_commit(db, &error));
    return get_file(file_in_folder("seed"), buffer, capacity);
}

static uint8_t *put_tag(uint8_t *to, uint16_t tag, uint16_t type, uint8_t count, uint32_t value)
{
    const uint8_t bytes[12] = {(uint8_t)(tag >> 8),
                               (uint8_t)tag,
                               0,
                               (uint8_t)type,
                               0,
                               0,
                               0,
                               count,
                               (uint8_t)(value >> 24),
                               (uint8_t)(value >> 16),
                               (uint8_t)(value >> 8),
                               (uint8_t)value};
    memcpy(to, bytes, sizeof bytes);
    return to + sizeof bytes;
}

/* A place and a focal length: directories of EXIF and GPS, and the degrees, minutes and seconds behind them. */
static size_t seed_gps(uint8_t *buffer)
{
    uint8_t *at = buffer;
    memcpy(at, "MM\0*\0\0\0\x08\0\x02", 10);
    at = put_tag(put_tag(at + 10, 0x8769, 4, 1, 38), 0x8825, 4, 1, 56);
    memset(at, 0, 4);
    memcpy(at + 4, "\0\x01", 2); /* byte 38 */
    at = put_tag(at + 6, 0xa405, 3, 1, 28u << 16);
    memset(at, 0, 4);
    memcpy(at + 4, "\0\x06", 2); /* byte 56 */
    at = put_tag(put_tag(at + 6, 1, 2, 2, (uint32_t)'S' << 24), 2, 5, 3, 134);
    at = put_tag(put_tag(at, 3, 2, 2, (uint32_t)'W' << 24), 4, 5, 3, 134);
    at = put_tag(put_tag(at, 5, 1, 1, 1u << 24), 6, 5, 1, 134);
    memset(at, 0, 4);
    for (at += 4; at < buffer + 134 + 24; at += 4) memcpy(at, "\0\0\0\x07", 4);
    return (size_t)(at - buffer);
}

static size_t seed_cells(uint8_t *buffer)
{
    static const uint8_t cells[] = {1, 2, 0, 0, 1, 4, 0, 0, 0, 0, 4, 48}; /* 2 rows, 6 columns, 48 bytes */
    size_t size = 0;
    for (int i = 0; i < 4; i++, size += 62) {
        memset(buffer + size, 0, 62);
        memcpy(buffer + size, cells, sizeof cells);
    }
    return size;
}

size_t fuzz_seed(int index, uint8_t *buffer, size_t capacity)
{
    static const struct {
        int reader;
        const char *text;
    } seeds[] = {
        {BROWN, "0 0\n0 1\n1 0\n4294967295 7\n"},
        {TASKS, "s1,t1,idx1,s2,t2,idx2\nv_one,0,1,i_two,1,1\ni_two,2,7,i_three,1,1\n"},
        {TASKS, "s,idx\nv_one,1\ni_two,7\n"},
        {HOMOGRAPHY, "1 0.5 -3e1\n0 1 2\n1e-4 0 1\n"},
        {HOMOGRAPHY, "<opencv_storage><H13 type_id=\"opencv-matrix\"><data>1 0 3 0 1 2 0 0 1</data></H13>"},
        {ROWS, "00ff10\nabcdef\r\n\n123456\n"},
        {LOG, "# settings 0000000000000007\nbit,loss,active,mean,seconds,channel1,x1,y1,radius1,channel2,x2,y2,radius2,"
              "threshold\n0,0.5,0.25,0.5,1,0,9,9,2,0,17,20,2,-1.5\n1,0.4,0.25,0.5,2,0,9,9,2,0,17,20,2,"},
    };
    const int texts = (int)(sizeof seeds / sizeof *seeds);
    if (index < texts) {
        buffer[0] = (uint8_t)seeds[index].reader;
        memcpy(buffer + 1, seeds[index].text, strlen(seeds[index].text));
        return 1 + strlen(seeds[index].text);
    }
    index -= texts;
    if (index <= IO_VOCABULARY_VINS) {
        buffer[0] = VOCABULARY;
        return 1 + seed_vocabulary((io_vocabulary_format)index, buffer + 1, capacity - 1);
    }
    if (index == IO_VOCABULARY_VINS + 1) {
        static const char exif[] =
            "MM\0*\0\0\0\x08\0\x02\x01\x0f\0\x03\0\0\0\x01\0\x01\0\0\x01\x12\0\x03\0\0\0\x01\0\x06\0\0";
        buffer[0] = EXIF;
        memcpy(buffer + 1, exif, sizeof exif);
        return 1 + sizeof exif;
    }
    if (index == IO_VOCABULARY_VINS + 2) {
        buffer[0] = DATABASE;
        return 1 + seed_database(buffer + 1, capacity - 1);
    }
    if (index == IO_VOCABULARY_VINS + 3) {
        buffer[0] = EXIF;
        size_t size = seed_gps(buffer + 1);
        io_position position;
        fuzz_expect(io_exif_position(buffer + 1, size, &position) && position.latitude < -1); /* it is one */
        return 1 + size;
    }
    if (index == IO_VOCABULARY_VINS + 4) {
        buffer[0] = CELLS;
        return 1 + seed_cells(buffer + 1);
    }
    return 0;
}
