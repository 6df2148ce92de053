/* The parts of the detectors that search a pyramid, orb and hessian: the pyramid, the corners of every level, and what
 * the tasks of a step share. */
#ifndef KBI_DETECT_ORB_H
#define KBI_DETECT_ORB_H

#include "detect/detect.h"
#include "common/cpu.h"
#include "detect/kernels.h"

#define KBI_ORB_EDGE 31 /* px of a level without keypoints: there is no room for a region */
#define KBI_ORB_SMALLEST_LEVEL 70

/* Rows above and below that a search takes: of FAST around the neighbours of a corner and of Harris's response, or of
 * the blur around second differences around those neighbours; and those that refinement and orientation take. One more,
 * so that kernels that read a row too far stay in memory. */
#define KBI_ORB_FAST_REACH (KBI_FAST_RADIUS + 2)
#define KBI_ORB_HESSIAN_REACH (KBI_HESSIAN_BLUR + 3)
#define KBI_ORB_FINISH_REACH (KBI_GRADIENT_REACH + 1)
#define KBI_ORB_FINISH_ROWS 16

typedef struct kbi_orb kbi_orb;

typedef struct kbi_orb_level {
    uint8_t *made; /* where it is built */
    const uint8_t *data; /* its row `first` */
    int32_t first;       /* 0 but where levels are streamed in bands */
    int32_t width, height;
    ptrdiff_t stride;
    double factor;   /* px of the image per pixel */
    size_t corners;  /* found */
    size_t goal;     /* so many suffice: weaker ones cannot be selected. SIZE_MAX for rules that take any */
    bool complete;   /* all corners are found */
    size_t share;    /* keypoints wanted */
    size_t reach;    /* of so many corners none is left out, unless others have a higher score */
    int32_t limit;   /* the least score of a corner that goes on */
} kbi_orb_level;

#define KBI_ORB_OFFSETS 256 /* steps of a pixel */
typedef struct kbi_orb_corner {
    uint16_t x, y;
    uint8_t score;
#if KBI_HESSIAN
    int8_t dx, dy; /* from the pixel, in steps; of hessian */
#endif
} kbi_orb_corner;

/* The rows of one level that one task searches, and the corners in them. There is not always room for all: what is left
 * out has a score below `floor`, or just that and too weak a response (kbi_orb_bands_get). */
typedef struct kbi_orb_band {
    int32_t level, top, bottom;
    int32_t cells_across, cells_down;
    uint8_t *cells; /* not 0 where one has a corner above fast_threshold */
    kbi_orb_corner *corners;
    float *responses; /* scratch for one of each, but where they are known when a corner is found */
    size_t count, room;
    size_t found;   /* with those that were left out */
    size_t dropped; /* of those left out, how many have the score `floor` */
    int32_t floor;
    int32_t threshold; /* of the search in bands, where it has come to */
    uint8_t *scratch;
} kbi_orb_band;

/* A streamed level: the last rows that have been made of it, with those still needed. */
typedef struct kbi_orb_ring {
    kbi_resize_map columns; /* from the level before */
    int32_t ready;          /* rows that have been made */
    int32_t visited;        /* the rows before this one have been */
    size_t next, end;       /* keypoints of the level without an angle */
} kbi_orb_ring;

struct kbi_orb {
    const kbi_detect_job *job;
    kbi_detect_kernels kernels;
    kbi_orb_level level[KB_PYRAMID_MAX_LEVELS];
    int32_t levels;
    int32_t threads;
    bool single; /* low_memory: one level in memory at a time, or bands of all of them */
    bool streams; /* bands */
    bool hessian;
    int32_t lowest, lowest_again; /* thresholds of scores: of a search, and where cells are empty */
    kbi_orb_ring *rings; /* of every level; NULL without bands */
    size_t wanted; /* keypoints of all levels together */
    int32_t target; /* the level being made, or searched */
    /* resize */
    kbi_resize_map columns, rows;
    uint8_t *blended; /* a row of the level above for each task */
    /* corners */
    kbi_orb_band *bands;
    int32_t band_count, pieces; /* of all levels, of a level */
    int32_t threshold;          /* of the search */
    /* keypoints */
    int32_t measured;        /* the level whose corners are being measured */
    kb_keypoint *candidates; /* the corners of one level; NULL for KB_SELECT_BEST */
    kb_keypoint *keypoints;
    size_t count;
    kb_status status; /* of a sweep */
    bool all_stay; /* the last selection only sorts: they get angles before, while neighbours stand side by side */
};

/* Whether levels are streamed in bands. */
static inline bool kbi_orb_streams(const kbi_orb *o) { return KBI_BANDS && o->streams; }

/* Whether corners are the peaks of the determinant of the Hessian, not FAST's. */
#define kbi_orb_is_hessian(o) (KBI_HESSIAN && (o)->hessian) /* a macro: what is left out is not called at -O0 either */
/* Whether responses are known when a corner is found: from the search, or since its rows are gone later. */
static inline bool kbi_orb_measures_at_once(const kbi_orb *o) { return kbi_orb_is_hessian(o) || kbi_orb_streams(o); }
/* Corners for each keypoint that `best` picks from: those of hessian are picked by what they are found by. */
static inline size_t kbi_orb_choice(const kbi_orb *o) { return kbi_orb_is_hessian(o) ? 1 : 2; }
static inline int32_t kbi_orb_search_reach(const kbi_orb *o)
{
    return kbi_orb_is_hessian(o) ? KBI_ORB_HESSIAN_REACH : KBI_ORB_FAST_REACH;
}

