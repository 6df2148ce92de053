/* The model: the tables as given, and the form of them that describing uses, computed once at creation. */
#ifndef KBI_MODEL_H
#define KBI_MODEL_H

#include "common/common.h"

/* One box to be measured, and one bit made of two of them. Boxes that occur several times are measured once. */
typedef struct kbi_box {
    uint8_t channel, x, y, radius;
    uint8_t last;         /* row: y + radius */
    uint16_t top,
        bottom; /* its left corners in an integral image that keeps KBI_SUMS_ROWS rows, row y at y mod KBI_SUMS_ROWS */
} kbi_box;
#define KBI_SUMS_ROWS 16 /* enough for the tallest box */
#define KBI_SUMS_WIDTH (KB_PATCH_SIDE + 1)
typedef struct kbi_box_bit {
    uint16_t box1, box2; /* indices of boxes */
    int16_t threshold;   /* 1/128 gray level, floor of the model's */
} kbi_box_bit;

struct kb_model {
    kb_allocator allocator;
    kb_model_spec spec; /* its pointers own their memory */
    char name[64];
    uint64_t id;
    int32_t row_bytes, row_floats;
    uint32_t planes;   /* bit c: channel c is used */
    kbi_box *boxes;     /* distinct ones, sorted by channel, then last row, radius, x */
    int32_t box_count;
    int32_t channel_start[KB_PLANES + 1]; /* boxes of channel c are [start[c], start[c + 1]) */
    kbi_box_bit *bits;
    /* The projection of HashSIFT in the layout of the kernels: groups of 8 bits, of each 32 times 4 weights for every bit, the
     * last bit of the group first; and the bias in the same order. */
    int8_t *packed;
    int32_t *packed_bias;
};

/* A build for BAD alone (CMake's KEYBITS_BAD_ONLY) makes no models of other kinds. What only they need stands behind
 * this constant, is called by nobody, and falls out of the library. */
#ifndef KB_BAD_ONLY
#    define KB_BAD_ONLY 0
#endif
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

/* ---- thresholds.c ---- */
/* kb_model_info.threshold_low and threshold_high of the model with this id; zeros when they are not known. */
void kbi_model_thresholds(uint64_t id, int32_t *low, int32_t *high);

/* Built-in model files, compiled in. Ends with a NULL name. */
typedef struct kbi_builtin_table {
    const char *name;
    const unsigned char *data;
    size_t size;
} kbi_builtin_table;

#endif
