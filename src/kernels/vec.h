/* One vector vocabulary for all instruction sets, so that a kernel is written once. A file kernels_<set>.c defines
 * KB_VEC_AVX2, KB_VEC_SSE4 or KB_VEC_NEON, includes this header, then the kernels, which are templates over it.
 *
 * A `vec` is a register of VEC_LANES lanes of 16 bits; where the name of an operation ends in 8 or 32 the register is
 * looked at as bytes or as 32-bit lanes. All arithmetic is modulo 2^16 (2^8, 2^32) unless it says otherwise.
 *
 *   v_load v_store          aligned;  v_loadu v_storeu: any address
 *   v_set v_zero            all lanes alike
 *   v_add v_sub v_mul       16 bits;  v_add8 v_sub8, v_add32 v_sub32
 *   v_subs                  unsigned, not below 0
 *   v_high                  high 16 bits of the unsigned product;  v_high_s: of the signed one
 *   v_mul_q15               (a b + 2^14) >> 15, signed
 *   v_min v_max             unsigned;  v_min_s v_max_s: signed;  v_abs
 *   v_and v_or v_andnot     bits; v_andnot(a, b) = ~a & b
 *   v_shl v_shr v_sar       by a constant; v_shr32 likewise
 *   v_gt                    signed a > b ? -1 : 0
 *   v_pack8                 the lanes of two vecs as bytes, signed to unsigned with saturation; in an order of its own, which
 *                           v_unpack8_first and v_unpack8_second take apart again
 *   v_join8                 the same in order: the lanes of a, then those of b
 *   v_dot8                  first byte x first weight + second byte x second weight of every lane; weights up to 64
 *   v_load2                 16 bytes at p, and for each further 8 lanes 16 bytes `step` further on
 *   v_each16                the same 16 bytes for each 8 lanes
 *   v_lookup16              of each 16 bytes of the first those that the second names, 0 to 15
 *   v_pair                  brings two vecs together for v_madd: lane i of both becomes neighbours
 *   v_madd                  adds a.first[i] w.first + a.second[i] w.second to the 32-bit sums of lane i; signed
 *   v_load_rows             16 bytes from each of VEC_LANES rows, as 8 vecs that v_transpose8 turns around:
 *                           afterwards lane k of vec u is the u-th 16-bit unit of row k
 *   v_store_rows            the way back: after v_transpose8, 16 bytes to each row
 */
#ifndef KB_VEC_H
#define KB_VEC_H

#include "common/common.h"

#if defined(KB_VEC_AVX2)
#  include "kernels/vec_avx2.h"
#elif defined(KB_VEC_SSE4)
#  include "kernels/vec_sse4.h"
#elif defined(KB_VEC_NEON)
#  include "kernels/vec_neon.h"
#endif

#endif
