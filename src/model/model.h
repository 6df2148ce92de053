/* SPDX-License-Identifier: Apache-2.0 */
/* The model: the tables as given, and the form of them that describing uses, computed once at creation. */
#ifndef KBI_MODEL_H
#define KBI_MODEL_H

#include "image/grid.h"

/* One box to be measured, and one bit made of two of them. Boxes that occur several times are measured once. */
typedef struct kbi_box {
    uint8_t channel, x, y, radius;
} kbi_box;
/* Where a box begins or ends, for kernels that make integral images row by row. */
typedef struct kbi_box_edge {
    uint16_t left, right; /* its corners in the rows of sums; BAG has a row per channel, KBI_OCTAVE_SUMS_WIDTH apart */
    uint16_t box;
    uint8_t rule; /* kbi_mean_rule_index */
    uint8_t row; /* the first or the last row of the box; KBI_NO_ROW after the last edge */
} kbi_box_edge;
#define KBI_NO_ROW 255
typedef struct kbi_box_bit {
    uint16_t box1, box2; /* indices of boxes */
    int16_t threshold;   /* rounded down, in 1/128 gray level (BAG: in 1/16384 of the mean gradient) */
} kbi_box_bit;

/* Thresholds of a kind as integers: units in 1, and the largest threshold in the model's unit. */
static inline double kbi_threshold_units(kb_kind kind) { return kind == KB_KIND_BAG ? 16384 : 128; }
static inline double kbi_threshold_max(kb_kind kind) { return 32768 / kbi_threshold_units(kind); }

/* The grid of a sampler. The image sampler has none; it describes ready patches as PATCH does. */
static inline kbi_grid kbi_sampler_grid(kb_sampler sampler)
{
    return sampler == KB_SAMPLER_OCTAVES ? KBI_GRID_OCTAVES
           : sampler == KB_SAMPLER_CELLS ? KBI_GRID_CELLS
                                         : KBI_GRID_PATCH;
}
/* Octaves take turns byte by byte, so that the first bytes of a row describe all of them: bit `index` of an octave is
 * this bit of the row. */
static inline int32_t kbi_octave_bit(int32_t octaves, int32_t octave, int32_t index)
{
    return (index / 8 * octaves + octave) * 8 + index % 8;
}
static inline int32_t kbi_octaves(kb_sampler sampler) { return kbi_sampler_grid(sampler).octaves; }

/* The integral image of a channel has a sum per corner of samples or cells. */
#define KBI_SUMS_WIDTH (KB_PATCH_SIDE + 1)
#define KBI_OCTAVE_SUMS_WIDTH (KBI_OCTAVE_CELLS_SIDE + 1)

/* A box by these corners: columns left to right - 1, rows top to bottom - 1. */
typedef struct kbi_box_span {
    int32_t left, right, top, bottom;
} kbi_box_span;
static inline kbi_box_span kbi_box_span_of(kbi_box b, kbi_grid grid)
{
    if (!kbi_on_cells(grid))
        return (kbi_box_span){b.x - b.radius, b.x + b.radius + 1, b.y - b.radius, b.y + b.radius + 1};
    return (kbi_box_span){(b.x - b.radius) / 2, (b.x + b.radius) / 2, (b.y - b.radius) / 2, (b.y + b.radius) / 2};
}
/* Whether a box lies inside the patch or the octave and, where boxes are on cells, on whole cells. */
static inline bool kbi_box_fits(kbi_box b, kbi_grid grid)
{
    bool cells = kbi_on_cells(grid);
    int32_t end = kbi_has_octaves(grid) ? KB_OCTAVE_SIDE : cells ? KB_PATCH_SIDE : KB_PATCH_SIDE - 1;
    return b.x >= b.radius && b.y >= b.radius && b.x + b.radius <= end && b.y + b.radius <= end &&
           !(cells && ((b.x - b.radius) % 2 || (b.y - b.radius) % 2));
}
static inline int32_t kbi_min_radius(kbi_grid grid) { return kbi_on_cells(grid) ? 1 : 0; }
static inline int32_t kbi_max_radius(kbi_grid grid) { return kbi_on_cells(grid) ? KB_MAX_CELL_RADIUS : KB_MAX_RADIUS; }

/* How the sum of a box becomes its mean: (sum << shift) * factor >> 16, where both fit 16 bits. The mean is in 1/128
 * gray level, for BAG in 1/64. */
