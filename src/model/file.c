/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per image, file or model. */
/* The model file (docs/model-format.md): little endian, a header of 52 bytes, name, text, table, and a CRC-32 at the
 * end. */
#include "common/bytes.h"
#include "model/model.h"

#define HEADER 52
static const kbi_file_kind model_file = {"model file", {0x8b, 'K', 'B', 'M', '\r', '\n', 0x1a, '\n'}, 1, HEADER + 4};

/* The CRC-32 of zlib and PNG, bit by bit: model files are small. */
static uint32_t crc32_of(const uint8_t *data, size_t size)
{
    uint32_t crc = ~0u;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

/* ---- table ---- */

static size_t table_bytes(kb_kind kind, int32_t bits)
{
    return kbi_kind_of(kind)->table_row * (size_t)bits;
}

size_t kbi_table_row_write(const kb_model_spec *spec, int32_t bit, uint8_t *to)
{
    if (kbi_kind_of(spec->kind)->table_row == 0) return 0;
    if (!kbi_kind_has_boxes(spec->kind)) {
        kbi_put_u32(to, (uint32_t)spec->bias[bit]);
        memcpy(to + 4, spec->weights + (size_t)bit * KB_SIFT_VALUES, KB_SIFT_VALUES);
        return KBI_PROJECTION_ROW;
    }
    const kb_box_pair *p = &spec->boxes[bit];
    const uint8_t row[8] = {p->channel1, p->x1, p->y1, p->radius1, p->channel2, p->x2, p->y2, p->radius2};
    memcpy(to, row, 8);
    kbi_put_f32(to + 8, p->threshold);
    return KBI_BOX_ROW;
}

/* Reads the table into freshly allocated arrays of spec; false when memory is out. */
static bool read_table(kb_model_spec *spec, const uint8_t *from, const kb_allocator *allocator)
{
    size_t bits = (size_t)spec->bits;
    if (kbi_kind_has_boxes(spec->kind)) {
        kb_box_pair *boxes = kbi_allocate(allocator, bits * sizeof *boxes);
        spec->boxes = boxes;
        if (!boxes) return false;
        for (size_t i = 0; i < bits; i++, from += KBI_BOX_ROW)
            boxes[i] = (kb_box_pair){from[0], from[1], from[2], from[3],          from[4],
                                     from[5], from[6], from[7], kbi_get_f32(from + 8)};
    } else if (spec->kind == KB_KIND_HASHSIFT) {
        int8_t *weights = kbi_allocate(allocator, bits * KB_SIFT_VALUES);
        int32_t *bias = kbi_allocate(allocator, bits * sizeof *bias);
        spec->weights = weights;
        spec->bias = bias;
        if (!weights || !bias) return false;
        for (size_t i = 0; i < bits; i++, from += KBI_PROJECTION_ROW) {
            bias[i] = (int32_t)kbi_get_u32(from);
            memcpy(weights + i * KB_SIFT_VALUES, from + 4, KB_SIFT_VALUES);
        }
    }
    return true;
}

/* ---- saving and loading ---- */

kb_status kb_model_save(const kb_model *model, void *buffer, size_t capacity, size_t *size)
{
    if (!model || !size) return KB_E_ARGUMENT;
    const kb_model_spec *spec = &model->spec;
    size_t name = strlen(spec->name), text = strlen(spec->text), table = table_bytes(spec->kind, spec->bits);
    *size = HEADER + name + text + table + 4;
    if (!buffer) return KB_OK;
    if (capacity < *size) return KB_E_SPACE;

    uint8_t *to = buffer;
    memcpy(to, model_file.magic, 8);
    kbi_put_u32(to + 8, model_file.version);
    kbi_put_u32(to + 12, (uint32_t)spec->kind);
    kbi_put_u32(to + 16, (uint32_t)spec->sampler);
    kbi_put_u32(to + 20, (uint32_t)spec->bits);
    kbi_put_f32(to + 24, spec->support);
    kbi_put_u32(to + 28,
                (uint32_t)spec->root | (uint32_t)spec->threshold_low << 8 | (uint32_t)spec->threshold_high << 20);
    kbi_put_u32(to + 32, (uint32_t)name);
    kbi_put_u32(to + 36, (uint32_t)text);
    kbi_put_u32(to + 40, (uint32_t)table);
    kbi_put_f32(to + 44, spec->sift_support);
    kbi_put_f32(to + 48, spec->ratio);
    memcpy(to + HEADER, spec->name, name);
    memcpy(to + HEADER + name, spec->text, text);
    uint8_t *row = to + HEADER + name + text;
    for (int32_t i = 0; i < spec->bits; i++) row += kbi_table_row_write(spec, i, row);
    kbi_put_u32(to + *size - 4, crc32_of(to, *size - 4));
    return KB_OK;
}

/* Checks the header and then the checksum. */
static kb_status check_file(const uint8_t *data, size_t size, kb_error *error)
{
    kb_status status = kbi_head_check(&model_file, data, size, error);
    if (status != KB_OK) return status;
    uint64_t wanted = (uint64_t)HEADER + kbi_get_u32(data + 32) + kbi_get_u32(data + 36) + kbi_get_u32(data + 40) + 4;
    status = kbi_size_check(&model_file, size, wanted, error);
    if (status != KB_OK) return status;
    if (size > wanted)
        return kbi_fail(error, KB_E_FORMAT, "%llu bytes too many follow the model",
                        (unsigned long long)(size - wanted));
    if (kbi_get_u32(data + size - 4) == crc32_of(data, size - 4)) return KB_OK;
    return kbi_fail(error, KB_E_CHECKSUM, "the checksum does not agree: the file is damaged");
}

/* The fields of a file whose checksum is right; name and text are copied into `strings`. */
static kb_status read_fields(kb_model_spec *spec, const uint8_t *data, char *strings, kb_error *error)
{
    uint32_t name = kbi_get_u32(data + 32), text = kbi_get_u32(data + 36), table = kbi_get_u32(data + 40);
    memset(spec, 0, sizeof *spec);
    spec->struct_size = sizeof *spec;
    spec->kind = (kb_kind)kbi_get_u32(data + 12);
    spec->sampler = (kb_sampler)kbi_get_u32(data + 16);
    spec->bits = (int32_t)kbi_get_u32(data + 20);
    spec->support = kbi_get_f32(data + 24);
    if (spec->support == 0) /* which kb_model_create would take as "the default" */
        return kbi_fail_at(error, KB_E_TABLE, "support", -1, "support 0 is not between 0.1 and 10");
    spec->sift_support = kbi_get_f32(data + 44);
    if (data[28] > 1) return kbi_fail(error, KB_E_FORMAT, "the file uses flags that this library does not know");
    spec->root = data[28];
    spec->threshold_low = (int32_t)(kbi_get_u32(data + 28) >> 8 & 0xfff);
    spec->threshold_high = (int32_t)(kbi_get_u32(data + 28) >> 20);
    spec->ratio = kbi_get_f32(data + 48);
    if (!kbi_kind_of(spec->kind) || spec->bits < 0 || spec->bits > KB_MAX_BITS)
        return kbi_fail_at(error, KB_E_TABLE, "kind", -1, "kind %d with %d bits is not possible", (int)spec->kind,
                           (int)spec->bits);
    if (table != table_bytes(spec->kind, spec->bits))
        return kbi_fail(error, KB_E_TABLE, "the table has %u bytes, %d bits of %s need %zu", table, (int)spec->bits,
                       kbi_kind_name(spec->kind), table_bytes(spec->kind, spec->bits));
    memcpy(strings, data + HEADER, name);
    strings[name] = 0;
    memcpy(strings + name + 1, data + HEADER + name, text);
    strings[name + 1 + text] = 0;
    if (strlen(strings) != name || strlen(strings + name + 1) != text)
        return kbi_fail_at(error, KB_E_TABLE, "name", -1, "the name or text holds a zero byte");
    spec->name = strings;
    spec->text = strings + name + 1;
    return KB_OK;
}

kb_status kb_model_load(const void *data, size_t size, const kb_allocator *allocator, kb_model **out,
                             kb_error *error)
{
    kb_allocator from;
    kbi_error_clear(error);
    if (out) *out = NULL;
    if (!data || !out) return kbi_fail(error, KB_E_ARGUMENT, "a pointer is NULL");
    kb_status status = kbi_allocator_read(&from, allocator, error);
    if (status == KB_OK) status = check_file(data, size, error);
    if (status != KB_OK) return status;

    const uint8_t *bytes = data;
    size_t before_table = HEADER + (size_t)kbi_get_u32(bytes + 32) + kbi_get_u32(bytes + 36);
    char *strings = kbi_allocate(&from, before_table);
    if (!strings) return kbi_fail(error, KB_E_MEMORY, "out of memory");
    kb_model_spec spec;
    status = read_fields(&spec, bytes, strings, error);
    if (status == KB_OK) {
        if (read_table(&spec, bytes + before_table, &from))
            status = kb_model_create(&spec, &from, out, error);
        else
            status = kbi_fail(error, KB_E_MEMORY, "out of memory");
        kbi_deallocate(&from, spec.boxes);
        kbi_deallocate(&from, spec.weights);
        kbi_deallocate(&from, spec.bias);
    }
    kbi_deallocate(&from, strings);
    return status;
}

/* ---- the id: FNV-1a over everything that decides the bits of descriptors ---- */

static uint64_t hash_word(uint64_t hash, uint32_t w)
{
    const uint8_t bytes[4] = {(uint8_t)w, (uint8_t)(w >> 8), (uint8_t)(w >> 16), (uint8_t)(w >> 24)};
    return kbi_sum_bytes(hash, bytes, sizeof bytes);
}

uint64_t kbi_model_id(const kb_model_spec *spec, uint32_t revision)
{
    uint64_t hash = KBI_SUM_START;
    uint32_t support;
    memcpy(&support, &spec->support, sizeof support);
    hash = hash_word(hash, (uint32_t)spec->kind);
    hash = hash_word(hash, (uint32_t)spec->sampler);
    hash = hash_word(hash, (uint32_t)spec->bits);
    hash = hash_word(hash, support);
    hash = hash_word(hash, (uint32_t)spec->root);
    for (int32_t i = 0; i < spec->bits; i++) {
        uint8_t row[KBI_TABLE_ROW_MAX];
        hash = kbi_sum_bytes(hash, row, kbi_table_row_write(spec, i, row));
    }
    if (spec->sift_support != 0) { /* what belongs to keypoints of SIFT detectors; ids from before it stay */
        memcpy(&support, &spec->sift_support, sizeof support);
        hash = hash_word(hash, support);
    }
    return revision ? hash_word(hash, revision) : hash; /* ids from before there were revisions stay */
}
