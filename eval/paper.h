/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of the paper's tables (Suárez, Buenaposada, Baumela: "Revisiting binary local image description for
 * resource limited devices"), to stand beside ours. NaN where it gives none. */
#ifndef EVAL_PAPER_H
#define EVAL_PAPER_H

typedef struct ev_paper_row {
    const char *name;
    const char *key;        /* what our names of the same descriptor contain; NULL: we have none */
    double oxford_map;      /* per cent */
    double brown_notredame, brown_yosemite; /* FPR95, per cent */
    double hpatches_matching;               /* mAP, per cent, full split */
    double ms;              /* description of an image, Core i7 8750H */
    double fps, cpu_ms;     /* template matching, Snapdragon 855 */
} ev_paper_row;

/* Index from 0; NULL past the last. */
const ev_paper_row *ev_paper_at(int index);
/* The row that belongs to one of our names, such as "models/bad256.kbm" or "cv:orb"; NULL when the paper has none. */
const ev_paper_row *ev_paper_find(const char *name);

/* Table "steps other than description", Core i7 8750H, ms. */
#define EV_PAPER_DETECT_MS 13.33
#define EV_PAPER_MATCH_MS 4.65
#define EV_PAPER_FIT_MS 0.69

#endif
