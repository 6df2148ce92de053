/* SPDX-License-Identifier: Apache-2.0 */
#include "eval/paper.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const ev_paper_row rows[] = {
    /* name, key, Oxford, Notre Dame, Yosemite, HPatches matching, ms, frames per second, CPU ms per frame */
    {"BRISK", "brisk", 32.25, 69.82, 68.40, NAN, 14.94, NAN, NAN},
    {"ORB", "orb", 51.72, 38.02, 40.58, 15.30, 12.07, 29.177, 73.8},
    {"LDB", NULL, 51.53, 52.24, 49.78, NAN, 17.48, NAN, NAN},
    {"LATCH", "latch", 52.48, 47.04, 47.05, NAN, 101.89, NAN, NAN},
    {"BEBLID-256", "beblid256", 53.59, 36.42, 40.84, 19.95, 1.56, NAN, NAN},
    {"BAD-256", "bad256", 55.06, 30.97, 35.67, 22.19, 1.53, 29.970, 73.4},
    {"BAD-512", "bad512", 57.20, 31.77, 34.69, NAN, 2.77, 29.977, 89.4},
    {"RootSIFT", "rootsift", 64.13, 23.79, 32.16, NAN, NAN, NAN, NAN},
    {"HashSIFT-256", "hashsift256", 59.22, 9.49, 13.85, 32.24, 31.41, 18.124, 291.1},
    {"HashSIFT-512", "hashsift512", 62.21, 7.63, 10.96, 35.54, 33.80, 15.630, 353.3},
    {"SIFT", "sift", 56.40, 21.96, 28.07, NAN, 187.24, 5.548, 1062.1}, /* after all whose names end like it */
    {"BinBoost-256", NULL, 44.00, 15.76, 22.79, NAN, 84.65, 9.841, 565.3},
    {"BiSIFT", NULL, 57.70, 17.94, 20.82, NAN, 30.16, NAN, NAN},
    {"HardNet (deep)", NULL, 63.27, 0.57, 2.13, NAN, 763.08, 0.459, 13099},
    {"CDbin-256 (deep)", NULL, 53.51, 1.29, 4.43, 44.56, 1184.82, 0.319, 20195},
};
#define ROWS ((int)(sizeof rows / sizeof *rows))

const ev_paper_row *ev_paper_at(int index) { return index >= 0 && index < ROWS ? &rows[index] : NULL; }

const ev_paper_row *ev_paper_find(const char *name)
{
    const char *slash = strrchr(name, '/');
    if (slash) name = slash + 1;
    for (int i = 0; i < ROWS; i++)
        if (rows[i].key && strstr(name, rows[i].key)) return &rows[i];
    return NULL;
}
