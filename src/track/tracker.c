/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per image, file or model. */
/* kb_tracker: points over the frames of a camera. It keeps the pyramid of the last frame and the points in it; a
 * frame's points are followed from there, and cells of the image without a point get a new one. */
#include "image/kernels.h"
#include "track/track.h"

#define REFILL 0.9 /* below this share of max_points new ones are looked for */
#define CANDIDATES 3 /* keypoints detected per missing point, since most fall into cells that have a point */

typedef struct track_frame {
    kb_workspace *memory; /* the gray image and its levels */
    kbi_pyramid levels;
    int32_t width, height;
} track_frame;

struct kb_tracker {
    kb_allocator allocator;
    kb_track_options o;
    kb_detect_options detect;
    track_frame frames[2]; /* the last one and the one before, in turns */
    int32_t last;
    kb_track *tracks;
    size_t count;
    uint64_t next_id;
    float *correlations; /* max_points */
    kb_keypoint *found;
    size_t found_room;
};

/* ---- creating ---- */

static bool tracker_allocate(kb_tracker *t)
{
    size_t max = (size_t)t->o.max_points;
    t->found_room = CANDIDATES * max;
    t->tracks = kbi_allocate_array(&t->allocator, max, sizeof *t->tracks);
    t->correlations = kbi_allocate_array(&t->allocator, max, sizeof *t->correlations);
    t->found = kbi_allocate_array(&t->allocator, t->found_room, sizeof *t->found);
    bool got = t->tracks && t->correlations && t->found;
    for (int i = 0; i < 2 && got; i++) got = kb_workspace_create(&t->allocator, &t->frames[i].memory) == KB_OK;
    return got;
}

kb_status kb_tracker_create(const kb_track_options *options, const kb_allocator *allocator, kb_tracker **out,
                            kb_error *error)
{
    kb_allocator memory;
    kb_track_options o;
    kb_detect_options detect;
    kbi_error_clear(error);
    if (!out) return kbi_fail(error, KB_E_ARGUMENT, "out: a pointer is NULL");
    *out = NULL;
    kb_status status = kbi_track_options_read(options, &o, error);
    if (status == KB_OK) status = kb_detect(NULL, o.detect, NULL, NULL, error);
    if (status == KB_OK) status = KBI_STRUCT_READ(kb_detect_options, &detect, o.detect);
    if (status == KB_OK) status = detect.mask ? KB_E_ARGUMENT : kbi_allocator_read(&memory, allocator, error);
    if (status != KB_OK) return error && error->text[0] ? status : kbi_fail_status(error, status);
    kb_tracker *t = kbi_allocate_zeros(&memory, sizeof *t);
    if (!t) return KB_E_MEMORY;
    t->allocator = memory;
    t->o = o;
    t->o.detect = NULL;
    t->detect = detect;
    t->detect.struct_size = sizeof t->detect;
    t->detect.max_keypoints = kbi_min_i(1000000, CANDIDATES * o.max_points);
    t->detect.mask_margin = o.mask_margin;
    t->detect.parallel = o.parallel;
    if (!tracker_allocate(t)) {
        kb_tracker_free(t);
        return KB_E_MEMORY;
    }
    *out = t;
    return KB_OK;
}

void kb_tracker_free(kb_tracker *t)
{
    if (!t) return;
    for (int i = 0; i < 2; i++) kb_workspace_free(t->frames[i].memory);
    kbi_deallocate(&t->allocator, t->tracks);
    kbi_deallocate(&t->allocator, t->correlations);
    kbi_deallocate(&t->allocator, t->found);
    kb_allocator memory = t->allocator;
    kbi_deallocate(&memory, t);
}

/* ---- a frame ---- */

/* The frame as a pyramid in the tracker's own memory. */
static kb_status frame_take(track_frame *f, const kb_image *image, const kb_track_options *o)
{
    kb_image gray, copy;
    kbi_workspace_rewind(f->memory, 0);
    kb_status status = kbi_gray8(image, f->memory, &gray);
    if (status != KB_OK) return status;
    copy = gray;
    if (gray.data == image->data) {
        uint8_t *pixels = kbi_workspace_array(f->memory, (size_t)gray.width, (size_t)gray.height);
        if (!pixels) return KB_E_MEMORY;
        for (int32_t y = 0; y < gray.height; y++)
            memcpy(pixels + (ptrdiff_t)y * gray.width, (const uint8_t *)gray.data + y * gray.stride,
                   (size_t)gray.width);
        copy.data = pixels;
        copy.stride = gray.width;
    }
    status = kbi_pyramid_get(&f->levels, &copy, 0, f->memory);
    if (status != KB_OK) return status;
    kbi_pyramid_make(&f->levels, kbi_image_kernels_get(), kbi_track_levels(o), o->parallel);
    f->width = gray.width;
    f->height = gray.height;
    return KB_OK;
}

