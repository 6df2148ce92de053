/* The model: the tables as given, and the form of them that describing uses, computed once at creation. */
#ifndef KBI_MODEL_H
#define KBI_MODEL_H

#include "common/common.h"

/* One box to be measured, and one bit made of two of them. Boxes that occur several times are measured once. */
typedef struct kbi_box {
    uint8_t channel, x, y, radius;
} kbi_box;
/* Where a box begins or ends, for kernels that make the integral image of gray, or those of all gradient planes, row by
 * row. */
typedef struct kbi_box_edge {
    uint16_t left, right; /* its corners in rows of KBI_SUMS_WIDTH sums; gray and the first gradient plane have row 0 */
    uint16_t box;
    uint8_t radius;
    uint8_t row; /* the first or the last one of the box; KBI_NO_ROW after the last edge */
} kbi_box_edge;
#define KBI_SUMS_WIDTH (KB_PATCH_SIDE + 1)
#define KBI_NO_ROW 255
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
    uint32_t channels; /* bit c: channel c is used */
    kbi_box *boxes;     /* distinct ones, sorted by channel */
    int32_t box_count;
    int32_t channel_start[KB_CHANNELS + 1]; /* boxes of channel c are [start[c], start[c + 1]) */
    /* Edges in the order of rows: those of gray, a KBI_NO_ROW, those of the gradient planes, a KBI_NO_ROW. */
    kbi_box_edge *tops, *bottoms; /* the second in the memory of the first */
    kbi_box_bit *bits;
    /* The projection of HashSIFT in the layout of the kernels: groups of 8 bits, of each 32 times 4 weights for every bit, the
     * last bit of the group first; and the bias in the same order. */
    int8_t *packed;
    int32_t *packed_bias;
};

/* A build for BAD alone (CMake's KEYBITS_BAD_ONLY) makes no models of other kinds. What only they need is
 * guarded by this constant, so that the linker drops it. */
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

/* Built-in model files, compiled in. Ends with a NULL name. */
typedef struct kbi_builtin_table {
    const char *name;
    const unsigned char *data;
    size_t size;
} kbi_builtin_table;

#endif
