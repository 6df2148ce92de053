/* SPDX-License-Identifier: Apache-2.0 */
/* Words of 64 bits: read at any address, and their bits counted. */
#ifndef KBI_BITS_H
#define KBI_BITS_H

#include "common/common.h"

#if defined(__GNUC__)
#    define KBI_ALWAYS __attribute__((always_inline, unused))
#else
#    define KBI_ALWAYS
#endif

static inline KBI_ALWAYS uint64_t kbi_load64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Whether every CPU that this code is compiled for counts bits by an instruction. */
#if defined(__POPCNT__) || defined(__aarch64__) || defined(__wasm__)
#    define KBI_COUNTS_BITS true
#else
#    define KBI_COUNTS_BITS false
#endif

/* Without an instruction for it the compiler's builtin is a slow call: sums of neighbours in 2, 4, 8, then all bits. */
static inline KBI_ALWAYS uint32_t kbi_count_bits(uint64_t v, bool instruction)
{
#if defined(__GNUC__)
    if (instruction) return (uint32_t)__builtin_popcountll(v);
#else
    (void)instruction;
#endif
#if UINTPTR_MAX <= UINT32_MAX /* registers of 32 bits: each half for itself, as far as that goes */
    uint32_t a = (uint32_t)v, b = (uint32_t)(v >> 32);
    a -= a >> 1 & 0x55555555u;
    b -= b >> 1 & 0x55555555u;
    a = (a & 0x33333333u) + (a >> 2 & 0x33333333u) + (b & 0x33333333u) + (b >> 2 & 0x33333333u);
    a = (a & 0x0f0f0f0fu) + (a >> 4 & 0x0f0f0f0fu);
    return a * 0x01010101u >> 24;
#else
    v -= (v >> 1) & 0x5555555555555555u;
    v = (v & 0x3333333333333333u) + ((v >> 2) & 0x3333333333333333u);
    v = (v + (v >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (uint32_t)((v * 0x0101010101010101u) >> 56);
#endif
}

#endif
