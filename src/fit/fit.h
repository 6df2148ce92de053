/* What the files of this room share. The pipeline of a fit:
 *
 *     prepare.c   bad pairs and duplicates go, coordinates are normalised, pairs are ordered by quality
 *     search.c    samples, tests of their models, local optimisation, when to stop
 *     refine.c    the optimum of the robust sum of squares
 *     degensac.c     fundamental matrix only: what to do when most of the scene is one plane
 *     verify.c   whether what was found is more than accident
 *     fit.c       the public call
 *
 * homography.c and fundamental.c hold the mathematics of one geometry each behind the same struct of functions, and
 * linear.c the little linear algebra they need. Only + - * / and sqrt in double, in a fixed order: every machine gets
 * the same result. */
#ifndef KBI_FIT_H
#define KBI_FIT_H

#include "common/common.h"

#define FIT_MAX_SAMPLE 7
#define FIT_MAX_MODELS 3

/* Tukey's biweight, with c^2 = CUTOFF2 x threshold^2: rho(e) = 1 - (1 - e^2 / c^2)^3 up to c, then 1; its weight in
 * least squares is (1 - e^2 / c^2)^2. Small errors cost e^2 / threshold^2. Unlike least squares over the inliers it
 * does not care on which side of the threshold a pair falls, and leans on exact pairs more than on those from coarse
 * pyramid levels. */
#define FIT_CUTOFF2 3.0

/* normalised = (pixel - centre) x scale */
typedef struct fit_frame {
    double x, y, scale;
} fit_frame;

/* The pairs that take part, normalised, one array a coordinate. They lie in an order in which every prefix is a fair
 * sample of good and bad qualities, since a model is first tried on a prefix; `slot` leads from the rank by quality
 * (0 is the best) to the place in the arrays. */
typedef struct fit_pairs {
    int32_t n;
    double *x1, *y1, *x2, *y2;
    int32_t *origin; /* index in the caller's array */
    int32_t *slot;
    fit_frame frame1, frame2;
    double threshold2; /* the squared threshold of an inlier, in normalised units of image 2 */
    double chance;     /* how likely a wrong pair is an inlier of a given model by accident */
} fit_pairs;

/* Slots that take part in a least-squares step, and how much. */
typedef struct fit_list {
    int32_t n;
    int32_t *slot;
    double *weight;
} fit_list;

/* Weighted sum of squares around a model and its derivatives by the nine entries. */
typedef struct fit_normal {
    double matrix[81]; /* the sum of J^T J */
    double gradient[9];
} fit_normal;

typedef struct fit_kind {
    int32_t sample;       /* pairs in a minimal sample */
    double accident;      /* share of wrong pairs that a wrong model is assumed to gather at most */
    bool one_scale;       /* the error mixes both images, so both frames need the same scale */
    /* The probability that a point that may be anywhere lies within the threshold of where the model wants it. Half of
     * the normalised points have |x| + |y| <= 1: a density of about a quarter of all a unit of area. */
    double (*chance)(double threshold);
    /* Models through a sample of slots, at most FIT_MAX_MODELS; 0 when the sample is degenerate or impossible. */
    int32_t (*solve)(const fit_pairs *pairs, const int32_t *sample, double models[FIT_MAX_MODELS][9]);
    /* Squared errors of slots from..to-1 into error2[0..]; huge where the model cannot have made the pair. */
    void (*errors)(const double *model, const fit_pairs *pairs, int32_t from, int32_t to, double *error2);
    /* One weighted least-squares step over the listed slots, from a rough model. False when it cannot. */
    bool (*relax)(double *model, const fit_pairs *pairs, const fit_list *list);
    void (*normal)(const double *model, const fit_pairs *pairs, const fit_list *list, fit_normal *out);
    /* The unit directions (one or two) in which a model must not move, and the way back after a step. */
    int32_t (*gauge)(const double *model, double directions[2][9]);
    bool (*retract)(double *model);
} fit_kind;

