/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per image, file or model. */
/* Models from tables: checks, and the boxes sorted for describing. */
#include <math.h>

#include "model/model.h"

float kb_model_scale(const kb_model *model, const char *preset)
{
    float scale = kbi_preset_scale(preset);
    if (!model || scale == 0 || model->spec.sift_support == 0 || !kbi_same_word(preset, "sift")) return scale;
    return scale * (model->spec.sift_support / model->spec.support);
}

/* ---- checks ---- */

static kb_status check_name(const char *name, kb_error *error)
{
    size_t length = name ? strlen(name) : 0;
    if (length < 1 || length > 63)
        return kbi_fail_at(error, KB_E_TABLE, "name", -1, "the name must have 1 to 63 bytes, not %zu", length);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] < 32 || name[i] == 127)
            return kbi_fail_at(error, KB_E_TABLE, "name", -1, "the name holds a control character");
    return KB_OK;
}

static kbi_box first_box(const kb_box_pair *p) { return (kbi_box){p->channel1, p->x1, p->y1, p->radius1}; }
static kbi_box second_box(const kb_box_pair *p) { return (kbi_box){p->channel2, p->x2, p->y2, p->radius2}; }

static kb_status check_box(const kb_model_spec *spec, int32_t bit, int which, kb_error *error)
{
    const kbi_box b = (which == 1 ? first_box : second_box)(&spec->boxes[bit]);
    kbi_grid grid = kbi_sampler_grid(spec->sampler);
    int min = kbi_min_radius(grid), max = kbi_max_radius(grid);
    if (b.channel >= KB_CHANNELS || (spec->kind == KB_KIND_BAD) != (b.channel == 0))
        return kbi_fail_at(error, KB_E_TABLE, "boxes", bit, "bit %d, box %d: no channel %d in this kind", bit, which,
                           b.channel);
    if (b.radius < min || b.radius > max)
        return kbi_fail_at(error, KB_E_TABLE, "boxes", bit, "bit %d, box %d: radius %d is not %d to %d", bit, which,
                           b.radius, min, max);
    if (!kbi_box_fits(b, grid))
        return kbi_fail_at(error, KB_E_TABLE, "boxes", bit, "bit %d, box %d: centre (%d, %d) with radius %d %s", bit,
                           which, b.x, b.y, b.radius,
                           !kbi_on_cells(grid) ? "leaves the patch"
                           : !kbi_has_octaves(grid)
                               ? "is not on the cells of a patch: x - radius and y - radius must be even"
                               : "is not on the cells of an octave: 0 to 16, x - radius and y - radius even");
    return KB_OK;
}

static kb_status check_boxes(const kb_model_spec *spec, kb_error *error)
{
    if (!spec->boxes) return kbi_fail_at(error, KB_E_ARGUMENT, "boxes", -1, "there are no boxes");
    for (int32_t i = 0; i < spec->bits; i++) {
        kb_status status = check_box(spec, i, 1, error);
        if (status == KB_OK) status = check_box(spec, i, 2, error);
        if (status != KB_OK) return status;
        float threshold = spec->boxes[i].threshold;
        double max = kbi_threshold_max(spec->kind);
        if (!((double)threshold >= -max && (double)threshold <= max))
            return kbi_fail_at(error, KB_E_TABLE, "boxes", i, "bit %d: threshold %g is not between -%g and %g", i,
                               (double)threshold, max, max);
        if (spec->sampler == KB_SAMPLER_IMAGE && spec->boxes[i].radius1 != spec->boxes[i].radius2)
            return kbi_fail_at(error, KB_E_TABLE, "boxes", i, "bit %d: the image sampler needs equal radii", i);
    }
    return KB_OK;
}

static kb_status check_projection(const kb_model_spec *spec, kb_error *error)
{
    if (!spec->weights) return kbi_fail_at(error, KB_E_ARGUMENT, "weights", -1, "there are no weights");
    if (!spec->bias) return kbi_fail_at(error, KB_E_ARGUMENT, "bias", -1, "there is no bias");
    for (int32_t i = 0; i < spec->bits; i++)
        if (spec->bias[i] < -(1 << 30) || spec->bias[i] > 1 << 30)
            return kbi_fail_at(error, KB_E_TABLE, "bias", i, "bit %d: bias %d is out of range", i, (int)spec->bias[i]);
    return KB_OK;
}

static kb_status check_sampler(const kb_model_spec *spec, kb_error *error)
{
    if ((uint32_t)spec->sampler < KBI_SAMPLERS && kbi_kind_of(spec->kind)->samplers >> spec->sampler & 1) return KB_OK;
    return kbi_fail_at(error, KB_E_TABLE, "sampler", -1, "sampler %d does not go with %s", (int)spec->sampler,
                       kbi_kind_name(spec->kind));
}

