/* SPDX-License-Identifier: Apache-2.0 */
/* The row functions of the detectors, compiled for this set: compilers turn them into vector code by themselves. They
 * serve for the ends of rows and, where wider vectors help, in the place of the plain kernels. */
#ifndef KBI_TMPL_ROWS_H
#define KBI_TMPL_ROWS_H

#include "simd/vec.h"

#define KBI_ROWS            __attribute__((unused)) VEC_TARGET static
#define KBI_ROWS_HELPER     __attribute__((unused)) VEC_TARGET static
#define KBI_ROWS_NAME(name) name

#endif
