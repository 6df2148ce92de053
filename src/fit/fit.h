/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this module. The pipeline of a fit:
 *
 *     prepare.c   bad pairs and duplicates go, coordinates are normalised, pairs are ordered by quality
 *     search.c    samples, tests of their models, local optimisation, when to stop
 *     refine.c    the optimum of the robust sum of squares
 *     degensac.c  fundamental and essential matrix: what to do when most of the scene is one plane
 *     chance.c    whether the inliers are more than chance explains
 *     fit.c       the public call
 *
 * Each geometry has a file with its mathematics and a fit_kind, the struct of functions that the search calls:
 * homography.c, affine.c (similarities too), fundamental.c, essential.c with five_point.c, rotation.c and pose.c.
 * camera.c reads cameras, linear.c and polynomial.c solve small systems and polynomials. All of it is + - * / and sqrt
 * in double, in a fixed order, so that every machine gets the same result. */
#ifndef KBI_FIT_H
#define KBI_FIT_H

#include "common/common.h"

#define FIT_MAX_SAMPLE 7
#define FIT_MAX_MODELS 10 /* the 5-point solver gives up to ten */
#define FIT_MODEL 12      /* entries of the largest model: a 3x4 pose */
#define FIT_HALF_ROOT 0.70710678118654752 /* 1 / sqrt(2) */
#define FIT_GAUGE 6       /* directions in which a model must not move, at most */

/* Tukey's biweight, with c^2 = CUTOFF2 x threshold^2: rho(e) = 1 - (1 - e^2 / c^2)^3 up to c, then 1; its weight in
 * least squares is (1 - e^2 / c^2)^2. Small errors cost e^2 / threshold^2. Unlike least squares over the inliers it
 * does not care on which side of the threshold a pair falls, and leans on exact pairs more than on those from coarse
 * pyramid levels. */
#define FIT_CUTOFF2 3.0

/* normalised = (pixel - centre) x scale */
typedef struct fit_frame {
    double x, y, scale;
} fit_frame;

/* The caller's correspondences: n rows of `stride` doubles, point 1 (`stride` - 2 coordinates), then x2, y2. */
typedef struct fit_input {
    const double *values;
    int32_t stride, n;
} fit_input;

/* The pairs that take part, normalised, one array per coordinate. They are in an order in which every prefix is a fair
 * sample of good and bad qualities, since a model is first tried on a prefix; `slot` leads from the rank by quality
 * (0 is the best) to the place in the arrays. */
typedef struct fit_pairs {
    int32_t n;
    double *x1, *y1, *x2, *y2;
    double *z1; /* pose only: Z of the scene points; else NULL */
    double *weight; /* of the squared error of each pair; NULL: 1 */
    float *rough; /* the same coordinates as floats, n of each in this order, for kind->count_near; else NULL */
    fit_input input; /* the caller's pairs */
    int32_t *origin; /* the index of each pair in `input` */
    int32_t *slot;
    fit_frame frame1, frame2;
    double z;          /* pose: the third coordinate of the centre of frame1 */
    double pixel;      /* px of image 2 per normalised unit */
    double threshold2; /* the squared threshold of an inlier, in normalised units of image 2 */
    double chance;     /* mean probability that an outlier is an inlier of a given model by chance */
    double candidates; /* matches before a filter chose, per pair given; 1: nothing chose */
    double looks;      /* how many fits the caller makes to take the best one, at least 1 */
    double place;      /* px within which, in both images, pairs are one place */
} fit_pairs;

/* Slots that take part in a least-squares step, and the weight of each. */
typedef struct fit_list {
    int32_t n;
    int32_t *slot;
    double *weight;
} fit_list;

/* Weighted sum of squares around a model and its derivatives by the entries. */
typedef struct fit_normal {
    double matrix[FIT_MODEL * FIT_MODEL]; /* the sum of J^T J, kind->size rows of kind->size */
    double gradient[FIT_MODEL];
} fit_normal;

struct fit_limits;
struct fit_scratch;
struct fit_found;

