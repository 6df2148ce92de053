/* Which keypoints of several views show the same point, when the geometry between the views is known. */
#ifndef KB_ASSOCIATE_H
#define KB_ASSOCIATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keybits/keybits.h"

/* A keypoint brought into the common frame. */
typedef struct kb_place {
    double x, y;
    double width; /* of the region it describes, px */
    double angle; /* degrees */
} kb_place;

/* How far two places of one point may be apart. */
typedef struct kb_tolerance {
    double position; /* share of the smaller width */
    double scale;    /* ratio of widths, above 1 */
    double angle;    /* degrees */
} kb_tolerance;
extern const kb_tolerance kb_tolerance_default;

/* The keypoint in the frame that homography h leads to; width_scale x size is the width of its region. */
kb_place kb_place_through(const double h[9], const kb_keypoint *keypoint, double width_scale);

/* Points grow view by view; of every view a point has at most one keypoint, and a keypoint belongs to one point. */
typedef struct kb_tracks kb_tracks;
kb_tracks *kb_tracks_create(const kb_tolerance *tolerance, double frame_width, double frame_height);
/* The places of the next view; those without a point near enough start one. point[i] receives the point of place i. The
 * pairs that fit best are taken first. */
void kb_tracks_add(kb_tracks *tracks, const kb_place *places, size_t n, uint32_t *point);
size_t kb_tracks_count(const kb_tracks *tracks);
void kb_tracks_free(kb_tracks *tracks);

/* Places that were taken, so that no near copy of one is taken too. */
typedef struct kb_crowd kb_crowd;
kb_crowd *kb_crowd_create(double frame_width, double frame_height);
/* Is a taken place within tolerance of this one? */
bool kb_crowd_has(const kb_crowd *crowd, const kb_place *place, const kb_tolerance *tolerance);
void kb_crowd_take(kb_crowd *crowd, const kb_place *place);
void kb_crowd_free(kb_crowd *crowd);
/* Two points of an image this close are one for our purposes: as negatives of each other they would teach nonsense. */
extern const kb_tolerance kb_tolerance_copy;

#endif
