/* SPDX-License-Identifier: Apache-2.0 */
/* What learning reads: sets of patches, COLMAP's models in both forms, and checkpoints with the right hash. The first
 * byte chooses; a model's three files follow one another, with the lengths of the first two before them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "io/colmap_model.h"
#include "pipeline/patch_load.h"
#include "learn/hash_train.h"
#include "unit/seal.h"

enum { PATCHES, TEXT, BINARY, CHECKPOINT, READERS };

static const char *const names[] = {"cameras", "images", "points3D"};
static char folders[READERS][64];

static void file_of(int reader, int which, char path[128])
{
    snprintf(path, 128, "%s/%s.%s", folders[reader], names[which], reader == TEXT ? "txt" : "bin");
}

static void remove_folders(void)
{
    for (int reader = TEXT; reader <= BINARY; reader++) {
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
    for (int reader = TEXT; reader <= BINARY; reader++) {
        strcpy(folders[reader], "/dev/shm/keybits-fuzz-XXXXXX");
        if (mkdtemp(folders[reader])) continue;
        fuzz_expect(mkdtemp(strcpy(folders[reader], "/tmp/keybits-fuzz-XXXXXX")) != NULL);
    }
    atexit(remove_folders);
}

static void read_patches(const uint8_t *data, size_t size, io_error *error)
{
    kbi_patch_set set;
    if (!patch_set_load(fuzz_file(data, size), 100, 1, &set, error)) return;
    kbi_patch_set_shrink(&set);
    fuzz_expect(set.points >= 2 && set.patches >= 2 * set.points && set.side <= KB_PATCH_SIDE);
    uint32_t sum = 0; /* every byte that the side promises is there */
    for (size_t i = 0; i < set.patches * kbi_patch_bytes(set.side); i++) sum += set.pixels[i];
    fuzz_expect(sum <= 255 * set.patches * kbi_patch_bytes(set.side));
    kbi_patch_set_free(&set);
}

static void read_model(int reader, const uint8_t *data, size_t size, io_error *error)
{
    io_scene model;
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
    io_scene_free(&model);
}

/* ---- checkpoints ---- */

static kbi_hash_trainer *make_trainer(kb_learn_loss loss)
{
    enum { POINTS = 8, SIDE = KB_PATCH_SIDE };
    static uint8_t pixels[2 * POINTS * SIDE * SIDE];
    static uint32_t labels[2 * POINTS];
    kb_learn_patches patches;
    kb_learn_hash_options o;
    kbi_hash_trainer *t = NULL;
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i % SIDE * (1 + i / SIDE / SIDE / 2) + i / SIDE % SIDE * 5 + i / SIDE / SIDE % 2);
    for (size_t i = 0; i < 2 * POINTS; i++) labels[i] = (uint32_t)(i / 2);
    KB_INIT(patches);
    KB_INIT(o);
    patches.pixels = pixels, patches.labels = labels, patches.count = 2 * POINTS;
    o.bits = 8, o.steps = 2, o.batch = 8, o.versions = 1, o.loss = loss;
    fuzz_expect(kbi_hash_trainer_create(&t, &patches, &o, NULL) == KB_OK);
    return t;
}

/* One that is taken leads to a result, whatever its numbers are. */
static void read_checkpoint(const uint8_t *data, size_t size)
{
    static kbi_hash_trainer *trainers[2];
    int8_t weights[8 * KB_SIFT_VALUES];
    int32_t bias[8];
    kb_error error = {.text = ""};
    if (size == 0) return;
    kb_learn_loss loss = data[0] % 2 ? KB_LEARN_LOSS_BINARY : KB_LEARN_LOSS_TRIPLET;
    if (!trainers[loss]) trainers[loss] = make_trainer(loss);
    uint8_t *sealed = malloc(size);
    memcpy(sealed, data + 1, --size);
    seal_checkpoint(sealed, size);
    if (kbi_hash_trainer_restore(trainers[loss], sealed, size, &error) == KB_OK) {
        fuzz_expect(kbi_hash_trainer_run(trainers[loss], INT64_MAX));
        kbi_hash_trainer_result(trainers[loss], weights, bias);
    } else {
        fuzz_expect(error.text[0] != 0);
    }
    free(sealed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    io_error error = {""};
    if (size == 0) return 0;
    int reader = data[0] % READERS;
    if (reader == PATCHES) read_patches(data + 1, size - 1, &error);
    else if (reader == CHECKPOINT) read_checkpoint(data + 1, size - 1);
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

/* Two points of two patches of side x side, or of octaves. */
static size_t patches_seed(int32_t side, uint8_t *buffer, size_t capacity)
{
    char path[128];
    uint8_t pixels[KB_OCTAVES * KB_OCTAVE_SIDE * KB_OCTAVE_SIDE] = {1, 2, 3, 200};
    fuzz_expect(kbi_patch_bytes(side) <= sizeof pixels);
    io_error error;
    make_folders();
    snprintf(path, sizeof path, "%s/cameras.txt", folders[TEXT]);
    io_patch_writer *writer = io_patch_writer_open(path, side, 1, &error);
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

static size_t checkpoint_seed(kb_learn_loss loss, uint8_t *buffer, size_t capacity)
{
    size_t size;
    kbi_hash_trainer *t = make_trainer(loss);
    const void *saved = kbi_hash_trainer_save(t, &size);
    fuzz_expect(size + 2 <= capacity);
    buffer[0] = CHECKPOINT;
    buffer[1] = (uint8_t)loss;
    memcpy(buffer + 2, saved, size);
    seal_checkpoint(buffer + 2, size);
    fuzz_expect(memcmp(buffer + 2, saved, size) == 0); /* the seal is the library's */
    kbi_hash_trainer_free(t);
    return size + 2;
}

size_t fuzz_seed(int index, uint8_t *buffer, size_t capacity)
{
    switch (index) {
    case 0: return patches_seed(4, buffer, capacity);
    case 1: return text_seed(buffer);
    case 2: return binary_seed(buffer);
    case 3: return checkpoint_seed(KB_LEARN_LOSS_TRIPLET, buffer, capacity);
    case 4: return checkpoint_seed(KB_LEARN_LOSS_BINARY, buffer, capacity);
    case 5: return patches_seed(KB_OCTAVE_SIDE, buffer, capacity);
    default: return 0;
    }
}