static kb_status check_spec(const kb_model_spec *spec, kb_error *error)
{
    if (!kbi_kind_of(spec->kind))
        return kbi_fail_at(error, KB_E_TABLE, "kind", -1, "no kind of model has the number %d", (int)spec->kind);
    if (!kbi_kind_built(spec->kind))
        return kbi_fail_at(error, KB_E_KIND, "kind", -1, "this build has BAD alone, not %s", kbi_kind_name(spec->kind));
    kb_status status = check_sampler(spec, error);
    if (status != KB_OK) return status;
    if (!(spec->support >= 0.1f && spec->support <= 10.0f))
        return kbi_fail_at(error, KB_E_TABLE, "support", -1, "support %g is not between 0.1 and 10",
                           (double)spec->support);
    if (spec->sift_support != 0 && !(spec->sift_support >= 0.1f && spec->sift_support <= 10.0f))
        return kbi_fail_at(error, KB_E_TABLE, "sift_support", -1, "SIFT support %g is not between 0.1 and 10",
                           (double)spec->sift_support);
    bool binary = kbi_kind_of(spec->kind)->binary;
    if (binary ? spec->bits < 8 || spec->bits > KB_MAX_BITS || spec->bits % 8 : spec->bits != 0)
        return kbi_fail_at(error, KB_E_TABLE, "bits", -1, "%d bits: %s", (int)spec->bits,
                           binary ? "must be a multiple of 8, from 8 to 1024"
                                  : "must be 0 for a kind that is not binary");
    if (spec->bits % (8 * kbi_octaves(spec->sampler)))
        return kbi_fail_at(error, KB_E_TABLE, "bits", -1,
                           "%d bits: %s has a multiple of 32: whole bytes of each octave", (int)spec->bits,
                           kbi_kind_name(spec->kind));
    if (spec->root != 0 && !(spec->root == 1 && spec->kind == KB_KIND_HASHSIFT))
        return kbi_fail_at(error, KB_E_TABLE, "root", -1, "root %d does not go with %s", (int)spec->root,
                           kbi_kind_name(spec->kind));
    if (spec->threshold_low < 0 || spec->threshold_high < spec->threshold_low || spec->threshold_high > spec->bits)
        return kbi_fail_at(error, KB_E_TABLE, "threshold_low", -1, "thresholds %d and %d are not distances of %d bits",
                           (int)spec->threshold_low, (int)spec->threshold_high, (int)spec->bits);
    if (!(spec->ratio >= 0 && spec->ratio <= 1) || (spec->ratio > 0 && !binary))
        return kbi_fail_at(error, KB_E_TABLE, "ratio", -1, "ratio %g does not go with %s: 0 to 1, for binary kinds",
                           (double)spec->ratio, kbi_kind_name(spec->kind));
    status = check_name(spec->name, error);
    if (status == KB_OK && spec->text && strlen(spec->text) > 65535)
        status = kbi_fail_at(error, KB_E_TABLE, "text", -1, "the text is longer than 65535 bytes");
    if (status == KB_OK && kbi_kind_has_boxes(spec->kind)) status = check_boxes(spec, error);
    if (status == KB_OK && spec->kind == KB_KIND_HASHSIFT) status = check_projection(spec, error);
    return status;
}

/* ---- boxes ---- */

/* Boxes are sorted by channel, radius, row and column. */
static uint32_t box_key(kbi_box b)
{
    return (uint32_t)b.channel << 24 | (uint32_t)b.radius << 16 | (uint32_t)b.y << 8 | b.x;
}