/* What is done with rows of a level while they are in memory, those from..to - 1. They are `rows` high but the last ones,
 * and `reach` rows above and below are in memory too. */
typedef struct kbi_orb_visitor {
    void (*visit)(kbi_orb *o, int32_t level, int32_t from, int32_t to);
    int32_t rows, reach;
} kbi_orb_visitor;

/* Where a pixel of a level is. */
static inline const uint8_t *kbi_orb_pixel(const kbi_orb_level *level, int32_t x, int32_t y)
{
    return level->data + (KBI_BANDS ? y - level->first : y) * level->stride + x;
}

static inline bool kbi_orb_level_waits(const kbi_orb_level *level)
{
    return !level->complete && level->corners < level->goal;
}

/* Where `place`, in pixels of a level, is in the image. */
static inline float kbi_orb_to_image(double factor, double place) { return (float)((place + 0.5) * factor - 0.5); }
/* Whether the mask allows a pixel of a level. */
static inline bool kbi_orb_allows(const kbi_orb *o, const kbi_orb_level *level, int32_t x, int32_t y)
{
    const kb_image *mask = o->job->options.mask;
    return !mask || kbi_mask_allows(mask, kbi_orb_to_image(level->factor, x), kbi_orb_to_image(level->factor, y));
}
/* The most that a keypoint is moved from its pixel, px of the level, so that its place still tells the pixel. */
#define KBI_ORB_MOST_OFFSET 0.49

/* Sizes of the levels; none is built. */
void kbi_orb_plan_levels(kbi_orb *o);
/* Memory for what resizing needs besides the levels. */
bool kbi_orb_maps_get(kbi_orb *o);
/* Memory for the levels, or for one at a time. */
bool kbi_orb_levels_get(kbi_orb *o);
/* Memory for the map of a row of `width` pixels from the level before. */
bool kbi_orb_columns_get(const kbi_orb *o, kbi_resize_map *columns, size_t width);
/* Memory for bands of the levels. */
bool kbi_orb_rings_get(kbi_orb *o);
/* Calls the visitor for all rows of all levels that may have keypoints, from above: bands of all levels in turn. */
void kbi_orb_sweep(kbi_orb *o, const kbi_orb_visitor *visitor);
/* Builds a level out of the one before it. */
void kbi_orb_build_level(kbi_orb *o, int32_t level);
/* Memory for the corners of the levels. */
bool kbi_orb_bands_get(kbi_orb *o);
/* The most corners that go on of any level. */
size_t kbi_orb_most_corners(const kbi_orb *o);
/* Harris's response of a corner of a level. */
float kbi_orb_response(const kbi_orb *o, int32_t index, const kbi_orb_corner *corner);
/* Keeps a corner of a band, if it may go on. The response is that of hessian; FAST's is measured where it is needed. */
void kbi_orb_corner_add(const kbi_orb *o, kbi_orb_band *band, kbi_orb_corner corner, float response);
/* The threshold for the rows of a band after row y. It rises every few rows: the more corners there are, the stronger
 * others must be to be selected. */
int32_t kbi_orb_risen_threshold(const kbi_orb *o, const kbi_orb_band *band, int32_t y, int32_t threshold);
/* The goals when every level has corners enough. */
void kbi_orb_goals_start(kbi_orb *o);
/* When levels are searched: the levels' shares of o->wanted keypoints, and their goals. Levels with few corners leave
 * more to the others, so some of these may have to be searched again; false says so. */
bool kbi_orb_goals_met(kbi_orb *o);
/* How many corners of a level have each score. */
void kbi_orb_histogram(const kbi_orb *o, int32_t index, uint32_t histogram[256]);
/* The least score such that at least `wanted` corners have it or more; 0 when there are not so many. */
int32_t kbi_orb_score_limit(const uint32_t histogram[256], size_t wanted);
/* Searches a level if it waits for that. `neighbour` is one beside it that has been searched, or none. */
void kbi_orb_search_level(kbi_orb *o, int32_t index, int32_t neighbour);
/* Searches rows of a level if it waits for that, strip after strip from above. */
void kbi_orb_search_strip(kbi_orb *o, int32_t index, int32_t top, int32_t bottom);
/* When goals are met: which corners go on. */
void kbi_orb_limits(kbi_orb *o);

/* ---- peaks of the determinant of the Hessian (hessian.c) ---- */
/* The response of a determinant, which is above 0; the score of a response, 0 to 255; and the least determinant with at
 * least this response. */
float kbi_hessian_response(int32_t determinant);
int32_t kbi_hessian_score(float response);
int32_t kbi_hessian_limit(float response);
/* Where a corner is in the image. */
void kbi_hessian_place(const kbi_orb_corner *corner, double factor, kb_keypoint *keypoint);
/* Bytes of scratch that a band takes. */
size_t kbi_hessian_scratch(int32_t width);
/* Searches rows top..bottom - 1 of a band for corners with scores above the threshold; returns to what it has risen. */
int32_t kbi_hessian_search(const kbi_orb *o, kbi_orb_band *band, int32_t top, int32_t bottom, int32_t threshold);

#endif
