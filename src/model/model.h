/* The model: the tables as given, and the form of them that describing uses, computed once at creation. */
#ifndef KBI_MODEL_H
#define KBI_MODEL_H

#include "common/common.h"

/* One box to be measured, and one bit made of two of them. Boxes that occur several times are measured once. */
typedef struct kbi_box {
    uint8_t channel, x, y, radius;
} kbi_box;
/* Where a box begins or ends, for kernels that make integral images row by row. */
typedef struct kbi_box_edge {
    uint16_t left, right; /* its corners in the rows of sums: of BAG one per channel, KBI_OCTAVE_SUMS_WIDTH apart */
    uint16_t box;
    uint8_t rule; /* of kbi_mean_rules */
    uint8_t row; /* the first or the last one of the box; KBI_NO_ROW after the last edge */
} kbi_box_edge;
#define KBI_NO_ROW 255
typedef struct kbi_box_bit {
    uint16_t box1, box2; /* indices of boxes */
    int16_t threshold;   /* the model's in 1/128 gray level, of BAG in 1/16384 of the mean gradient; rounded down */
} kbi_box_bit;

/* Thresholds of a kind as integers: units in 1, and the largest in the model's unit. */
static inline double kbi_threshold_units(kb_kind kind) { return kind == KB_BAG ? 16384 : 128; }
static inline double kbi_threshold_most(kb_kind kind) { return 32768 / kbi_threshold_units(kind); }

/* Boxes are on cells of 2x2 samples for BAG and where cells are what is sampled, else on samples. */
static inline bool kbi_on_cells(kb_sampler sampler)
{
    return (!KB_BAD_ONLY && sampler == KB_SAMPLER_OCTAVES) || sampler == KB_SAMPLER_CELLS;
}
static inline kbi_sample_grid kbi_sampler_grid(kb_sampler sampler)
{
    return !KB_BAD_ONLY && sampler == KB_SAMPLER_OCTAVES ? KBI_GRID_OCTAVES
           : sampler == KB_SAMPLER_CELLS                 ? KBI_GRID_CELLS
                                                         : KBI_GRID_PATCH;
}
/* Octaves take turns byte by byte, so that the first bytes of a row say something about all of them: bit `index` of an
 * octave is this bit of the row. */
static inline int32_t kbi_octave_bit(int32_t octaves, int32_t octave, int32_t index)
{
    return (index / 8 * octaves + octave) * 8 + index % 8;
}
static inline int32_t kbi_octaves(kb_sampler sampler) { return kbi_grid_octaves(kbi_sampler_grid(sampler)); }

/* The integral image of a channel has a sum per corner of samples or cells. */
#define KBI_SUMS_WIDTH (KB_PATCH_SIDE + 1)
#define KBI_OCTAVE_SUMS_WIDTH (KBI_OCTAVE_CELLS_SIDE + 1)

/* A box by these corners: columns left to right - 1, rows top to bottom - 1. */
typedef struct kbi_box_span {
    int32_t left, right, top, bottom;
} kbi_box_span;
static inline kbi_box_span kbi_box_span_of(kbi_box b, bool cells)
{
    if (!cells)
        return (kbi_box_span){b.x - b.radius, b.x + b.radius + 1, b.y - b.radius, b.y + b.radius + 1};
    return (kbi_box_span){(b.x - b.radius) / 2, (b.x + b.radius) / 2, (b.y - b.radius) / 2, (b.y + b.radius) / 2};
}
/* Whether a box lies inside the patch, or the octave where channels of gradient are, and, where boxes are on cells, on
 * whole ones. */
static inline bool kbi_box_fits(kbi_box b, bool cells)
{
    int32_t beyond = !KB_BAD_ONLY && b.channel ? KB_OCTAVE_SIDE : cells ? KB_PATCH_SIDE : KB_PATCH_SIDE - 1;
    return b.x >= b.radius && b.y >= b.radius && b.x + b.radius <= beyond && b.y + b.radius <= beyond &&
           !(cells && ((b.x - b.radius) % 2 || (b.y - b.radius) % 2));
}
static inline int32_t kbi_least_radius(bool cells) { return cells ? 1 : 0; }
static inline int32_t kbi_most_radius(bool cells) { return cells ? KB_MAX_CELL_RADIUS : KB_MAX_RADIUS; }