/* The first place among the sorted boxes of a table whose box is not before this one. */
static int32_t box_place(const kbi_box_table *table, kbi_box box)
{
    int32_t low = 0, high = table->box_count;
    while (low < high) {
        int32_t middle = (low + high) / 2;
        if (box_key(table->boxes[middle]) < box_key(box)) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Keeps the boxes sorted, each once. */
static void add_box(kbi_box_table *table, kbi_box box)
{
    int32_t place = box_place(table, box);
    kbi_box *at = table->boxes + place;
    if (place < table->box_count && box_key(*at) == box_key(box)) return;
    memmove(at + 1, at, (size_t)(table->box_count++ - place) * sizeof *at);
    *at = box;
}

kbi_mean_rule kbi_mean_rule_of(kbi_box box, kbi_grid grid)
{
    /* Values of a channel are sums over the four samples of a cell. Diagonal channels lack a factor of sqrt(2). */
    uint32_t across = kbi_on_cells(grid) ? box.radius : 2 * (uint32_t)box.radius + 1, one = 128 << 16, shift = 0;
    uint32_t samples = across * across * (kbi_has_octaves(grid) ? 4 : 1);
    if (kbi_has_octaves(grid)) one = kbi_is_diagonal(box.channel) ? 5931642 /* 64 sqrt(2) << 16 */ : 64 << 16;
    while (255 * samples << (shift + 1) <= UINT16_MAX) shift++;
    /* Rounded up, so that a box of 255s has the same mean whatever its size. */
    samples <<= shift;
    return (kbi_mean_rule){(uint8_t)shift, (uint16_t)((one + samples - 1) / samples)};
}

/* Lists the edges of all boxes by rows; returns the end of the list. */
static kbi_box_edge *list_edges(const kbi_box_table *table, bool bottom, kbi_box_edge *edge)
{
    for (int32_t row = 0; row < KB_PATCH_SIDE; row++)
        for (int32_t i = 0; i < table->box_count; i++) {
            kbi_box b = table->boxes[i];
            kbi_box_span span = kbi_box_span_of(b, table->grid);
            if ((bottom ? span.bottom - 1 : span.top) != row) continue;
            int32_t first = (b.channel ? b.channel - 1 : 0) * KBI_OCTAVE_SUMS_WIDTH;
            *edge++ = (kbi_box_edge){(uint16_t)(first + span.left), (uint16_t)(first + span.right), (uint16_t)i,
                                     (uint8_t)kbi_mean_rule_index(b), (uint8_t)row};
        }
    *edge++ = (kbi_box_edge){0, 0, 0, 0, KBI_NO_ROW};
    return edge;
}

static void list_boxes(const kb_model *model, int32_t octave, kbi_box_table *table)
{
    for (int32_t i = 0; i < table->bit_count; i++) {
        const kb_box_pair *pair = &model->spec.boxes[kbi_octave_bit(model->grid.octaves, octave, i)];
        add_box(table, first_box(pair));
        add_box(table, second_box(pair));
    }
    for (int32_t i = 0; i < table->box_count; i++) table->channel_start[table->boxes[i].channel + 1]++;
    for (int c = 0; c < KB_CHANNELS; c++) table->channel_start[c + 1] += table->channel_start[c];
}

/* The table of an octave, in its part of the model's memory. */
static void prepare_table(kb_model *model, int32_t octave)
{
    const kb_model_spec *spec = &model->spec;
    kbi_box_table *table = &model->tables[octave];
    int32_t count = spec->bits / model->grid.octaves, first = octave * count;
    table->grid = model->grid;
    table->bit_count = count;
    table->boxes = model->boxes + 2 * first;
    table->bits = model->bits + first;
    list_boxes(model, octave, table);
    for (const kbi_box *box = table->boxes; box < table->boxes + table->box_count; box++) {
        model->channels |= 1u << box->channel;
        table->rules[kbi_mean_rule_index(*box)] = kbi_mean_rule_of(*box, table->grid);
    }
    table->tops = model->edges + 2 * (2 * first + octave);
    table->bottoms = list_edges(table, false, table->tops);
    list_edges(table, true, table->bottoms);
    for (int32_t i = 0; i < count; i++) {
        const kb_box_pair *pair = &spec->boxes[kbi_octave_bit(model->grid.octaves, octave, i)];
        double threshold = floor((double)pair->threshold * kbi_threshold_units(spec->kind));
        table->bits[i] = (kbi_box_bit){(uint16_t)box_place(table, first_box(pair)),
                                       (uint16_t)box_place(table, second_box(pair)),
                                       (int16_t)(threshold > 32767 ? 32767 : threshold)};
    }
}

/* ---- projection ---- */

static void pack_projection(kb_model *model)
{
    const kb_model_spec *spec = &model->spec;
    int8_t *to = model->packed;
    for (int32_t group = 0; group < spec->bits; group += 8) {
        for (int32_t j = 0; j < KB_SIFT_VALUES; j += 4)
            for (int32_t k = 7; k >= 0; k--, to += 4) memcpy(to, spec->weights + (group + k) * KB_SIFT_VALUES + j, 4);
        for (int32_t k = 0; k < 8; k++) model->packed_bias[group + k] = spec->bias[group + 7 - k];
    }
}

/* ---- creation ---- */

static void *copy_of(const kb_allocator *allocator, const void *data, size_t bytes)
{
    void *copy = kbi_allocate(allocator, bytes);
    if (copy && bytes) memcpy(copy, data, bytes);
    return copy;
}

static bool copy_tables(kb_model *model, const kb_model_spec *given)
{
    kb_model_spec *spec = &model->spec;
    const kb_allocator *from = &model->allocator;
    size_t bits = (size_t)given->bits;
    const char *text = given->text ? given->text : "";
    spec->text = copy_of(from, text, strlen(text) + 1);
    if (!spec->text) return false;
    if (kbi_kind_has_boxes(spec->kind)) {
        spec->boxes = copy_of(from, given->boxes, bits * sizeof *given->boxes);
        model->boxes = kbi_allocate(from, 2 * bits * sizeof *model->boxes);
        model->bits = kbi_allocate(from, bits * sizeof *model->bits);
        model->edges = kbi_allocate(from, 2 * (2 * bits + KB_OCTAVES) * sizeof *model->edges);
        return spec->boxes && model->boxes && model->bits && model->edges;
    }
    if (spec->kind == KB_KIND_HASHSIFT) {
        spec->weights = copy_of(from, given->weights, bits * KB_SIFT_VALUES);
        spec->bias = copy_of(from, given->bias, bits * sizeof *given->bias);
        model->packed = kbi_allocate(from, bits * KB_SIFT_VALUES);
        model->packed_bias = kbi_allocate(from, bits * sizeof *model->packed_bias);
        return spec->weights && spec->bias && model->packed && model->packed_bias;
    }
    return true;
}

kb_status kb_model_create(const kb_model_spec *given, const kb_allocator *allocator, kb_model **out,
                               kb_error *error)
{
    kb_model_spec spec;
    kb_allocator from;
    kbi_error_clear(error);
    if (out) *out = NULL;
    if (!given || !out) return kbi_fail(error, KB_E_ARGUMENT, "a pointer is NULL");
    if (KBI_STRUCT_READ(kb_model_spec, &spec, given) != KB_OK) return kbi_fail_struct(error);
    if (spec.support == 0) spec.support = 1;
    kb_status status = kbi_allocator_read(&from, allocator, error);
    if (status == KB_OK) status = check_spec(&spec, error);
    if (status != KB_OK) return status;

    kb_model *model = kbi_allocate_zeros(&from, sizeof *model);
    if (!model) return kbi_fail(error, KB_E_MEMORY, "out of memory");
    model->allocator = from;
    model->spec = spec;
    model->spec.struct_size = sizeof spec;
    model->spec.text = NULL, model->spec.boxes = NULL, model->spec.weights = NULL, model->spec.bias = NULL;
    memcpy(model->name, spec.name, strlen(spec.name) + 1);
    model->spec.name = model->name;
    model->grid = kbi_sampler_grid(spec.sampler);
    if (!copy_tables(model, &spec)) {
        kb_model_free(model);
        return kbi_fail(error, KB_E_MEMORY, "out of memory");
    }
    model->id = kbi_model_id(&model->spec, kbi_kind_of(spec.kind)->revision[spec.sampler]);
    if (kbi_kind_has_boxes(spec.kind))
        for (int32_t k = 0; k < model->grid.octaves; k++) prepare_table(model, k);
    if (kbi_kind_built(KB_KIND_HASHSIFT) && spec.kind == KB_KIND_HASHSIFT) pack_projection(model);
    bool binary = kbi_kind_of(spec.kind)->binary;
    model->row_bytes = binary ? spec.bits / 8 : KB_SIFT_VALUES;
    model->row_floats = binary ? 0 : KB_SIFT_VALUES;
    *out = model;
    return KB_OK;
}

void kb_model_free(kb_model *model)
{
    if (!model) return;
    kb_allocator from = model->allocator;
    kbi_deallocate(&from, model->spec.text);
    kbi_deallocate(&from, model->spec.boxes);
    kbi_deallocate(&from, model->spec.weights);
    kbi_deallocate(&from, model->spec.bias);
    kbi_deallocate(&from, model->boxes);
    kbi_deallocate(&from, model->bits);
    kbi_deallocate(&from, model->edges);
    kbi_deallocate(&from, model->packed);
    kbi_deallocate(&from, model->packed_bias);
    kbi_deallocate(&from, model);
}

kb_status kb_model_get_info(const kb_model *model, kb_model_info *info)
{
    if (!model || !info) return KB_E_ARGUMENT;
    kb_status status = KBI_STRUCT_CHECK(kb_model_info, info);
    if (status != KB_OK) return status;
    const kb_model_spec *spec = &model->spec;
    kb_model_info full = {.row_bytes = model->row_bytes, .name = spec->name, .kind = spec->kind, .bits = spec->bits,
                          .spec = spec, .id = model->id, .row_floats = model->row_floats, .channels = model->channels,
                          .threshold_low = spec->threshold_low, .threshold_high = spec->threshold_high,
                          .ratio = spec->ratio};
    for (int32_t k = 0; k < model->grid.octaves; k++) full.distinct_boxes += model->tables[k].box_count;
    KBI_STRUCT_WRITE(kb_model_info, info, &full);
    return KB_OK;
}