extern const fit_kind kbi_fit_homography, kbi_fit_fundamental;

/* ---- prepare.c ---- */

/* Reads the pairs; *result becomes KB_FIT_FOUND when there is something to search. */
kb_status kbi_fit_prepare(const kb_pair *pairs, int32_t n, const kb_fit_options *options, const fit_kind *kind,
                         kb_workspace *workspace, fit_pairs *out, kb_fit_result *result);

/* ---- search.c ---- */

typedef struct fit_score {
    double cost;   /* sum of rho(error): lower is better */
    int32_t count; /* inliers */
} fit_score;

typedef struct fit_found {
    double model[9];
    fit_score score;
    int32_t iterations;
} fit_found;

/* Room for n pairs that every function of the search may use. */
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
} fit_limits;

/* Looks for the model of least cost. found->score.count is 0 when there is none. */
void kbi_fit_search(const fit_kind *kind, const fit_pairs *pairs, const fit_limits *limits, const fit_scratch *scratch,
                   fit_found *found);
/* The full score; errors stay in scratch->error2. */
fit_score kbi_fit_score(const fit_kind *kind, const fit_pairs *pairs, const double *model, const fit_scratch *scratch);
/* Iterated least squares with a shrinking threshold; takes the result over into found when it is better. */
void kbi_fit_optimise(const fit_kind *kind, const fit_pairs *pairs, const double *model, const fit_scratch *scratch,
                     fit_found *found);
/* Appends the slots from..to-1, whose errors begin at error2, that are within the cutoff, with Tukey's weights. */
void kbi_fit_list(const double *error2, int32_t from, int32_t to, double cutoff2, fit_list *list);

/* ---- refine.c ---- */

/* One step of Gauss and Newton (damping 0) or Levenberg and Marquardt from the model that `around` was computed at.
 * False when the equations have no solution. */
bool kbi_fit_step(const fit_kind *kind, const fit_normal *around, double damping, double *model);
/* Moves found->model to the nearest optimum of the cost. */
void kbi_fit_refine(const fit_kind *kind, const fit_pairs *pairs, const fit_scratch *scratch, fit_found *found);

/* ---- verify.c ---- */

/* Whether k inliers of n pairs are more than accident, for a model through m pairs. */
bool kbi_fit_meaningful(int32_t n, int32_t k, int32_t m, double chance);
/* The same for the inliers listed in scratch->list.slot, where crowds count once. */
bool kbi_fit_significant(const fit_kind *kind, const fit_pairs *pairs, const fit_scratch *scratch, int32_t count);
/* Points of image 2 that are all near one line determine no homography, however many they are: what is off the line,
 * with two pairs for the freedoms that the line leaves, must be more than accident too. */
bool kbi_fit_off_line(const fit_pairs *pairs, const int32_t *inliers, int32_t count);

/* ---- degensac.c ---- */

/* For a fundamental matrix whose inliers lie mostly on one plane: looks for a better one through that plane. False
 * when what is off the plane is no more than accident, so that the matrix is not determined. */
bool kbi_fit_off_plane(const fit_pairs *pairs, const fit_limits *limits, const fit_scratch *scratch, fit_found *found);

/* ---- linear.c ---- */

/* Eigenvectors of a symmetric n x n matrix (n <= 9) by Jacobi rotations: row i of vectors belongs to values[i],
 * ascending. The matrix is destroyed. */
void kbi_fit_eigen(double *matrix, int32_t n, double *values, double *vectors);
/* Solves A x = b for a symmetric positive definite 9 x 9 A by Cholesky; false when it is not one. A is destroyed. */
bool kbi_fit_solve9(double *a, const double *b, double *x);
/* out = a x b, 3 x 3, row major. */
void kbi_fit_multiply3(const double *a, const double *b, double *out);
/* The matrix of cofactors. */
void kbi_fit_cofactors3(const double *m, double *out);

#endif