typedef struct fit_kind {
    const char *name;
    int32_t sample;       /* pairs in a minimal sample */
    int32_t size;         /* entries of a model: 9, or 12 for a pose */
    bool calibrated;      /* coordinates are rays of calibrated cameras, not pixels */
    bool from_line;       /* points on one line determine it */
    bool epipolar;        /* a point is constrained to a line only: points on one plane agree with many wrong models */
    double beta;          /* PROSAC's beta: share of the pairs that a wrong model has as inliers at most */
    bool one_scale;       /* the error mixes both images, so both frames need the same scale */
    /* The probability that a point that may be anywhere lies within the threshold of where the model wants it. Half of
     * the normalised points have |x| + |y| <= 1: a density of about a quarter of them per unit of area. */
    double (*chance)(double threshold);
    /* Models through a sample of slots, at most FIT_MAX_MODELS; 0 when the sample is degenerate or impossible. */
    int32_t (*solve)(const fit_pairs *pairs, const int32_t *sample, double models[FIT_MAX_MODELS][FIT_MODEL]);
    /* Squared errors of slots from..to-1 into error2[0..]; huge where the model cannot have made the pair. */
    void (*errors)(const double *model, const fit_pairs *pairs, int32_t from, int32_t to, double *error2);
    /* Makes the errors of all slots huge where the cameras cannot see the point in front of them. NULL: the model does
     * not say where points are. */
    void (*screen)(const double *model, const fit_pairs *pairs, double *error2);
    /* How many pairs are within the cutoff, but for rounding, by pairs->rough. NULL where there is no faster way. */
    int32_t (*count_near)(const double *model, const fit_pairs *pairs);
    /* One weighted least-squares step over the listed slots, from a rough model. False when it cannot. NULL: a step of
     * Gauss and Newton by `normal`. */
    bool (*relax)(double *model, const fit_pairs *pairs, const fit_list *list);
    void (*normal)(const double *model, const fit_pairs *pairs, const fit_list *list, fit_normal *out);
    /* The orthonormal directions in which a model must not move, and the way back after a step. */
    int32_t (*gauge)(const double *model, double directions[FIT_GAUGE][FIT_MODEL]);
    bool (*retract)(double *model);
} fit_kind;

/* What all homographies share, and both epipolar geometries: the error and its derivatives. */
#define FIT_BY_TRANSFER                                                                                                \
    .size = 9, .beta = 0.01, .chance = kbi_fit_disc_chance, .errors = kbi_fit_transfer_errors,                         \
    .count_near = kbi_fit_transfer_near, .normal = kbi_fit_transfer_normal
#define FIT_BY_SAMPSON                                                                                                 \
    .size = 9, .epipolar = true, .beta = 0.05, .errors = kbi_fit_sampson_errors, .normal = kbi_fit_sampson_normal

#define FIT_POSE_SIZE 12
extern const fit_kind kbi_fit_homography, kbi_fit_fundamental, kbi_fit_similarity, kbi_fit_affine, kbi_fit_essential,
    kbi_fit_rotation, kbi_fit_pose;
/* The kind of a public geometry; NULL for another value. */
const fit_kind *kbi_fit_kind_of(kb_geometry geometry);

/* ---- what geometries share ---- */

/* homography.c: transfer error in image 2 and its derivatives; the probability of an accidental inlier in a disc. */
void kbi_fit_transfer_errors(const double *h, const fit_pairs *pairs, int32_t from, int32_t to, double *error2);
int32_t kbi_fit_transfer_near(const double *h, const fit_pairs *pairs);
void kbi_fit_transfer_normal(const double *h, const fit_pairs *pairs, const fit_list *list, fit_normal *out);
double kbi_fit_disc_chance(double threshold);
/* fundamental.c: Sampson's error and its derivatives; the probability of an accidental inlier in a band
 * that is two thresholds wide and about three units long. */
void kbi_fit_sampson_errors(const double *f, const fit_pairs *pairs, int32_t from, int32_t to, double *error2);
void kbi_fit_sampson_normal(const double *f, const fit_pairs *pairs, const fit_list *list, fit_normal *out);
double kbi_fit_band_chance(double threshold);
/* The nine products of coordinates whose sum, weighted by the entries of F, is x2^T F x1. */
void kbi_fit_products(const fit_pairs *pairs, int32_t s, double a[9]);
/* Whether n sampled points can lie in front of both cameras: the oriented epipolar constraint. */
bool kbi_fit_oriented(const double *f, const fit_pairs *pairs, const int32_t *sample, int32_t n);
/* Gauss-Jordan with full pivoting, which swaps columns: the first `rows` of column[] say which the pivots' were, the
 * rest which are free. */