/* The pixel of a place inside the image, which a float may round up to its edge. */
static int32_t pixel_of(float place, int32_t side) { return kbi_clamp_i((int32_t)(place + 0.5f), 0, side - 1); }

static bool is_masked(const kb_image *mask, const kb_track *track)
{
    if (!mask) return false;
    int32_t x = pixel_of(track->x, mask->width), y = pixel_of(track->y, mask->height);
    return !((const uint8_t *)mask->data)[y * mask->stride + x];
}

/* Keeps the tracks that were found, in their order. */
static void tracks_follow(kb_tracker *t, const track_frame *last, const track_frame *now, const kb_image *mask)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->count; i++) t->tracks[i].last_x = t->tracks[i].x, t->tracks[i].last_y = t->tracks[i].y;
    kbi_track(&last->levels, &now->levels, &t->tracks->last_x, &t->tracks->x, sizeof *t->tracks / sizeof(float),
              t->count, &t->o, t->correlations);
    for (size_t i = 0; i < t->count; i++) {
        if (!(t->correlations[i] > 0) || is_masked(mask, &t->tracks[i])) continue;
        t->tracks[kept] = t->tracks[i];
        t->tracks[kept].correlation = t->correlations[i];
        t->tracks[kept++].age++;
    }
    t->count = kept;
}

/* Cells so large that max_points of them cover the image. */
static int32_t cell_side(const kb_tracker *t, const kb_image *image)
{
    int32_t side = 4;
    while ((int64_t)((image->width + side - 1) / side) * ((image->height + side - 1) / side) > t->o.max_points) side++;
    return side;
}

static size_t cell_of(const kb_image *image, int32_t side, float x, float y)
{
    int32_t across = (image->width + side - 1) / side;
    return (size_t)(pixel_of(y, image->height) / side * across + pixel_of(x, image->width) / side);
}

/* The strongest keypoint of every cell without a point becomes one. */
static kb_status tracks_refill(kb_tracker *t, const kb_image *image, const kb_image *mask, kb_workspace *ws)
{
    kb_features f;
    KB_INIT(f);
    f.keypoints = t->found;
    f.capacity = t->found_room;
    t->detect.mask = mask;
    kb_status status = kb_detect(image, &t->detect, ws, &f, NULL);
    t->detect.mask = NULL;
    if (status != KB_OK) return status;
    int32_t side = cell_side(t, image);
    float right = (float)(image->width - 1), bottom = (float)(image->height - 1);
    size_t cells = cell_of(image, side, right, bottom) + 1, mark = kbi_workspace_mark(ws);
    uint8_t *taken = kbi_workspace_array(ws, cells, 1);
    if (!taken) return KB_E_MEMORY;
    memset(taken, 0, cells);
    for (size_t i = 0; i < t->count; i++) taken[cell_of(image, side, t->tracks[i].x, t->tracks[i].y)] = 1;
    for (size_t i = 0; i < f.n && t->count < (size_t)t->o.max_points; i++) {
        const kb_keypoint *k = &t->found[i];
        uint8_t *cell = &taken[cell_of(image, side, k->x, k->y)];
        if (*cell) continue;
        *cell = 1;
        t->tracks[t->count++] = (kb_track){t->next_id++, k->x, k->y, k->x, k->y, 1, 0};
    }
    kbi_workspace_rewind(ws, mark);
    return KB_OK;
}

kb_status kb_tracker_add(kb_tracker *t, const kb_image *image, const kb_image *mask, kb_workspace *workspace,
                         kb_track *tracks, size_t capacity, size_t *count)
{
    if (!t || !tracks || !count) return KB_E_ARGUMENT;
    if (capacity < (size_t)t->o.max_points) return KB_E_SPACE;
    if (!image) return t->count = *count = 0, KB_OK;
    kb_status status = kbi_image_check(image);
    if (status == KB_OK && mask) status = kbi_image_check(mask);
    if (status != KB_OK) return status;
    if (mask && (mask->format != KB_FORMAT_GRAY8 || mask->width != image->width || mask->height != image->height))
        return KB_E_ARGUMENT;
    track_frame *last = &t->frames[t->last], *now = &t->frames[1 - t->last];
    status = frame_take(now, image, &t->o);
    if (status != KB_OK) {
        t->count = 0;
        return status;
    }
    if (last->width != now->width || last->height != now->height) t->count = 0; /* another camera, or the first frame */
    tracks_follow(t, last, now, mask);
    t->last = 1 - t->last;
    if ((double)t->count < REFILL * t->o.max_points) {
        kb_workspace local, *ws = kbi_workspace_or(workspace, &local);
        status = tracks_refill(t, image, mask, ws);
        kbi_workspace_release(&local);
    }
    if (status != KB_OK) t->count = 0;
    memcpy(tracks, t->tracks, t->count * sizeof *tracks);
    *count = t->count;
    return status;
}
