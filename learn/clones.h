/* SPDX-License-Identifier: Apache-2.0 */
/* Hot loops of learning are plain C on integers, compiled a second time for newer processors where the compiler can do
 * that and choose when the program starts. The results are the same. Sanitizers start too late for such a choice. */
#ifndef KBI_LEARN_CLONES_H
#define KBI_LEARN_CLONES_H

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) &&                       \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define KBI_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define KBI_CLONES
#endif
/* Such a function is static: the choice at start is a symbol that hidden visibility does not hide.
 * For what such a loop calls: it must be compiled with it. */
#if defined(__GNUC__)
#define KBI_INLINE static inline __attribute__((always_inline))
#else
#define KBI_INLINE static inline
#endif

#endif