typedef struct kbi_mean_rule {
    uint8_t shift;
    uint16_t factor;
} kbi_mean_rule;
kbi_mean_rule kbi_mean_rule_of(kbi_box box, kbi_grid grid);
/* The rules of a table's boxes stand by radius: gray and channels along an axis first, then diagonal channels. */
#define KBI_MEAN_RULES (2 * (KB_MAX_CELL_RADIUS + 1))
static inline bool kbi_is_diagonal(int32_t channel) { return channel > 0 && channel % 2 == 0; }
static inline int32_t kbi_mean_rule_index(kbi_box b)
{
    return kbi_is_diagonal(b.channel) ? KB_MAX_CELL_RADIUS + 1 + b.radius : b.radius;
}

/* The bits that are measured on one grid: all bits of BAD, or one octave's bits of BAG. */
typedef struct kbi_box_table {
    kbi_grid grid;
    int32_t bit_count;
    int32_t box_count;
    kbi_box *boxes; /* distinct ones, sorted by channel */
    int32_t channel_start[KB_CHANNELS + 1]; /* boxes of channel c are [start[c], start[c + 1]) */
    kbi_box_edge *tops, *bottoms; /* sorted by row, then a KBI_NO_ROW; both in one allocation */
    kbi_box_bit *bits;
    kbi_mean_rule rules[KBI_MEAN_RULES];
} kbi_box_table;

struct kb_model {
    kb_allocator allocator;
    kb_model_spec spec; /* its pointers own their memory */
    char name[64];
    uint64_t id;
    int32_t row_bytes, row_floats;
    uint32_t channels; /* bit c: channel c is used */
    kbi_grid grid;     /* of the sampler */
    kbi_box_table tables[KB_OCTAVES]; /* BAD and BAG: one per octave of the grid */
    kbi_box *boxes; /* of all tables, like the edges and the bits */
    kbi_box_edge *edges;
    kbi_box_bit *bits;
    /* HashSIFT's B in the layout of the kernels: weights as [bit / 8][j / 4][7 - bit % 8][j % 4], bias as
     * [bit / 8][7 - bit % 8]. */
    int8_t *packed;
    int32_t *packed_bias;
};

/* ---- kinds.c ---- */
#define KBI_SAMPLERS (KB_SAMPLER_CELLS + 1)
/* Bytes of a bit's row in a file: a pair of boxes, or 128 weights and a bias. */
#define KBI_BOX_ROW 12
#define KBI_PROJECTION_ROW (4 + KB_SIFT_VALUES)
#define KBI_TABLE_ROW_MAX KBI_PROJECTION_ROW
typedef struct kbi_kind {
    const char *name;
    bool binary;      /* a row has `bits` bits; else it is SIFT's, and bits is 0 */
    uint32_t samplers; /* that go with it, as bits */
    size_t table_row; /* bytes of a bit's row in a file; 0: it has no table */
    /* Of the arithmetic, by sampler. A change of code that gives other bits for the same tables adds one, so that old
     * and new rows are never taken for each other; tests/hash then shows the new bits. */
    uint32_t revision[KBI_SAMPLERS];
} kbi_kind;
/* NULL for another value. */
const kbi_kind *kbi_kind_of(kb_kind kind);
/* Names of values, for sentences too; "?" when there is none. */
const char *kbi_kind_name(kb_kind kind);
const char *kbi_sampler_name(kb_sampler sampler);

/* Whether this build has models of a kind: KB_KINDS has a bit for each (CMake's KEYBITS_KINDS), and a linker drops what
 * only other kinds need. */
#ifndef KB_KINDS
#    define KB_KINDS 0x7fffffff
#endif
static inline bool kbi_kind_built(kb_kind kind) { return KB_KINDS >> kind & 1; }

static inline bool kbi_kind_has_boxes(kb_kind kind)
{
    return !(KB_KINDS & ~(1 << KB_KIND_BAD | 1 << KB_KIND_BAG)) || kind == KB_KIND_BAD || kind == KB_KIND_BAG;
}

/* ---- file.c ---- */
/* Writes the row of a bit as a model file has it, up to KBI_TABLE_ROW_MAX bytes; returns how many. */
size_t kbi_table_row_write(const kb_model_spec *spec, int32_t bit, uint8_t *to);

/* The id of a checked spec under a revision; 0 is the first. */
uint64_t kbi_model_id(const kb_model_spec *spec, uint32_t revision);

/* A built-in model file. The list of them, which the build makes, ends with a NULL name. */
typedef struct kbi_builtin_table {
    const char *name;
    const unsigned char *data;
    size_t size;
} kbi_builtin_table;

/* A built-in model, from 0; NULL past the last. */
const char *kbi_model_builtin_name(int32_t index);

#endif
