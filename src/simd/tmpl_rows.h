/* SPDX-License-Identifier: Apache-2.0 */
/* The row functions of the detectors, of which compilers make vector code by themselves; for the narrow rests of a tier
 * and, where wider vectors help, instead of the plain ones. */
#ifndef KBI_TMPL_ROWS_H
#define KBI_TMPL_ROWS_H

#include "simd/vec.h"

#define KBI_ROWS            __attribute__((unused)) VEC_TARGET static
#define KBI_ROWS_HELPER     __attribute__((unused)) VEC_TARGET static
#define KBI_ROWS_NAME(name) name

#endif
