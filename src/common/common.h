/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by all modules: checks of the floating point, errors, workspace, parallel loops, and mathematics with the same
 * result on every machine. */
#ifndef KBI_COMMON_H
#define KBI_COMMON_H

/* MinGW: the C library's printf instead of the system's, which does not know %zu. */
#if defined(__MINGW32__) && !defined(__USE_MINGW_ANSI_STDIO)
#    define __USE_MINGW_ANSI_STDIO 1
#endif

#include <float.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "keybits/advanced.h"

/* The same bits everywhere need plain IEEE arithmetic: floats evaluated as floats (method 16 differs only for half
 * precision), no reordering, and no multiplication and addition fused into one rounding. gcc fuses by default and
 * ignores the standard's pragma, so it gets one of its own where the target has such an instruction. */
#ifdef __FAST_MATH__
#    error "keybits must not be built with -ffast-math: it would give other bits on other machines"
#endif
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#    error "keybits needs floats evaluated as floats; on 32-bit x86 build with -msse2 -mfpmath=sse"
#endif
#if defined(__clang__)
#    pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#    if defined(__FP_FAST_FMA) || defined(__FP_FAST_FMAF)
#        pragma GCC optimize("fp-contract=off")
#    endif
#elif defined(_MSC_VER)
#    pragma fp_contract(off)
#endif

/* C99 has no static assertion. An array may be declared again, as in the amalgamation. */
#define KBI_STATIC_ASSERT(name, condition) extern char name[(condition) ? 1 : -1]

#define KBI_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Internal functions and tables that macros define are static where all sources are one file (scripts/amalgamate). */
#ifdef KBI_STATIC
#    define KBI_EXTERN KBI_STATIC
#else
#    define KBI_STATIC
#    define KBI_EXTERN extern
#endif

#define KBI_ALIGN 64 /* the alignment of every workspace buffer: a cache line, and the widest vector */
static inline size_t kbi_round_up(size_t bytes) { return (bytes + KBI_ALIGN - 1) / KBI_ALIGN * KBI_ALIGN; }

static inline int32_t kbi_min_i(int32_t a, int32_t b) { return a < b ? a : b; }
static inline size_t kbi_min_z(size_t a, size_t b) { return a < b ? a : b; }
static inline int32_t kbi_max_i(int32_t a, int32_t b) { return a > b ? a : b; }
/* floor(v) and floor(v + 0.5) for |v| below 2^31, without a call into the C library. */
static inline int32_t kbi_floor_i(double v)
{
    int32_t i = (int32_t)v;
    return i - (v < i);
}
static inline int32_t kbi_round_i(double v) { return kbi_floor_i(v + 0.5); }
static inline int32_t kbi_clamp_i(int32_t v, int32_t lo, int32_t hi) { return v < lo ? lo : v > hi ? hi : v; }

/* For clang, a row that has nothing to do with others. Where a loop reads a row at neighbouring places, it would keep
 * what was loaded for the next rounds, and then could not turn the loop into vector code. */
static inline const void *kbi_row_apart(const void *row)
{
#ifdef __clang__
    __asm__("" : "+r"(row));
#endif
    return row;
}

/* ---- structs that cross the boundary of the library and may grow (options.c) ----
 * Each starts with struct_size, which the caller sets. A caller built against a newer header has a longer one: the
 * fields that this version does not know must be zero, since it cannot obey them. No struct has grown since the first
 * release, so a shorter one is an error; the first that grows brings its former sizes here. */
#define KBI_STRUCT_LIMIT 4096 /* no version will have a larger struct: a size above it is not a size */

/* Copies the caller's struct over a zeroed one of `known` bytes. NULL source: all zero, which means all defaults.
 * KB_E_STRUCT: see above. */
kb_status kbi_struct_read(void *destination, size_t known, const void *source);
#define KBI_STRUCT_READ(type, local, source) kbi_struct_read((local), sizeof(type), (source))

/* Whether a struct that is to be filled has a size that can be. */
kb_status kbi_struct_check(const void *given, size_t known);
#define KBI_STRUCT_CHECK(type, given) kbi_struct_check((given), sizeof(type))

/* Fills the caller's struct from a full one of `known` bytes; struct_size stays the caller's. */
void kbi_struct_write(void *destination, size_t known, const void *source);
#define KBI_STRUCT_WRITE(type, destination, source) kbi_struct_write((destination), sizeof(type), (source))

/* ---- errors ---- */
/* Both fill *error unless it is NULL, and return status, so that a failure is one line. kbi_fail_at names the field of
 * the input at fault (static storage) and its row, -1 where it has none. */
