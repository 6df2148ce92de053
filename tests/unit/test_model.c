/* SPDX-License-Identifier: Apache-2.0 */
/* Models: what is refused, that files come back as they were, and that no damage goes unnoticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>

#include <cmocka.h>

#include "model/model.h"
#include "render.h"

static uint8_t *saved(const kb_model *model, size_t *size)
{
    assert_int_equal(kb_model_save(model, NULL, 0, size), KB_OK);
    uint8_t *file = malloc(*size);
    assert_non_null(file);
    assert_int_equal(kb_model_save(model, file, *size - 1, size), KB_E_SPACE);
    assert_int_equal(kb_model_save(model, file, *size, size), KB_OK);
    return file;
}

static void expect_round_trip(kb_model *model)
{
    size_t size, size2;
    uint8_t *file = saved(model, &size);
    kb_model *again = NULL;
    kb_error error;
    assert_int_equal(kb_model_load(file, size, NULL, &again, &error), KB_OK);
    uint8_t *file2 = saved(again, &size2);
    assert_int_equal(size, size2);
    assert_memory_equal(file, file2, size);
    kb_model_info a, b;
    KB_INIT(a);
    KB_INIT(b);
    assert_int_equal(kb_model_get_info(model, &a), KB_OK);
    assert_int_equal(kb_model_get_info(again, &b), KB_OK);
    assert_true(a.id == b.id && a.row_bytes == b.row_bytes && a.channels == b.channels &&
                a.distinct_boxes == b.distinct_boxes);
    assert_string_equal(a.spec->name, b.spec->name);
    assert_string_equal(a.spec->text, b.spec->text);
    free(file);
    free(file2);
    kb_model_free(again);
    kb_model_free(model);
}

static void files_come_back(void **state)
{
    (void)state;
    expect_round_trip(render_box_model(KB_KIND_BAD, KB_SAMPLER_IMAGE, 256, false, 1));
    expect_round_trip(render_box_model(KB_KIND_BAD, KB_SAMPLER_PATCH, 8, true, 2));
    expect_round_trip(render_box_model(KB_KIND_BAD, KB_SAMPLER_CELLS, 16, true, 5));
    expect_round_trip(render_box_model(KB_KIND_BAG, KB_SAMPLER_OCTAVES, 1024, true, 3));
    expect_round_trip(render_box_model(KB_KIND_BAG, KB_SAMPLER_OCTAVES, 32, true, 6));
    expect_round_trip(render_hash_model(512, 4));
    expect_round_trip(builtin_model("sift"));
    expect_round_trip(builtin_model("rootsift"));
}

static void every_damage_is_noticed(void **state)
{
    (void)state;
    kb_model *model = render_box_model(KB_KIND_BAG, KB_SAMPLER_OCTAVES, 32, true, 5), *out = NULL;
    size_t size;
    uint8_t *file = saved(model, &size);
    kb_error error;
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *part = malloc(cut ? cut : 1); /* so that reading past the end is seen by the sanitizer */
        memcpy(part, file, cut);
        assert_int_not_equal(kb_model_load(part, cut, NULL, &out, &error), KB_OK);
        assert_true(error.text[0]);
        free(part);
    }
    for (size_t i = 0; i < size; i++)
        for (int bit = 0; bit < 8; bit++) {
            file[i] ^= (uint8_t)(1 << bit);
            assert_int_not_equal(kb_model_load(file, size, NULL, &out, &error), KB_OK);
            file[i] ^= (uint8_t)(1 << bit);
        }
    uint8_t *longer = calloc(1, size + 1);
    memcpy(longer, file, size);
    assert_int_equal(kb_model_load(longer, size + 1, NULL, &out, &error), KB_E_FORMAT);
    file[0] = 'x';
    assert_int_equal(kb_model_load(file, size, NULL, &out, &error), KB_E_FORMAT);
    assert_int_equal(kb_model_load(NULL, 9, NULL, &out, NULL), KB_E_ARGUMENT);
    free(longer);
    free(file);
    kb_model_free(model);
}

