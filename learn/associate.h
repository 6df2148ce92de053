/* Which keypoints of several views show the same point, when the geometry between the views is known. */
#ifndef KBI_ASSOCIATE_H
#define KBI_ASSOCIATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keybits/keybits.h"

/* A keypoint brought into the common frame. */
typedef struct kbi_place {
    double x, y;
    double width; /* of the region it describes, px */
    double angle; /* degrees */
} kbi_place;

/* How far two places of one point may be apart. */
typedef struct kbi_tolerance {
    double position; /* share of the smaller width */
    double scale;    /* ratio of widths, above 1 */
    double angle;    /* degrees */
} kbi_tolerance;
extern const kbi_tolerance kbi_tolerance_default;

/* The keypoint in the frame that homography h leads to; width_scale x size is the width of its region. */
kbi_place kbi_place_through(const double h[9], const kb_keypoint *keypoint, double width_scale);

/* Points grow view by view; of every view a point has at most one keypoint, and a keypoint belongs to one point. */
typedef struct kbi_tracks kbi_tracks;
kbi_tracks *kbi_tracks_create(const kbi_tolerance *tolerance, double frame_width, double frame_height);
/* The places of the next view; those without a point near enough start one. point[i] receives the point of place i. The
 * pairs that fit best are taken first. */
void kbi_tracks_add(kbi_tracks *tracks, const kbi_place *places, size_t n, uint32_t *point);
size_t kbi_tracks_count(const kbi_tracks *tracks);
void kbi_tracks_free(kbi_tracks *tracks);

/* Places that were taken, so that no near copy of one is taken too. */
typedef struct kbi_crowd kbi_crowd;
kbi_crowd *kbi_crowd_create(double frame_width, double frame_height);
/* Is a taken place within tolerance of this one? */
bool kbi_crowd_has(const kbi_crowd *crowd, const kbi_place *place, const kbi_tolerance *tolerance);
void kbi_crowd_take(kbi_crowd *crowd, const kbi_place *place);
void kbi_crowd_free(kbi_crowd *crowd);
/* Two points of an image this close are one for our purposes: as negatives of each other they would teach nonsense. */
extern const kbi_tolerance kbi_tolerance_copy;

#endif