#if defined(__MINGW32__) && !defined(__clang__)
#    define KBI_PRINTF(string, first) __attribute__((format(gnu_printf, string, first)))
#elif defined(__GNUC__)
#    define KBI_PRINTF(string, first) __attribute__((format(printf, string, first)))
#else
#    define KBI_PRINTF(string, first)
#endif
KBI_PRINTF(3, 4) kb_status kbi_fail(kb_error *error, kb_status status, const char *format, ...);
KBI_PRINTF(5, 6)
kb_status kbi_fail_at(kb_error *error, kb_status status, const char *field, int32_t row, const char *format, ...);
/* KB_E_STRUCT, with its sentence: what KBI_STRUCT_READ and KBI_STRUCT_CHECK found. */
kb_status kbi_fail_struct(kb_error *error);
/* A status that has no details, with its sentence. */
kb_status kbi_fail_status(kb_error *error, kb_status status);
/* The content of *error before a call: no text, no field. */
void kbi_error_clear(kb_error *error);

/* ---- presets (presets.c) ---- */
/* Whether two words of letters and digits are the same in any case. */
bool kbi_same_word(const char *a, const char *b);
/* The scale of a preset by name, in any case; 0 for an unknown name or NULL. */
float kbi_preset_scale(const char *name);
/* The presets by their index; NULL past the last. */
const char *kbi_preset_name(int32_t index);

/* ---- allocation (allocator.c) ---- */
/* The caller's allocator, or malloc and free for NULL; KB_E_ARGUMENT when a function is missing. */
kb_status kbi_allocator_read(kb_allocator *destination, const kb_allocator *source, kb_error *error);
void *kbi_allocate(const kb_allocator *allocator, size_t bytes);
/* count x size bytes; NULL when that is too much too. */
void *kbi_allocate_array(const kb_allocator *allocator, size_t count, size_t size);
/* A larger block with the first `used` bytes of the old one, which is released; without memory the old one stays. */
void *kbi_reallocate(const kb_allocator *allocator, void *block, size_t used, size_t count, size_t size);
/* As kbi_allocate, cleared. */
void *kbi_allocate_zeros(const kb_allocator *allocator, size_t bytes);
/* memory may be NULL. */
void kbi_deallocate(const kb_allocator *allocator, const void *memory);

/* ---- workspace (workspace.c) ----
 * A stack: buffers are taken from one block, and a call gives its buffers back at its end
 *
 *     kb_workspace local, *ws = kbi_workspace_or(workspace, &local);
 *     ... kbi_workspace_get(ws, bytes) ...
 *     return kbi_workspace_end(&local, status, limits, error);
 *
 * so that calls within calls share it. A buffer that does not fit into the block is allocated apart, and at the end of
 * the call the block is made large enough for the next call. */
struct kb_workspace {
    kb_allocator allocator;
    void *block;   /* as the allocator gave it; NULL in a caller's buffer */
    uint8_t *base; /* aligned to KBI_ALIGN */
    size_t size;   /* bytes at base */
    size_t used, peak;
    struct kbi_chunk *chunks; /* the last one first */
    size_t chunk_bytes;
    bool fixed;     /* in a caller's buffer: does not grow */
    bool measures;  /* counts and gives no memory: kbi_workspace_measure */
    bool temporary; /* for one call */
    size_t missing; /* min number of bytes that the last failed request of a call lacked; 0: none failed */
    struct kb_workspace *of_call; /* of the `local` of a call: the workspace that it uses, */
    size_t of_call_mark;          /* and what was used of it before */
};

/* At least `bytes` bytes aligned to KBI_ALIGN, not cleared; NULL when memory is out. bytes may be 0. For the thread of
 * the call alone. */
void *kbi_workspace_get(kb_workspace *workspace, size_t bytes);
/* count x size bytes; NULL when the product does not fit into size_t, too. */
void *kbi_workspace_array(kb_workspace *workspace, size_t count, size_t size);
static inline size_t kbi_workspace_mark(const kb_workspace *workspace) { return workspace->used; }
void kbi_workspace_rewind(kb_workspace *workspace, size_t mark);

/* A workspace that only counts: kbi_workspace_get gives addresses that must not be used, and `peak` tells what a
 * workspace would need. The code that lays out a call's buffers runs on it, so the number is exact. */
void kbi_workspace_measure(kb_workspace *workspace);
/* Makes room for `bytes` in all, in one allocation; the workspace is empty. False when memory is out. */
bool kbi_workspace_grow(kb_workspace *workspace, size_t bytes);