/* A file with a right checksum but impossible content, as a hostile maker would write it. */
static kb_status load_forged(const uint8_t *file, size_t size, size_t at, uint8_t value)
{
    uint8_t *forged = malloc(size);
    memcpy(forged, file, size);
    forged[at] = value;
    uint32_t crc = ~0u;
    for (size_t i = 0; i < size - 4; i++) {
        crc ^= forged[i];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    crc = ~crc;
    for (int i = 0; i < 4; i++) forged[size - 4 + (size_t)i] = (uint8_t)(crc >> (8 * i));
    kb_model *out = NULL;
    kb_status status = kb_model_load(forged, size, NULL, &out, NULL);
    if (status == KB_OK) kb_model_free(out);
    free(forged);
    return status;
}

static void forged_files_never_crash(void **state)
{
    (void)state;
    kb_model *models[] = {render_box_model(KB_KIND_BAD, KB_SAMPLER_PATCH, 8, false, 6), render_hash_model(8, 7)};
    for (size_t m = 0; m < 2; m++) {
        size_t size;
        uint8_t *file = saved(models[m], &size);
        for (size_t at = 0; at < size - 4; at++)
            for (int value = 0; value < 256; value += 15) load_forged(file, size, at, (uint8_t)value);
        assert_int_equal(load_forged(file, size, 8, 2), KB_E_FORMAT);  /* a newer version */
        assert_int_equal(load_forged(file, size, 28, 2), KB_E_FORMAT); /* an unknown flag */
        assert_int_equal(load_forged(file, size, 20, 16), KB_E_TABLE); /* more bits than rows */
        file[25] = file[26] = file[24] = 0;
        assert_int_equal(load_forged(file, size, 27, 0),
                         KB_E_TABLE); /* a support of 0 means the default only in a spec */
        free(file);
        kb_model_free(models[m]);
    }
}

static void refuses(kb_model_spec spec, kb_status expected)
{
    kb_model *out = NULL;
    kb_error error;
    assert_int_equal(kb_model_create(&spec, NULL, &out, &error), expected);
    assert_true(error.text[0]);
    assert_null(out);
}

static void impossible_tables_are_refused(void **state)
{
    (void)state;
    kb_box_pair good[8];
    for (int i = 0; i < 8; i++) good[i] = (kb_box_pair){0, 10, 10, 3, 0, 20, 20, 3, 1.5f};
    kb_model_spec spec = {.struct_size = sizeof spec, .kind = KB_KIND_BAD, .bits = 8, .name = "x", .boxes = good};
    kb_model *model = NULL;
    assert_int_equal(kb_model_create(&spec, NULL, &model, NULL), KB_OK);
    kb_model_free(model);

    kb_model_spec s = spec;
    s.struct_size = 0, refuses(s, KB_E_STRUCT);
    s = spec, s.bits = 12, refuses(s, KB_E_TABLE);
    s = spec, s.bits = 0, refuses(s, KB_E_TABLE);
    s = spec, s.bits = 1032, refuses(s, KB_E_TABLE);
    s = spec, s.kind = (kb_kind)0, refuses(s, KB_E_TABLE);
    s = spec, s.support = -1, refuses(s, KB_E_TABLE);
    s = spec, s.threshold_low = -1, s.threshold_high = 3, refuses(s, KB_E_TABLE);
    s = spec, s.threshold_low = 5, s.threshold_high = 3, refuses(s, KB_E_TABLE);
    s = spec, s.threshold_high = s.bits + 1, refuses(s, KB_E_TABLE);
    s = spec, s.ratio = -0.1f, refuses(s, KB_E_TABLE);
    s = spec, s.ratio = 1.5f, refuses(s, KB_E_TABLE);
    s = spec, s.ratio = NAN, refuses(s, KB_E_TABLE);
    s = spec, s.sift_support = 0.05f, refuses(s, KB_E_TABLE);
    s = spec, s.sift_support = NAN, refuses(s, KB_E_TABLE);
    s = spec, s.name = "", refuses(s, KB_E_TABLE);
    s = spec, s.name = "a\nb", refuses(s, KB_E_TABLE);
    s = spec, s.name = NULL, refuses(s, KB_E_TABLE);
    static char long_text[65537];
    memset(long_text, 'a', sizeof long_text - 1);
    s = spec, s.text = long_text, refuses(s, KB_E_TABLE);
    s = spec, s.boxes = NULL, refuses(s, KB_E_ARGUMENT);
    s = spec, s.kind = KB_KIND_HASHSIFT, refuses(s, KB_E_ARGUMENT);
    s = spec, s.kind = KB_KIND_BAG, s.sampler = KB_SAMPLER_IMAGE, refuses(s, KB_E_TABLE);
    s = spec, s.kind = KB_KIND_BAG, s.sampler = KB_SAMPLER_CELLS, refuses(s, KB_E_TABLE);
    s = spec, s.sampler = (kb_sampler)4, refuses(s, KB_E_TABLE);
    s = spec, s.sampler = (kb_sampler)-1, refuses(s, KB_E_TABLE);
    s = spec, s.sampler = KB_SAMPLER_OCTAVES, refuses(s, KB_E_TABLE); /* of BAG alone */
    s = spec, s.sampler = KB_SAMPLER_CELLS, refuses(s, KB_E_TABLE); /* its boxes are on samples */

    kb_box_pair bad[8];
    s = spec, s.boxes = bad;
    static const kb_box_pair wrong[] = {
        {1, 10, 10, 3, 0, 20, 20, 3, 0},      {0, 2, 10, 3, 0, 20, 20, 3, 0},    {0, 10, 10, 3, 0, 20, 29, 3, 0},
        {0, 10, 10, 8, 0, 20, 20, 3, 0},      {0, 255, 10, 0, 0, 20, 20, 3, 0},  {0, 10, 10, 3, 0, 20, 20, 3, 1e9f},
        {0, 10, 10, 3, 0, 20, 20, 3, (float)NAN},
    };
    for (size_t i = 0; i < KBI_COUNT(wrong); i++) {
        memcpy(bad, good, sizeof bad);
        bad[5] = wrong[i];
        refuses(s, KB_E_TABLE);
    }
    kb_box_pair gray[8]; /* BAD on cells: edges on them */
    kb_model_spec g = spec;
    g.sampler = KB_SAMPLER_CELLS, g.boxes = gray;
    for (int i = 0; i < 8; i++) gray[i] = (kb_box_pair){0, 9, 9, 3, 0, 24, 24, 8, 100};
    assert_int_equal(kb_model_create(&g, NULL, &model, NULL), KB_OK);
    kb_model_free(model);
    static const kb_box_pair not_cells[] = {{0, 10, 9, 3, 0, 24, 24, 8, 0}, {0, 9, 9, 3, 0, 24, 25, 8, 0},
                                            {0, 9, 9, 0, 0, 24, 24, 8, 0},  {0, 9, 9, 3, 0, 16, 16, 9, 0},
                                            {0, 9, 9, 3, 0, 26, 24, 8, 0},  {0, 9, 9, 3, 0, 24, 24, 8, 257}};
    for (size_t i = 0; i < KBI_COUNT(not_cells); i++) {
        gray[5] = not_cells[i];
        refuses(g, KB_E_TABLE);
    }
    memcpy(bad, good, sizeof bad);
    bad[7].radius2 = 2;
    s.sampler = KB_SAMPLER_IMAGE, refuses(s, KB_E_TABLE);
    /* whatever the reason, a handle that was not given is NULL, so that freeing it is safe */
    kb_model *const stale = (kb_model *)&spec;
    model = stale, assert_int_equal(kb_model_create(NULL, NULL, &model, NULL), KB_E_ARGUMENT), assert_null(model);
    model = stale, assert_int_equal(kb_model_load("", 0, NULL, &model, NULL), KB_E_FORMAT), assert_null(model);
    model = stale, assert_int_equal(kb_model_builtin("nobody", NULL, &model), KB_E_UNKNOWN), assert_null(model);
    assert_int_equal(kb_model_create(&spec, NULL, NULL, NULL), KB_E_ARGUMENT);
}

static void refuses_field(const kb_model_spec *spec, const char *field, int32_t row)
{
    kb_model *out = NULL;
    kb_error error;
    assert_int_equal(kb_model_create(spec, NULL, &out, &error), KB_E_TABLE);
    assert_null(out);
    assert_string_equal(error.field, field);
    assert_int_equal(error.row, row);
}

/* BAG: octaves, as many bits in each, gradient channels, edges on cells of 16x16 samples, thresholds up to 2. */
static void impossible_octaves_are_refused(void **state)
{
    (void)state;
    enum { BITS = 64 };
    kb_box_pair boxes[BITS];
    kb_model_spec spec = {.struct_size = sizeof spec, .kind = KB_KIND_BAG, .sampler = KB_SAMPLER_OCTAVES, .bits = BITS,
                          .name = "x", .boxes = boxes};
    kb_model *model = NULL;
    for (int i = 0; i < BITS; i++) boxes[i] = (kb_box_pair){1, 9, 9, 3, 8, 8, 8, 8, 1.5f};
    boxes[1] = (kb_box_pair){2, 1, 15, 1, 7, 15, 1, 1, -2}, boxes[63] = (kb_box_pair){4, 13, 3, 3, 5, 9, 9, 7, 2};
    assert_int_equal(kb_model_create(&spec, NULL, &model, NULL), KB_OK);
    kb_model_free(model);
    static const kb_sampler samplers[] = {KB_SAMPLER_PATCH, KB_SAMPLER_IMAGE, KB_SAMPLER_CELLS, (kb_sampler)4};
    for (size_t i = 0; i < KBI_COUNT(samplers); i++) {
        kb_model_spec s = spec;
        s.sampler = samplers[i], refuses_field(&s, "sampler", -1);
    }
    static const kb_kind kinds[] = {KB_KIND_BAD, KB_KIND_HASHSIFT, KB_KIND_SIFT, KB_KIND_ROOTSIFT};
    for (size_t i = 0; i < KBI_COUNT(kinds); i++) {
        kb_model_spec s = spec;
        s.kind = kinds[i], refuses_field(&s, "sampler", -1);
    }
    for (int32_t bits = 0; bits < BITS; bits++) {
        kb_model_spec s = spec;
        s.bits = bits;
        if (bits != 32) refuses_field(&s, "bits", -1);
    }
    static const kb_box_pair wrong[] = {
        {0, 9, 9, 3, 8, 8, 8, 8, 0},   {9, 9, 9, 3, 8, 8, 8, 8, 0},    {1, 9, 9, 3, 0, 8, 8, 8, 0}, /* channels */
        {1, 10, 9, 3, 8, 8, 8, 8, 0},  {1, 9, 8, 3, 8, 8, 8, 8, 0},    /* not on cells */
        {1, 9, 9, 0, 8, 8, 8, 8, 0},   {1, 9, 9, 3, 8, 9, 9, 9, 0},    /* radii */
        {1, 15, 9, 3, 8, 8, 8, 8, 0},  {1, 9, 15, 3, 8, 8, 8, 8, 0},   {1, 1, 9, 3, 8, 8, 8, 8, 0}, /* beyond 16 */
        {1, 9, 9, 3, 8, 10, 8, 8, 0},  {1, 9, 9, 3, 8, 24, 24, 8, 0},  {1, 17, 17, 1, 8, 8, 8, 8, 0},
        {1, 9, 9, 3, 8, 8, 255, 8, 0}, {1, 9, 9, 3, 8, 8, 8, 8, 2.5f}, {1, 9, 9, 3, 8, 8, 8, 8, (float)NAN}};
    for (size_t i = 0; i < KBI_COUNT(wrong); i++)
        for (int32_t bit = 5; bit < BITS; bit += 8) { /* in every octave, twice */
            kb_box_pair good = boxes[bit];
            boxes[bit] = wrong[i];
            refuses_field(&spec, "boxes", bit);
            boxes[bit] = good;
        }
}

/* What a model keeps for describing are the boxes and bits of the table as given, each in its octave. */
static void tables_hold_the_boxes_of_their_octave(void **state)
{
    (void)state;
    kb_model *models[] = {render_box_model(KB_KIND_BAG, KB_SAMPLER_OCTAVES, 1024, true, 8),
                          render_box_model(KB_KIND_BAG, KB_SAMPLER_OCTAVES, 32, true, 9),
                          render_box_model(KB_KIND_BAD, KB_SAMPLER_CELLS, 1024, true, 10),
                          render_box_model(KB_KIND_BAD, KB_SAMPLER_PATCH, 8, true, 11)};
    for (size_t m = 0; m < KBI_COUNT(models); m++) {
        const kb_model *model = models[m];
        bool bag = model->spec.kind == KB_KIND_BAG;
        int32_t distinct = 0, part = model->spec.bits / model->grid.octaves;
        assert_int_equal(model->grid.octaves, bag ? KB_OCTAVES : 1);
        for (int32_t k = 0; k < model->grid.octaves; k++) {
            const kbi_box_table *table = &model->tables[k];
            assert_int_equal(table->bit_count, part);
            assert_int_equal(table->grid.side, model->spec.sampler == KB_SAMPLER_PATCH ? 32 : 16);
            assert_int_equal(table->grid.octaves, bag ? 4 : 1);
            for (int32_t i = 0; i < part; i++) {
                const kb_box_pair *p = &model->spec.boxes[(i / 8 * model->grid.octaves + k) * 8 + i % 8];
                kbi_box a = table->boxes[table->bits[i].box1], b = table->boxes[table->bits[i].box2];
                assert_true(a.channel == p->channel1 && a.x == p->x1 && a.y == p->y1 && a.radius == p->radius1);
                assert_true(b.channel == p->channel2 && b.x == p->x2 && b.y == p->y2 && b.radius == p->radius2);
                double threshold = (double)p->threshold * kbi_threshold_units(model->spec.kind);
                assert_true(table->bits[i].threshold <= threshold && table->bits[i].threshold > threshold - 1);
            }
            /* every box begins and ends once, and the lists end */
            for (int32_t list = 0; list < 2; list++) {
                const kbi_box_edge *edges = list ? table->bottoms : table->tops;
                uint8_t seen[2 * KB_MAX_BITS] = {0};
                assert_int_equal(edges[table->box_count].row, KBI_NO_ROW);
                for (int32_t i = 0; i < table->box_count; i++) {
                    assert_true(edges[i].box < table->box_count && !seen[edges[i].box]++);
                    assert_true(edges[i].row < table->grid.side && (i == 0 || edges[i].row >= edges[i - 1].row));
                }
            }
            distinct += table->box_count;
        }
        kb_model_info info;
        KB_INIT(info);
        assert_int_equal(kb_model_get_info(model, &info), KB_OK);
        assert_int_equal(info.distinct_boxes, distinct);
        kb_model_free(models[m]);
    }
}

static void the_id_names_the_bits(void **state)
{
    (void)state;
    kb_box_pair boxes[8];
    for (int i = 0; i < 8; i++) boxes[i] = (kb_box_pair){0, 10, 10, 3, 0, 20, 20, 3, 1.5f};
    kb_model_spec spec = {
        .struct_size = sizeof spec, .kind = KB_KIND_BAD, .bits = 8, .name = "one", .text = "a", .boxes = boxes};
    uint64_t id[5];
    for (int i = 0; i < 5; i++) {
        if (i == 1) spec.name = "two", spec.text = "b";
        if (i == 2) spec.support = 1.25f;
        if (i == 3) spec.support = 0, boxes[3].x1 = 11;
        if (i == 4) boxes[3].x1 = 10, spec.sift_support = 2;
        kb_model *model = NULL;
        kb_model_info info;
        KB_INIT(info);
        assert_int_equal(kb_model_create(&spec, NULL, &model, NULL), KB_OK);
        assert_int_equal(kb_model_get_info(model, &info), KB_OK);
        id[i] = info.id;
        kb_model_free(model);
    }
    assert_true(id[0] == id[1] && id[0] != id[2] && id[0] != id[3] && id[2] != id[3]);
    assert_true(id[4] != id[0] && id[4] != id[2] && id[4] != id[3]);
}

/* Keypoints of SIFT detectors have a region of their own, which the file keeps. */
static void sift_keypoints_have_their_support(void **state)
{
    (void)state;
    kb_box_pair boxes[8];
    for (int i = 0; i < 8; i++) boxes[i] = (kb_box_pair){0, 10, 10, 3, 0, 20, 20, 3, 1.5f};
    kb_model_spec spec = {.struct_size = sizeof spec, .kind = KB_KIND_BAD, .bits = 8, .name = "x", .boxes = boxes};
    kb_model *plain = NULL, *wide = NULL, *loaded = NULL;
    spec.support = 1.5f;
    assert_int_equal(kb_model_create(&spec, NULL, &plain, NULL), KB_OK);
    spec.sift_support = 3;
    assert_int_equal(kb_model_create(&spec, NULL, &wide, NULL), KB_OK);
    size_t size;
    uint8_t *file = saved(wide, &size);
    assert_int_equal(kb_model_load(file, size, NULL, &loaded, NULL), KB_OK);
    free(file);
    assert_true(kb_model_scale(plain, "sift") == 6.75f && kb_model_scale(plain, "orb") == 1);
    assert_true(kb_model_scale(wide, "SIFT") == 13.5f && kb_model_scale(loaded, "sift") == 13.5f);
    assert_true(kb_model_scale(wide, "orb") == 1 && kb_model_scale(wide, "akaze") == 5);
    assert_true(kb_model_scale(wide, "none") == 0 && kb_model_scale(wide, NULL) == 0 &&
                kb_model_scale(NULL, "orb") == 1);
    kb_model_free(plain);
    kb_model_free(wide);
    kb_model_free(loaded);
}

static uint64_t id_of(const kb_model *model)
{
    kb_model_info info;
    KB_INIT(info);
    assert_int_equal(kb_model_get_info(model, &info), KB_OK);
    return info.id;
}

/* All revisions of the arithmetic are 0, and 0 leaves the ids of models from before there were revisions. */
static void the_id_covers_the_revision_of_the_arithmetic(void **state)
{
    (void)state;
    kb_model *models[] = {render_box_model(KB_KIND_BAD, KB_SAMPLER_CELLS, 64, false, 1), render_hash_model(64, 2), NULL,
                          NULL, render_box_model(KB_KIND_BAG, KB_SAMPLER_OCTAVES, 64, false, 3)};
    assert_int_equal(kb_model_builtin("sift", NULL, &models[2]), KB_OK);
    assert_int_equal(kb_model_builtin("rootsift", NULL, &models[3]), KB_OK);
    for (size_t i = 0; i < KBI_COUNT(models); i++) {
        const kb_model_spec *spec = &models[i]->spec;
        assert_int_equal(kbi_kind_of(spec->kind)->revision[spec->sampler], 0);
        assert_true(kbi_model_id(spec, 0) == id_of(models[i]));
        assert_true(kbi_model_id(spec, 1) != id_of(models[i]) && kbi_model_id(spec, 2) != id_of(models[i]));
        assert_true(kbi_model_id(spec, 1) != kbi_model_id(spec, 2));
    }
    assert_true(id_of(models[2]) == 0x232b2169f51affec);
    assert_true(id_of(models[3]) == 0xc22985dee7c95f3d);
    for (size_t i = 0; i < KBI_COUNT(models); i++) kb_model_free(models[i]);
}

/* Programs read which field and row is wrong, not the sentence. */
static void errors_name_field_and_row(void **state)
{
    (void)state;
    kb_box_pair boxes[8];
    for (int i = 0; i < 8; i++) boxes[i] = (kb_box_pair){0, 10, 10, 3, 0, 20, 20, 3, 1.5f};
    kb_model_spec spec = {.struct_size = sizeof spec, .kind = KB_KIND_BAD, .bits = 8, .name = "x", .boxes = boxes};
    kb_model *model;
    kb_error error;
    memset(&error, 0x55, sizeof error);
    assert_int_equal(kb_model_create(&spec, NULL, &model, &error), KB_OK);
    assert_true(error.text[0] == 0 && error.field[0] == 0 && error.row == -1);
    kb_model_free(model);
    boxes[5].radius2 = 8;
    assert_int_equal(kb_model_create(&spec, NULL, &model, &error), KB_E_TABLE);
    assert_string_equal(error.field, "boxes");
    assert_int_equal(error.row, 5);
    spec.support = 11;
    assert_int_equal(kb_model_create(&spec, NULL, &model, &error), KB_E_TABLE);
    assert_string_equal(error.field, "support");
    assert_int_equal(error.row, -1);
    assert_int_equal(kb_model_load("no model", 8, NULL, &model, &error), KB_E_FORMAT);
    assert_true(error.text[0] != 0 && error.field[0] == 0 && error.row == -1);
}

static void boxes_are_counted_once(void **state)
{
    (void)state;
    /* Three boxes in every octave, and in the last the same box for all: once in each. */
    kb_box_pair boxes[32];
    for (int i = 0; i < 32; i++) boxes[i] = (kb_box_pair){1, 9, 9, 3, (uint8_t)(1 + (i & 1)), 11, 13, 3, 1.5f};
    for (int i = 24; i < 32; i++) boxes[i] = (kb_box_pair){1, 9, 9, 3, 1, 9, 9, 3, 1.5f};
    kb_model_spec spec = {.struct_size = sizeof spec, .kind = KB_KIND_BAG, .sampler = KB_SAMPLER_OCTAVES, .bits = 32,
                          .name = "x", .boxes = boxes};
    kb_model *model = NULL;
    kb_model_info info;
    KB_INIT(info);
    assert_int_equal(kb_model_create(&spec, NULL, &model, NULL), KB_OK);
    assert_int_equal(kb_model_get_info(model, &info), KB_OK);
    assert_int_equal(info.distinct_boxes, 3 * 3 + 1);
    assert_int_equal(info.channels, 6);
    assert_int_equal(info.row_bytes, 4);
    assert_int_equal(info.threshold_low, 0); /* nobody has measured it */
    assert_true(info.ratio == 0);
    uint64_t id = info.id;
    kb_model_free(model);

    spec.threshold_low = 2, spec.threshold_high = 5, spec.ratio = 0.85f; /* the file keeps them; they are no part of the id */
    assert_int_equal(kb_model_create(&spec, NULL, &model, NULL), KB_OK);
    uint8_t file[1024];
    size_t size;
    assert_int_equal(kb_model_save(model, file, sizeof file, &size), KB_OK);
    kb_model_free(model);
    assert_int_equal(kb_model_load(file, size, NULL, &model, NULL), KB_OK);
    assert_int_equal(kb_model_get_info(model, &info), KB_OK);
    assert_int_equal(info.threshold_low, 2);
    assert_int_equal(info.threshold_high, 5);
    assert_true(info.ratio == 0.85f);
    assert_true(info.id == id);
    kb_model_free(model);
}

static void names_of_built_in_models(void **state)
{
    (void)state;
    kb_model *model = NULL;
    assert_int_equal(kb_model_builtin("nonsense", NULL, &model), KB_E_UNKNOWN);
    assert_int_equal(kb_model_builtin(NULL, NULL, &model), KB_E_ARGUMENT);
    int found = 0;
    for (int32_t i = 0; kb_name(KB_NAMES_MODEL, i); i++, found++) {
        kb_status status = kb_model_builtin(kb_name(KB_NAMES_MODEL, i), NULL, &model);
        assert_int_equal(status, KB_OK);
        if (status == KB_OK) {
            kb_model_info info;
            KB_INIT(info);
            assert_int_equal(kb_model_get_info(model, &info), KB_OK);
            assert_string_equal(info.spec->name, kb_name(KB_NAMES_MODEL, i));
            /* a built-in binary model knows its thresholds and its ratio */
            bool binary = info.spec->bits > 0;
            assert_int_equal(info.threshold_low > info.spec->bits / 8 && info.threshold_low < info.threshold_high, binary);
            assert_int_equal(info.threshold_high < info.spec->bits / 2, binary);
            if (!binary) assert_int_equal(info.threshold_high, 0);
            assert_int_equal(info.ratio > 0.5f && info.ratio < 1, binary);
            kb_model_free(model);
        }
    }
    assert_true(found >= 8);
    assert_null(kb_name(KB_NAMES_MODEL, -1));
    kb_model_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_come_back),         cmocka_unit_test(every_damage_is_noticed),
        cmocka_unit_test(forged_files_never_crash), cmocka_unit_test(impossible_tables_are_refused),
        cmocka_unit_test(impossible_octaves_are_refused), cmocka_unit_test(tables_hold_the_boxes_of_their_octave),
        cmocka_unit_test(the_id_covers_the_revision_of_the_arithmetic),
        cmocka_unit_test(errors_name_field_and_row),
        cmocka_unit_test(the_id_names_the_bits), cmocka_unit_test(sift_keypoints_have_their_support),   cmocka_unit_test(boxes_are_counted_once),
        cmocka_unit_test(names_of_built_in_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