bool kbi_fit_eliminate(double (*a)[9], int32_t rows, int32_t column[9]);
/* The vector of the null space in which column[free_column] is 1 and the other free columns are 0. */
void kbi_fit_null_vector(double (*a)[9], int32_t rows, const int32_t column[9], int32_t free_column, double *f);
/* rotation.c: the six directions that leave SO(3) at r, in the first nine entries; the nearest rotation. */
int32_t kbi_fit_rotation_gauge(const double *r, double directions[FIT_GAUGE][FIT_MODEL]);
bool kbi_fit_rotation_nearest(double *r);
/* The rotation that takes the pair of directions a1, a2 to b1, b2 as well as can be. False when they are parallel. */
bool kbi_fit_rotation_align(const double *a1, const double *a2, const double *b1, const double *b2, double *r);
/* essential.c: rotation and translation (unit) out of E, with most of the listed slots in front of both cameras. */
bool kbi_fit_essential_pose(const double *e, const fit_pairs *pairs, const int32_t *list, int32_t count,
                            double rotation[9], double translation[3]);
/* Whether the inliers of E in scratch->list have parallax: a rotation alone does not explain them. */
bool kbi_fit_has_parallax(const fit_pairs *pairs, const struct fit_limits *limits, const struct fit_scratch *scratch,
                          const struct fit_found *found);
/* five_point.c: essential matrices through five pairs. */
int32_t kbi_fit_five_point(const fit_pairs *pairs, const int32_t *sample, double models[FIT_MAX_MODELS][FIT_MODEL]);
/* polynomial.c: the real roots of c[0] + c[1] x + ... + c[degree] x^degree, degree <= 10, ascending. */
int32_t kbi_fit_real_roots(const double *c, int32_t degree, double *roots);

/* ---- camera.c ---- */
/* KB_E_STRUCT, or KB_E_ARGUMENT for NULL and for numbers that no camera has. */
kb_status kbi_camera_read(const kb_camera *camera, kb_camera *out);

/* ---- prepare.c ---- */

/* Reads the pairs in kbi_fit_prepare_bytes of memory; KB_FIT_FOUND when there is something to search. */
kb_fit_result kbi_fit_prepare(const fit_input *input, const kb_fit_options *options, const fit_kind *kind,
                              void *memory, fit_pairs *out);

/* The hash of a point, the same for equal points. Its bits from 20 on are well mixed for coordinates of any kind. */
uint64_t kbi_fit_hash_point(const double *point, int32_t dimensions);

/* Bytes of memory for n pairs, doubles first; SIZE_MAX: more than size_t holds. */
size_t kbi_fit_prepare_bytes(size_t n);

/* ---- fit.c ---- */

/* The workspace of a fit to up to n pairs (kbi_workspace_measure). */
kb_status kbi_fit_measure(size_t n, kb_workspace *workspace);

/* ---- search.c ---- */

typedef struct fit_score {
    double cost;   /* sum of rho(error): lower is better */
    int32_t count; /* inliers */
} fit_score;

typedef struct fit_found {
    double model[FIT_MODEL];
    fit_score score;
    int32_t iterations;
    int32_t places; /* how many different places the inliers are (chance.c) */
    bool measured; /* the model is retracted, and its errors are in scratch->error2 */
} fit_found;

/* Memory for n pairs that every function of the search may overwrite. */
typedef struct fit_scratch {
    double *error2;
    fit_list list;
    fit_pairs part; /* room for a subset of the pairs: the arrays of coordinates and slot */
} fit_scratch;

typedef struct fit_limits {
    double confidence;
    int32_t max_iterations;
    uint64_t seed;
    bool by_rank; /* PROSAC; false: RANSAC */
    bool believable; /* end when chance would explain whatever may still be found; the pairs are not scratch->part */
} fit_limits;

/* Appends slot s of pairs to a subset. */
static inline void kbi_fit_part_add(fit_pairs *part, const fit_pairs *pairs, int32_t s)
{
    part->x1[part->n] = pairs->x1[s], part->y1[part->n] = pairs->y1[s];
    part->x2[part->n] = pairs->x2[s], part->y2[part->n] = pairs->y2[s];
    if (part->weight) part->weight[part->n] = pairs->weight ? pairs->weight[s] : 1;
    part->slot[part->n] = part->n;
    part->n++;
}
/* Looks for the model of the smallest cost. found->score.count is 0 when there is none. */
void kbi_fit_search(const fit_kind *kind, const fit_pairs *pairs, const fit_limits *limits, const fit_scratch *scratch,
                   fit_found *found);
/* The score over all pairs, whose errors stay in scratch->error2. */
fit_score kbi_fit_score(const fit_kind *kind, const fit_pairs *pairs, const double *model, const fit_scratch *scratch);
/* Iterated least squares with a shrinking threshold; takes the result over into found when it is better. */
void kbi_fit_optimise(const fit_kind *kind, const fit_pairs *pairs, const double *model, const fit_scratch *scratch,
                     fit_found *found);