/* How the sum of a box becomes its mean: (sum << shift) * factor >> 16, where both fit 16 bits. By radius: first the
 * rules of samples, then those of cells of gray, of channels along an axis, and of diagonal ones. */
typedef struct kbi_mean_rule {
    uint8_t shift;
    uint16_t factor;
} kbi_mean_rule;
#define KBI_MEAN_RULES (KB_MAX_RADIUS + 1 + 3 * KB_MAX_CELL_RADIUS)
extern const kbi_mean_rule kbi_mean_rules[KBI_MEAN_RULES];
static inline int32_t kbi_mean_rule_of(kbi_box b, bool cells)
{
    int32_t group = b.channel == 0 ? 0 : b.channel % 2 ? 1 : 2;
    return cells ? KB_MAX_RADIUS + group * KB_MAX_CELL_RADIUS + b.radius : b.radius;
}

/* The bits of BAD, or those of an octave of BAG: all that is measured on one grid. */
typedef struct kbi_box_table {
    int32_t side; /* of the grid: KB_PATCH_SIDE, or 16 where cells or octaves are sampled */
    bool cells;   /* boxes are on cells: kbi_on_cells */
    bool gradient; /* of BAG */
    int32_t bit_count;
    int32_t box_count;
    kbi_box *boxes; /* distinct ones, sorted by channel */
    int32_t channel_start[KB_CHANNELS + 1]; /* boxes of channel c are [start[c], start[c + 1]) */
    kbi_box_edge *tops, *bottoms; /* edges in the order of rows, then a KBI_NO_ROW; the second in the memory of the first */
    kbi_box_bit *bits;
} kbi_box_table;

struct kb_model {
    kb_allocator allocator;
    kb_model_spec spec; /* its pointers own their memory */
    char name[64];
    uint64_t id;
    int32_t row_bytes, row_floats;
    uint32_t channels; /* bit c: channel c is used */
    kbi_box_table tables[KB_OCTAVES]; /* of BAD and BAG, kbi_model_octaves of them */
    kbi_box *boxes; /* of all tables, as the two below */
    kbi_box_edge *edges;
    kbi_box_bit *bits;
    /* The projection of HashSIFT in the layout of the kernels: groups of 8 bits, of each 32 times 4 weights for every bit, the
     * last bit of the group first; and the bias in the same order. */
    int8_t *packed;
    int32_t *packed_bias;
};


static inline int32_t kbi_model_octaves(const kb_model *model) { return kbi_octaves(model->spec.sampler); }

/* Whether this build has models of a kind. */
static inline bool kbi_kind_built(kb_kind kind) { return !KB_BAD_ONLY || kind == KB_BAD; }

static inline bool kbi_kind_has_boxes(kb_kind kind) { return kind == KB_BAD || kind == KB_BAG; }
static inline bool kbi_kind_is_binary(kb_kind kind) { return kind == KB_BAD || kind == KB_BAG || kind == KB_HASHSIFT; }

/* ---- file.c ---- */
/* Writes the row of a bit as a model file has it; returns its bytes. For kinds with a table. */
#define KBI_TABLE_ROW_MAX (4 + KB_SIFT_VALUES)
size_t kbi_table_row_write(const kb_model_spec *spec, int32_t bit, uint8_t *to);

/* ---- id.c ---- */
/* The revision of the arithmetic that this library has for a valid kind and sampler. */
uint32_t kbi_model_revision(kb_kind kind, kb_sampler sampler);
/* The id of a checked spec under a revision; 0 is the first. */
uint64_t kbi_model_id(const kb_model_spec *spec, uint32_t revision);

/* Built-in model files, compiled in. Ends with a NULL name. */
typedef struct kbi_builtin_table {
    const char *name;
    const unsigned char *data;
    size_t size;
} kbi_builtin_table;

#endif
