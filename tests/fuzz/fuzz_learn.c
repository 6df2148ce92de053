/* What learning reads: sets of patches, and COLMAP's models in both forms. The first byte chooses; a model's three
 * files follow one another, with the lengths of the first two before them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "io/colmap_model.h"
#include "io/patch_file.h"

enum { PATCHES, TEXT, BINARY, READERS };

static const char *const names[] = {"cameras", "images", "points3D"};
static char folders[READERS][64];

static void file_of(int reader, int which, char path[128])
{
    snprintf(path, 128, "%s/%s.%s", folders[reader], names[which], reader == TEXT ? "txt" : "bin");
}

static void remove_folders(void)
{
    for (int reader = TEXT; reader < READERS; reader++) {
        char path[128];
        for (int i = 0; i < 3; i++) {
            file_of(reader, i, path);
            unlink(path);
        }
        rmdir(folders[reader]);
    }
}

static void make_folders(void)
{
    if (folders[TEXT][0]) return;
    for (int reader = TEXT; reader < READERS; reader++) {
        strcpy(folders[reader], "/dev/shm/keybits-fuzz-XXXXXX");
        if (mkdtemp(folders[reader])) continue;
        fuzz_expect(mkdtemp(strcpy(folders[reader], "/tmp/keybits-fuzz-XXXXXX")) != NULL);
    }
    atexit(remove_folders);
}

static void read_patches(const uint8_t *data, size_t size, io_error *error)
{
    kbi_patch_set set;
    if (!io_patch_set_load(fuzz_file(data, size), 100, 1, &set, error)) return;
    kbi_patch_set_shrink(&set);
    fuzz_expect(set.points >= 2 && set.patches >= 2 * set.points);
    kbi_patch_set_free(&set);
}

static void read_model(int reader, const uint8_t *data, size_t size, io_error *error)
{
    kbi_scene model;
    if (size < 4) return;
    size_t rest = size - 4, first = data[0] + 256u * data[1], second = data[2] + 256u * data[3];
    if (first > rest) first = rest;
    if (second > rest - first) second = rest - first;
    const size_t start[] = {0, first, first + second, rest};
    make_folders();
    for (int i = 0; i < 3; i++) {
        char path[128];
        file_of(reader, i, path);
        FILE *f = fopen(path, "wb");
        fuzz_expect(f != NULL);
        fwrite(data + 4 + start[i], 1, start[i + 1] - start[i], f);
        fclose(f);
    }
    if (!io_colmap_model_read(folders[reader], &model, error)) return;
    for (size_t i = 0; i < model.image_count; i++) fuzz_expect(model.images[i].camera < model.camera_count);
    kbi_scene_free(&model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    io_error error = {""};
    if (size == 0) return 0;
    int reader = data[0] % READERS;
    if (reader == PATCHES) read_patches(data + 1, size - 1, &error);
    else read_model(reader, data + 1, size - 1, &error);
    fuzz_expect(memchr(error.text, 0, sizeof error.text) != NULL);
    return 0;
}

/* ---------------------------------------------------------------------------------------------------------- seeds */

typedef struct bytes {
    uint8_t *at;
} bytes;

static void put(bytes *b, uint64_t value, int count)
{
    for (int i = 0; i < count; i++, value >>= 8) *b->at++ = (uint8_t)value;
}

static void put_double(bytes *b, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(b, bits, 8);
}

/* One camera, two images of two features, one point. */
static size_t binary_seed(uint8_t *buffer)
{
    bytes b = {buffer + 5};
    put(&b, 1, 8), put(&b, 1, 4), put(&b, 1, 4), put(&b, 640, 8), put(&b, 480, 8); /* PINHOLE */
    put_double(&b, 500), put_double(&b, 500), put_double(&b, 320), put_double(&b, 240);
    size_t cameras = (size_t)(b.at - buffer) - 5;
    put(&b, 2, 8);
    for (uint64_t image = 1; image <= 2; image++) {
        put(&b, image, 4);
        for (int i = 0; i < 7; i++) put_double(&b, i == 0);
        put(&b, 1, 4), memcpy(b.at, image == 1 ? "a.png" : "b.png", 6), b.at += 6, put(&b, 2, 8);
        put_double(&b, 10), put_double(&b, 20), put(&b, 7, 8);
        put_double(&b, 30), put_double(&b, 40), put(&b, UINT64_MAX, 8);
    }
    size_t images = (size_t)(b.at - buffer) - 5 - cameras;
    put(&b, 1, 8), put(&b, 7, 8), put_double(&b, 1), put_double(&b, 2), put_double(&b, 3), put(&b, 0, 3);
    put_double(&b, 0.5), put(&b, 2, 8), put(&b, 1, 4), put(&b, 0, 4), put(&b, 2, 4), put(&b, 0, 4);
    buffer[0] = BINARY;
    buffer[1] = (uint8_t)cameras, buffer[2] = (uint8_t)(cameras >> 8);
    buffer[3] = (uint8_t)images, buffer[4] = (uint8_t)(images >> 8);
    return (size_t)(b.at - buffer);
}

static size_t text_seed(uint8_t *buffer)
{
    static const char cameras[] = "# cameras\n1 SIMPLE_RADIAL 640 480 500 320 240 0.01\n";
    static const char images[] = "1 1 0 0 0 0 0 0 1 a.png\n10 20 7 30 40 -1\n2 1 0 0 0 1 0 0 1 b c.png\n\n";
    static const char points[] = "7 1 2 3 0 0 0 0.5 1 0\n";
    const size_t lengths[] = {sizeof cameras - 1, sizeof images - 1, sizeof points - 1};
    buffer[0] = TEXT;
    buffer[1] = (uint8_t)lengths[0], buffer[2] = 0, buffer[3] = (uint8_t)lengths[1], buffer[4] = 0;
    memcpy(buffer + 5, cameras, lengths[0]);
    memcpy(buffer + 5 + lengths[0], images, lengths[1]);
    memcpy(buffer + 5 + lengths[0] + lengths[1], points, lengths[2]);
    return 5 + lengths[0] + lengths[1] + lengths[2];
}

/* Two points of two patches of 4 x 4. */
static size_t patches_seed(uint8_t *buffer, size_t capacity)
{
    char path[128];
    uint8_t pixels[16] = {1, 2, 3, 200};
    io_error error;
    make_folders();
    snprintf(path, sizeof path, "%s/cameras.txt", folders[TEXT]);
    io_patch_writer *writer = io_patch_writer_open(path, 4, 1, &error);
    fuzz_expect(writer != NULL);
    for (uint32_t i = 0; i < 4; i++) io_patch_writer_add(writer, i / 2, i % 2, pixels);
    fuzz_expect(io_patch_writer_close(writer, &error));
    FILE *f = fopen(path, "rb");
    fuzz_expect(f != NULL);
    size_t size = fread(buffer + 1, 1, capacity - 1, f);
    fclose(f);
    buffer[0] = PATCHES;
    return 1 + size;
}

size_t fuzz_seed(int index, uint8_t *buffer, size_t capacity)
{
    switch (index) {
    case 0: return patches_seed(buffer, capacity);
    case 1: return text_seed(buffer);
    case 2: return binary_seed(buffer);
    default: return 0;
    }
}