/* The squared errors of slots from..to-1 by the weights of the pairs into error2[0..]. */
void kbi_fit_errors(const fit_kind *kind, const double *model, const fit_pairs *pairs, int32_t from, int32_t to,
                    double *error2);
/* Appends the slots from..to-1 with an error within the cutoff, with Tukey's weights by those of the pairs; error2[0]
 * is slot `from`'s. */
void kbi_fit_list(const fit_pairs *pairs, const double *error2, int32_t from, int32_t to, double cutoff2,
                  fit_list *list);

/* ---- refine.c ---- */

/* One step of Gauss and Newton (damping 0) or Levenberg and Marquardt from the model that `around` was computed at.
 * False when the equations have no solution. */
bool kbi_fit_step(const fit_kind *kind, const fit_normal *around, double damping, double *model);
/* Moves found->model to the nearest optimum of the cost. */
void kbi_fit_refine(const fit_kind *kind, const fit_pairs *pairs, const fit_scratch *scratch, fit_found *found);

/* ---- chance.c ---- */

/* Whether k inliers of n pairs are more than chance explains, for a model through m pairs and one of `looks`. */
bool kbi_fit_meaningful(int32_t n, int32_t k, int32_t m, double chance, double looks);
/* Thins n slots to one per place: a slot is dropped when it lies within the place of one that stays. The slots are the
 * listed ones, or the first n when the list is NULL; out may be the list. Overwrites the arrays of scratch->part. */
int32_t kbi_fit_places(const fit_pairs *pairs, const int32_t *list, int32_t n, const fit_scratch *scratch,
                       int32_t *out);
/* Whether the inliers listed in scratch->list.slot, and their places in scratch->part.slot, are more than chance
 * explains, where places in a crowd count once. */
bool kbi_fit_significant(const fit_kind *kind, const fit_pairs *pairs, const fit_scratch *scratch,
                         const struct fit_found *found);
/* The min number of inliers that is more than chance explains among all pairs; 0: even all pairs would be too few. */
int32_t kbi_fit_least_inliers(const fit_kind *kind, const fit_pairs *pairs, const fit_scratch *scratch);
/* Points of image 2 that all lie near one line determine no homography, however many they are. So the pairs off the
 * line must be more than chance explains too, where two of them fix the freedoms that the line leaves. */
bool kbi_fit_off_line(const fit_pairs *pairs, const int32_t *places, int32_t count);

/* ---- degensac.c ---- */

/* For a fundamental or essential matrix whose inliers lie mostly on one plane: looks for a better one through that
 * plane. False when chance explains the inliers off the plane: then they determine no fundamental matrix. */
bool kbi_fit_off_plane(const fit_kind *kind, const fit_pairs *pairs, const fit_limits *limits,
                       const fit_scratch *scratch, fit_found *found);

/* ---- linear.c ---- */

/* Eigenvectors of a symmetric n x n matrix (n <= 9) by Jacobi rotations: row i of vectors belongs to values[i],
 * ascending. The matrix is destroyed. */
void kbi_fit_eigen(double *matrix, int32_t n, double *values, double *vectors);
/* The same of m^T m: the squared singular values of a 3 x 3 matrix, and its right singular vectors. */
void kbi_fit_right_singular(const double *m, double values[3], double vectors[9]);
/* Brings nine entries to unit norm; false when their norm is 0 or not finite. */
bool kbi_fit_unit9(double *v);
/* Solves A x = b for a symmetric positive definite n x n A; false when it is not one. A is destroyed. */
bool kbi_fit_solve(double *a, const double *b, int32_t n, double *x);
/* out = a x b, 3 x 3, row major. */
void kbi_fit_multiply3(const double *a, const double *b, double *out);
/* out = a x b, the cross product; out is neither. */
void kbi_fit_cross3(const double *a, const double *b, double *out);
static inline double kbi_fit_dot3(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
/* The matrix of cofactors. */
void kbi_fit_cofactors3(const double *m, double *out);

/* ---- any.c ---- */

#define FIT_ANY_THRESHOLDS 3.0 /* of KB_GEOMETRY_ANY, the homography's by the other's: as the defaults are */
/* kb_fit for KB_GEOMETRY_ANY, with options that were read; they are changed. */
kb_status kbi_fit_any(const kb_point_pair *pairs, size_t n, kb_fit_options *o, kb_workspace *workspace,
                      uint8_t *inliers, kb_fit_report *report, kb_error *error);

/* Names of values, for kb_name; NULL when there is none. */
const char *kbi_geometry_name(int32_t geometry);
const char *kbi_fit_result_name(int32_t result);

#endif
