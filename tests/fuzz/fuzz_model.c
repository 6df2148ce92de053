/* SPDX-License-Identifier: Apache-2.0 */
/* Model files: any bytes are refused with words, or are a model that can be used and saved as the same bytes. The bytes
 * are taken as a file, as one with the right checksum, and as changes of a file that is good, whose checksum is set right:
 * those reach the tables. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "keybits/advanced.h"
#include "../arrays.h"

enum { SEEDS = 7 };

/* A damaged file rarely has the right checksum; given one, the rest of the reader is reached too. */
static void put_checksum(uint8_t *data, size_t size)
{
    uint32_t crc = ~0u;
    for (size_t i = 0; i + 4 < size; i++) {
        crc ^= data[i];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    for (int k = 0; k < 4; k++) data[size - 4 + (size_t)k] = (uint8_t)(~crc >> 8 * k);
}

/* Keypoints inside, at the border and outside, small and large. */
static void use(const kb_model *model)
{
    enum { KEYPOINTS = 6 };
    static uint8_t pixels[40 * 40], rows[KEYPOINTS * KB_MAX_BITS / 8];
    static float floats[KEYPOINTS * KB_SIFT_VALUES];
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i * i / 7);
    const kb_image image = {pixels, 40, 40, 40, KB_FORMAT_GRAY8, 0};
    const kb_keypoint keypoints[KEYPOINTS] = {{20, 21, 25, 30, 0, 0, 0}, {0, 39, 7, 359, 0, 0, 0}, {39.4f, 0, 90, -1, 0, 0, 0},
                                              {20, 20, 1e6f, 10, 0, 0, 0}, {-3, 20, 9, 0, 0, 0, 0}, {11, 9, 1, 77, 0, 0, 0}};
    kb_model_info info;
    KB_INIT(info);
    fuzz_expect(kb_model_get_info(model, &info) == KB_OK && info.row_bytes <= KB_MAX_BITS / 8);
    if (info.row_bytes > 0)
        fuzz_expect(describe_keypoints(model, &image, keypoints, KEYPOINTS, NULL, NULL, rows, NULL) == KB_OK);
    if (info.row_floats > 0 && info.row_floats <= KB_SIFT_VALUES)
        fuzz_expect(describe_keypoints_float(model, &image, keypoints, KEYPOINTS, NULL, NULL, floats, NULL) == KB_OK);
}

static void load(const uint8_t *data, size_t size)
{
    kb_model *model = NULL;
    kb_error error;
    if (kb_model_load(data, size, NULL, &model, &error) != KB_OK) {
        fuzz_expect(error.text[0] != 0 && memchr(error.text, 0, sizeof error.text) != NULL);
        return;
    }
    size_t needed = 0;
    uint8_t *again = malloc(size);
    fuzz_expect(kb_model_save(model, again, size, &needed) == KB_OK && needed == size);
    fuzz_expect(memcmp(again, data, size) == 0);
    free(again);
    use(model);
    kb_model_free(model);
}

/* A good file, chosen by the first byte, with bytes changed: three bytes tell where, and to what. */
static void forge(const uint8_t *data, size_t size)
{
    static uint8_t file[1 << 16];
    size_t good = size > 0 ? fuzz_seed(data[0] % SEEDS, file, sizeof file) : 0;
    if (good == 0) return;
    for (size_t i = 1; i + 3 <= size && i < 30; i += 3)
        file[((size_t)data[i] << 8 | data[i + 1]) % (good - 4)] = data[i + 2];
    put_checksum(file, good);
    load(file, good);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    load(data, size);
    forge(data, size);
    if (size < 4) return 0;
    uint8_t *sealed = malloc(size);
    memcpy(sealed, data, size);
    put_checksum(sealed, size);
    load(sealed, size);
    free(sealed);
    return 0;
}

size_t fuzz_seed(int index, uint8_t *buffer, size_t capacity)
{
    static const kb_kind kinds[SEEDS] = {KB_KIND_BAD,  KB_KIND_BAD,      KB_KIND_BAG, KB_KIND_HASHSIFT,
                                         KB_KIND_SIFT, KB_KIND_ROOTSIFT, KB_KIND_BAD};
    enum { BITS = 32 };
    kb_box_pair boxes[BITS];
    int8_t weights[BITS * KB_SIFT_VALUES];
    int32_t bias[BITS];
    if (index >= (int)(sizeof kinds / sizeof *kinds)) return 0;
    kb_kind kind = kinds[index];
    for (int i = 0; i < BITS; i++) {
        boxes[i] = (kb_box_pair){0, (uint8_t)(5 + i % 16), 9, 3, 0, 12, (uint8_t)(8 + i % 16), 3, (float)i - 7.5f};
        uint8_t channel = (uint8_t)(1 + i % (KB_CHANNELS - 1)), at = (uint8_t)(3 + 2 * (i % 13));
        uint8_t near = (uint8_t)(3 + 2 * (i % 6));
        if (kind == KB_KIND_BAG) boxes[i] = (kb_box_pair){channel, near, 9, 3, channel, 8, 8, 8, (float)i / 16 - 1};
        if (index == 6) boxes[i] = (kb_box_pair){0, at, 9, 3, 0, 12, 24, 8, (float)i - 7.5f};
        bias[i] = 1000 * i - 7000;
    }
    for (int i = 0; i < BITS * KB_SIFT_VALUES; i++) weights[i] = (int8_t)(i * 37 % 255 - 127);
    kb_model_spec spec;
    KB_INIT(spec);
    spec.kind = kind;
    spec.sampler = index == 1 ? KB_SAMPLER_IMAGE : index == 6 ? KB_SAMPLER_CELLS : KB_SAMPLER_PATCH;
    if (kind == KB_KIND_BAG) spec.sampler = KB_SAMPLER_OCTAVES;
    spec.bits = kind == KB_KIND_SIFT || kind == KB_KIND_ROOTSIFT ? 0 : BITS;
    spec.name = "seed";
    spec.text = "made for fuzzing";
    if (kind == KB_KIND_BAD || kind == KB_KIND_BAG) spec.boxes = boxes;
    if (kind == KB_KIND_HASHSIFT) spec.weights = weights, spec.bias = bias;
    kb_model *model = NULL;
    size_t size = 0;
    fuzz_expect(kb_model_create(&spec, NULL, &model, NULL) == KB_OK);
    fuzz_expect(kb_model_save(model, buffer, capacity, &size) == KB_OK);
    uint8_t sum[4];
    memcpy(sum, buffer + size - 4, 4);
    put_checksum(buffer, size);
    fuzz_expect(memcmp(sum, buffer + size - 4, 4) == 0); /* it is the library's */
    kb_model_free(model);
    return size;
}