/* Bytes held now, including the workspace itself. */
size_t kbi_workspace_bytes(const kb_workspace *workspace);
/* The end of kb_workspace_reserve: the workspace grows to `payload`, and *bytes receives what it holds then; without a
 * workspace, what one would need. One of the two may be NULL. */
kb_status kbi_workspace_reserve(kb_workspace *workspace, size_t payload, size_t *bytes, kb_error *error);
/* Bytes that a workspace with room for `payload` takes, a caller's buffer at any address included. */
size_t kbi_workspace_total(size_t payload);

/* For functions whose workspace may be NULL: `local` stands in, and kbi_workspace_release(&local) gives its memory back
 * (it does nothing when the caller's own was used). */
kb_workspace *kbi_workspace_or(kb_workspace *given, kb_workspace *local);
void kbi_workspace_release(kb_workspace *workspace);
/* Whether a call failed since its caller's buffer is too small. The workspace counts from here to kbi_workspace_end, so
 * that the measuring function of the call tells what all of it needs, not only what its first buffers lacked. */
#ifdef __wasm__
/* A page's workspace grows, and its module is smaller without the measuring functions. */
static inline bool kbi_workspace_lacks(const kb_workspace *local, kb_status status)
{
    (void)local, (void)status;
    return false;
}
#else
bool kbi_workspace_lacks(const kb_workspace *local, kb_status status);
#endif
/* The end of a call that began with kbi_workspace_or: rewinds, releases, and returns status. A failure without a
 * sentence gets one; a caller's buffer that is too small is told by how much, with the limits that decide its size. */
kb_status kbi_workspace_end(kb_workspace *local, kb_status status, const char *limits, kb_error *error);

/* ---- parallel loops ---- */
/* How many tasks may run at once: 1 without a kb_parallel. */
#if defined(__wasm__) && !defined(__wasm_atomics__)
#    define KBI_ONE_THREAD 1
static inline int32_t kbi_parallel_threads(const kb_parallel *parallel)
{
    (void)parallel;
    return 1;
}
#else
#    define KBI_ONE_THREAD 0
int32_t kbi_parallel_threads(const kb_parallel *parallel);
#endif
/* task(context, 0..count-1), on the calling thread when parallel is NULL or count is 1. */
void kbi_parallel_run(const kb_parallel *parallel, int32_t count, void (*task)(void *, int32_t), void *context);
/* The usual split of n items into `pieces` runs: piece i is [kbi_piece(n, pieces, i), kbi_piece(n, pieces, i + 1)). */
static inline size_t kbi_piece(size_t n, int32_t pieces, int32_t i)
{
    return n / (size_t)pieces * (size_t)i + (n % (size_t)pieces) * (size_t)i / (size_t)pieces;
}

/* ---- mathematics without libm, the same on every machine ---- */
/* Sine and cosine of an angle in degrees, error below 1e-15; a negative or non-finite angle gives 0 and 1. */
void kbi_sincos_degrees(double degrees, double *sine, double *cosine);
/* Direction of (x, y) in degrees [0, 360), clockwise on screen since y goes down, error below 1e-9; (0, 0) gives 0. */
double kbi_atan2_degrees(double y, double x);
/* e^x for |x| <= 700, relative error below 1e-14. */
double kbi_exp(double x);
/* The natural logarithm of a finite x > 0, error below 1e-14 (1 + |result|). */
double kbi_log(double x);
/* The largest r with r * r <= v. */
uint32_t kbi_isqrt(uint64_t v);
/* Cholesky: turns a symmetric n x n matrix, given by its lower half, into its lower factor. False when it is not
 * positive definite: a pivot is at most `min` times its entry. The second call turns b into the solution of A x = b. */
bool kbi_cholesky(double *a, int32_t n, double min);
void kbi_cholesky_solve(const double *l, int32_t n, double *b);

/* ---- sorting ---- */
/* Unsigned numbers in the order of the floats: -0 is 0, NaN comes last. */
static inline uint32_t kbi_float_order(float value)
{
    uint32_t bits;
    value += 0.0f; /* -0 is 0 */
    memcpy(&bits, &value, sizeof bits);
    if (value != value) return UINT32_MAX;
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}
/* Sorts n entries, fewer than 2^32, by their upper 32 bits, ascending and stable; spare holds n more. */
void kbi_sort_upper(uint64_t *entries, uint64_t *spare, size_t n);

/* ---- random numbers: splitmix64 ---- */
static inline uint64_t kbi_random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
/* Evenly from 0 to n - 1 (n > 0) by multiply-shift; the bias of at most n / 2^32 does not matter here. */
static inline uint32_t kbi_random_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)(((kbi_random_next(state) >> 32) * n) >> 32);
}

#endif
