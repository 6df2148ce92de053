/* SPDX-License-Identifier: Apache-2.0 */
/* Which keypoints of several views show the same point, when the geometry between the views is known. */
#ifndef KBI_ASSOCIATE_H
#define KBI_ASSOCIATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keybits/advanced.h"

/* The region of a keypoint, brought into the common frame. */
typedef struct kbi_region {
    double x, y;
    double width; /* of the region it describes, px */
    double angle; /* degrees */
} kbi_region;

/* How far two regions may be apart that show the same point. */
typedef struct kbi_association {
    double position; /* share of the smaller width */
    double scale;    /* ratio of widths, above 1 */
    double angle;    /* degrees */
} kbi_association;
extern const kbi_association kbi_association_default;

/* The keypoint in the frame that homography h leads to; width_scale x size is the width of its region. */
kbi_region kbi_region_through(const double h[9], const kb_keypoint *keypoint, double width_scale);

/* Points grow view by view; of every view a point has at most one keypoint, and a keypoint belongs to one point. */
typedef struct kbi_tracks kbi_tracks;
kbi_tracks *kbi_tracks_create(const kbi_association *limits, double frame_width, double frame_height); /* or NULL */
/* The regions of the next view; those without a point near enough start one. point[i] receives the point of region i. The
 * pairs that fit best are taken first. */
kb_status kbi_tracks_add(kbi_tracks *tracks, const kbi_region *regions, size_t n, uint32_t *point);
size_t kbi_tracks_count(const kbi_tracks *tracks);
void kbi_tracks_free(kbi_tracks *tracks);

/* Regions that were chosen, so that no near duplicate of one is chosen too. */
typedef struct kbi_duplicates kbi_duplicates;
kbi_duplicates *kbi_duplicates_create(double frame_width, double frame_height); /* NULL when memory is out */
/* Is a chosen region within the limits of this one? */
bool kbi_duplicates_has(const kbi_duplicates *duplicates, const kbi_region *region, const kbi_association *limits);
kb_status kbi_duplicates_add(kbi_duplicates *duplicates, const kbi_region *region);
void kbi_duplicates_free(kbi_duplicates *duplicates);
/* Two points of an image this close are duplicates: as negatives of each other they would mislead the training. */
extern const kbi_association kbi_association_duplicate;

#endif
