/* Hamming distances by products of matrices: the results of kbi_hamming_block (src/match/hamming_block.h) with AMX.
 *
 * Bits become bytes such that the product of two bits is -32 where they are equal and 32 where they differ. The sum of
 * all products of two rows of 64 n bits is then 64 x distance - 2048 n, which leaves 6 bits for the step of a key. Rows
 * are taken in steps of 64 bits; the last one is filled up with zeros. 16 rows of b are a tile, one below the other; 16
 * rows of a are a tile in which they stand side by side.
 *
 * A block of rows of b is expanded once, and rows of a pass by in groups of two tiles. Two tiles of b, a pair, times
 * two of a are four tiles of sums, so that every tile that is loaded serves two products. Sums of the two tiles of a
 * pair are packed into lanes of 16 bits: those of 4 rows of a in the first tile, those of the same rows in the second
 * one, those of the next 4 rows, and so on. A key on the side of a has the row within its tile and the pair as its
 * step; a key on the side of b has the tile of rows of a. While the products of a pair are made, the sums of the pair before
 * become keys: the unit that multiplies tiles and those of vectors work side by side.
 *
 * The order of the bits of a step does not matter, as long as it is the same on both sides: byte 4 r + k of 32 is bit r
 * of byte k of 4. */
#ifndef KBI_TMPL_HAMMING_AMX_H
#define KBI_TMPL_HAMMING_AMX_H

#include "simd/kernels.h"
#include "simd/vec_amx.h"

#define MOST_STEPS  8                /* of 64 bits, in a row */
#define BLOCK_TILES 64               /* of a block; 16 rows of b take as many as they have steps */
#define MOST_PAIRS  8                /* in a block */
#define KEY_PAIRS   4                /* whose rows the steps of keys can tell apart */
#define GROUP_ROWS  (2 * TILE_SIDE)  /* of a */
#define PAIR_ROWS   (2 * TILE_SIDE)  /* of b */
#define PASS_ROWS   (64 * TILE_SIDE) /* of a, whose tiles the steps of keys can tell apart */
#define KEY_STEPS   64
#define NO_SUM      0x7fff           /* above all sums */
#define SUMS        (TILE_SIDE * TILE_SIDE)
#define WORTH_ROWS_A 128 /* from which on expanding the rows of b pays */
#define WORTH_ROWS_B 64

/* 97 KB, which a thread has on its stack. */
typedef struct amx_block {
    _Alignas(64) int8_t rows[BLOCK_TILES * TILE_SIZE];
    _Alignas(64) int8_t group[2][MOST_STEPS * TILE_SIZE];
    _Alignas(64) int32_t sums[2][4][SUMS];   /* of a pair at work and of the one before: tiles of a x tiles of b */
    vec near[(MOST_PAIRS + 1) * TILE_SIDE];  /* keys on the side of b; of the last ones nothing is taken */
    vec nearest[2], next[2];                 /* keys on the side of a, per tile of the group */
    uint32_t steps_of[KEY_PAIRS * TILE_SIDE]; /* of keys on the side of a, twice in 32 bits */
    size_t row_bytes, steps, pairs, count;   /* of the rows of b */
    bool mutual;                             /* keys on the side of b are wanted */
} amx_block;

/* A pair whose sums are there, and not yet its keys. */
typedef struct amx_pair {
    int32_t (*sums)[SUMS];
    vec *near;
    const uint32_t *steps_of;
    size_t a;      /* the first row of the group within the pass */
    size_t b;      /* the first row of the block with such keys on the side of a */
    bool complete; /* the last of those */
} amx_pair;

/* ---- bits become bytes ---- */

/* 64 bits of a row of b: the byte of bit r is -32 >> r % 4 for 1. */
VEC_INLINE void expand_step(int8_t *to, const uint8_t *row, size_t bytes)
{
    const vec low = _mm512_set4_epi32(0x08080808, 0x04040404, 0x02020202, 0x01010101);
    const vec bit = _mm512_mask_blend_epi32(0xf0f0, low, _mm512_slli_epi32(low, 4));
    const vec zero = _mm512_set4_epi32(0x04040404, 0x08080808, 0x10101010, 0x20202020),
              one = _mm512_sub_epi8(v_zero(), zero);
    uint32_t part[2] = {0};
    if (bytes < 8) memcpy(part, row, bytes);
    else memcpy(part, row, 8);
    vec bits = _mm512_mask_blend_epi32(0xff00, v_set32(part[0]), v_set32(part[1]));
    v_store(to, _mm512_mask_blend_epi8(_mm512_test_epi8_mask(bits, bit), zero, one));
}

/* The rows of b; those beyond the last repeat it. */
VEC_TARGET static void block_expand(amx_block *t, const uint8_t *b)
{
    for (size_t j = 0; j < t->pairs * PAIR_ROWS; j++) {
        const uint8_t *row = b + (j < t->count ? j : t->count - 1) * t->row_bytes;
        int8_t *to = t->rows + j / TILE_SIDE * t->steps * TILE_SIZE + j % TILE_SIDE * 64;
        for (size_t k = 0; k < t->steps; k++) expand_step(to + k * TILE_SIZE, row + 8 * k, t->row_bytes - 8 * k);
    }
}

/* 16 bytes of 16 rows of a, transposed: 4 bytes of each row in every vec. */
VEC_INLINE void load_parts(const uint8_t *const rows[TILE_SIDE], size_t offset, vec parts[4])
{
    vec r[4], a[4];
    for (int i = 0; i < 4; i++) {
        __m128i part[4];
        for (int k = 0; k < 4; k++)
            part[k] = _mm_loadu_si128((const __m128i *)(const void *)(rows[4 * k + i] + offset));
        r[i] = _mm512_inserti32x4(_mm512_castsi128_si512(part[0]), part[1], 1);
        r[i] = _mm512_inserti32x4(_mm512_inserti32x4(r[i], part[2], 2), part[3], 3);
    }
    for (int i = 0; i < 2; i++) {
        a[i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
        a[i + 2] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
    }
    for (int i = 0; i < 4; i++)
        parts[i] = i & 1 ? _mm512_unpackhi_epi64(a[i & 2], a[(i & 2) + 1])
                         : _mm512_unpacklo_epi64(a[i & 2], a[(i & 2) + 1]);
}

/* Half a tile of rows of a: the byte of bit r is 1 << r % 4 for 1. */
VEC_INLINE void expand_part(int8_t *to, vec part)
{
    vec bits = _mm512_add_epi32(part, part);
    VEC_UNROLL
    for (int r = 0; r < 8; r++) {
        const int one = 1 << r % 4;
        if (r == 4) bits = v_shr32(part, 3);
        vec value = v_and(bits, _mm512_set1_epi8((char)(2 * one)));
        v_store(to + 64 * r, _mm512_sub_epi8(value, _mm512_set1_epi8((char)one)));
    }
}

/* A group: two tiles of rows of a, `count` of them; those beyond the last repeat it. */
VEC_TARGET static void group_expand(amx_block *t, const uint8_t *a, size_t count)
{
    for (size_t tile = 0; tile < 2; tile++) {
        uint8_t whole[TILE_SIDE][8 * MOST_STEPS];
        const uint8_t *rows[TILE_SIDE];
        for (size_t i = 0; i < TILE_SIDE; i++) {
            size_t row = tile * TILE_SIDE + i;
            rows[i] = a + (row < count ? row : count - 1) * t->row_bytes;
            if (t->row_bytes % 16 == 0) continue;
            memset(whole[i], 0, sizeof whole[i]);
            rows[i] = memcpy(whole[i], rows[i], t->row_bytes);
        }
        for (size_t offset = 0; offset < t->row_bytes; offset += 16) {
            vec parts[4];
            load_parts(rows, offset, parts);
            for (size_t k = 0; k < 4; k++) expand_part(t->group[tile] + (offset / 4 + k) * (TILE_SIZE / 2), parts[k]);
        }
    }
}

/* ---- sums become keys ---- */

/* Four rows of both tiles of a pair. */
VEC_INLINE void take_rows(amx_block *t, const amx_pair *pair, size_t from)
{
    vec nearest[2], next[2], tile[2];
    for (int i = 0; i < 2; i++) {
        nearest[i] = t->nearest[i];
        next[i] = t->next[i];
        tile[i] = v_set((int)(pair->a / TILE_SIDE) + i);
    }
    VEC_UNROLL
    for (size_t r = from; r < from + 4; r++) {
        const vec step = v_set32(pair->steps_of[r]);
        vec near = v_load(&pair->near[r]);
        VEC_UNROLL
        for (int i = 0; i < 2; i++) {
            vec sum = _mm512_packs_epi32(v_load(pair->sums[2 * i] + TILE_SIDE * r),
                                         v_load(pair->sums[2 * i + 1] + TILE_SIDE * r));
            vec key = v_or(sum, step);
            if (t->mutual) near = v_min_s(near, v_or(sum, tile[i]));
            next[i] = v_min_s(next[i], v_max_s(key, nearest[i]));
            nearest[i] = v_min_s(nearest[i], key);
        }
        if (t->mutual) v_store(&pair->near[r], near);
    }
    for (int i = 0; i < 2; i++) {
        t->nearest[i] = nearest[i];
        t->next[i] = next[i];
    }
}

/* Keys on the side of a, of one tile of the pairs, as kbi_hamming_block wants them; `first` is the first row there. */
VEC_INLINE vec widen_keys(vec keys, size_t first)
{
    vec step = v_and(keys, v_set32(KEY_STEPS - 1)), distance = _mm512_slli_epi32(v_shr32(keys, 6), 16);
    vec row = v_add32(step, v_and(step, v_set32(KEY_STEPS - TILE_SIDE))); /* between pairs lie rows of the other tile */
    return v_add32(distance, v_add32(row, v_set32((uint32_t)first)));
}

VEC_INLINE void order_keys(vec *less, vec *more)
{
    vec least = _mm512_min_epu32(*less, *more);
    *more = _mm512_max_epu32(*less, *more);
    *less = least;
}

/* Brings the least two keys of `count` rows of a up to date, those of one tile of the group. */
VEC_TARGET static void tile_take_nearest(amx_block *t, int tile, size_t first, size_t count, uint32_t *best,
                                         uint32_t *second)
{
    const vec zero = v_zero(), lift = v_set((int)(2048 * t->steps));
    uint32_t few[2][TILE_SIDE], *out[2] = {best, second};
    vec nearest = v_add(t->nearest[tile], lift), next = v_add(t->next[tile], lift);
    vec low = widen_keys(_mm512_unpacklo_epi16(nearest, zero), first),
        high = widen_keys(_mm512_unpackhi_epi16(nearest, zero), first + TILE_SIDE),
        next_low = widen_keys(_mm512_unpacklo_epi16(next, zero), first),
        next_high = widen_keys(_mm512_unpackhi_epi16(next, zero), first + TILE_SIDE);
    for (int i = 0; count < TILE_SIDE && i < 2; i++) out[i] = memcpy(few[i], out[i], count * sizeof **out);
    vec least = v_loadu(out[0]), least2 = v_loadu(out[1]);
    order_keys(&low, &high);
    order_keys(&least, &low);
    least2 = _mm512_min_epu32(least2, _mm512_min_epu32(low, high));
    v_storeu(out[0], least);
    v_storeu(out[1], _mm512_min_epu32(least2, _mm512_min_epu32(next_low, next_high)));
    if (count < TILE_SIDE) {
        memcpy(best, few[0], count * sizeof *best);
        memcpy(second, few[1], count * sizeof *second);
    }
    t->nearest[tile] = t->next[tile] = v_set(NO_SUM);
}

VEC_INLINE uint32_t least_key(vec keys)
{
    __m256i half = _mm256_min_epu32(_mm512_castsi512_si256(keys), _mm512_extracti64x4_epi64(keys, 1));
    __m128i four = _mm_min_epu32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    four = _mm_min_epu32(four, _mm_shuffle_epi32(four, 0x4e));
    return (uint32_t)_mm_cvtsi128_si32(_mm_min_epu32(four, _mm_shuffle_epi32(four, 0xb1)));
}

/* Moves the keys on the side of b, gathered over a pass whose first row of a is `first`, to the result. */
VEC_TARGET static void pass_take_columns(const amx_block *t, size_t first, uint32_t *best_b)
{
    const vec zero = v_zero(), lift = v_set((int)(2048 * t->steps));
    const vec lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const vec row = v_add32(lane, v_set32((uint32_t)first));
    for (size_t j = 0; j < t->count; j++) {
        vec keys = v_add(v_load(&t->near[j / PAIR_ROWS * TILE_SIDE + j % TILE_SIDE]), lift);
        keys = j / TILE_SIDE % 2 ? _mm512_unpackhi_epi16(keys, zero) : _mm512_unpacklo_epi16(keys, zero);
        vec distance = _mm512_slli_epi32(v_shr32(keys, 6), 16);
        vec tile = _mm512_slli_epi32(v_and(keys, v_set32(KEY_STEPS - 1)), 4);
        uint32_t least = least_key(v_add32(v_add32(distance, tile), row));
        best_b[j] = least < best_b[j] ? least : best_b[j];
    }
}

/* ---- products ---- */

/* The sums of a pair with both tiles of the group; meanwhile the pair before gets its keys. */
VEC_INLINE void pair_sums(amx_block *t, size_t pair, int32_t (*sums)[SUMS], const amx_pair *before)
{
    const int8_t *b = t->rows + 2 * pair * t->steps * TILE_SIZE, *b2 = b + t->steps * TILE_SIZE;
    size_t taken = 0;
    tile_zero(0);
    tile_zero(1);
    tile_zero(2);
    tile_zero(3);
    for (size_t k = 0; k < t->steps; k++) {
        tile_load(4, b + k * TILE_SIZE);
        tile_load(6, t->group[0] + k * TILE_SIZE);
        tile_dot(0, 4, 6);
        tile_load(5, b2 + k * TILE_SIZE);
        tile_dot(1, 5, 6);
        tile_load(7, t->group[1] + k * TILE_SIZE);
        tile_dot(2, 4, 7);
        tile_dot(3, 5, 7);
        for (; taken < TILE_SIDE && taken * t->steps < TILE_SIDE * (k + 1); taken += 4)
            take_rows(t, before, taken);
    }
    tile_store(0, sums[0]);
    tile_store(1, sums[1]);
    tile_store(2, sums[2]);
    tile_store(3, sums[3]);
    for (size_t j = t->count - pair * PAIR_ROWS; j < PAIR_ROWS; j++) { /* beyond the last row */
        v_store(&sums[j / TILE_SIDE][j % TILE_SIDE * TILE_SIDE], v_set32(NO_SUM));
        v_store(&sums[j / TILE_SIDE + 2][j % TILE_SIDE * TILE_SIDE], v_set32(NO_SUM));
    }
}

/* What the first pair of a pass finds before it: one without neighbours. */
VEC_INLINE amx_pair pass_begin(amx_block *t)
{
    for (size_t j = 0; j < KBI_COUNT(t->near); j++) v_store(&t->near[j], v_set(NO_SUM));
    for (size_t i = 0; i < 4 * SUMS; i += TILE_SIDE) v_store(&t->sums[1][i / SUMS][i % SUMS], v_set32(NO_SUM));
    for (int i = 0; i < 2; i++) t->nearest[i] = t->next[i] = v_set(NO_SUM);
    return (amx_pair){t->sums[1], t->near + MOST_PAIRS * TILE_SIDE, t->steps_of, 0, 0, false};
}

/* The keys on the side of a, when they are complete; `first` is the first row of the block. */
VEC_INLINE void pair_end(amx_block *t, const amx_pair *pair, size_t na, size_t first, uint32_t *best, uint32_t *second)
{
    for (int i = 0; pair->complete && i < 2; i++) {
        size_t a = pair->a + (size_t)i * TILE_SIDE, count = na - a < TILE_SIDE ? na - a : TILE_SIDE;
        if (a < na) tile_take_nearest(t, i, first + pair->b, count, best + a, second + a);
    }
}

/* Rows of a, at most PASS_ROWS, with a block of rows of b; its first one is `first`. */
VEC_TARGET static void pass_compare(amx_block *t, const uint8_t *a, size_t na, size_t first, uint32_t *best,
                                    uint32_t *second)
{
    amx_pair before = pass_begin(t);
    size_t turn = 0;
    for (size_t i = 0; i < na; i += GROUP_ROWS) {
        group_expand(t, a + i * t->row_bytes, na - i);
        for (size_t p = 0; p < t->pairs; p++, turn ^= 1) {
            pair_sums(t, p, t->sums[turn], &before);
            pair_end(t, &before, na, first, best, second);
            before = (amx_pair){t->sums[turn],
                                t->near + p * TILE_SIDE,
                                t->steps_of + p % KEY_PAIRS * TILE_SIDE,
                                i,
                                p / KEY_PAIRS * KEY_PAIRS * PAIR_ROWS,
                                p % KEY_PAIRS == KEY_PAIRS - 1 || p + 1 == t->pairs};
        }
    }
    for (size_t r = 0; r < TILE_SIDE; r += 4) take_rows(t, &before, r);
    pair_end(t, &before, na, first, best, second);
}

VEC_TARGET static void hamming_blocks(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, size_t row_bytes,
                                      uint32_t *best, uint32_t *second, uint32_t *best_b)
{
    amx_block t;
    t.mutual = best_b != NULL;
    t.row_bytes = row_bytes;
    t.steps = (row_bytes + 7) / 8;
    const size_t fit = BLOCK_TILES / 2 / t.steps, most = PAIR_ROWS * (fit < MOST_PAIRS ? fit : MOST_PAIRS);
    for (uint32_t i = 0; i < KBI_COUNT(t.steps_of); i++) t.steps_of[i] = i << 16 | i;
    memset(best, 255, na * sizeof *best); /* KBI_NO_NEIGHBOUR */
    memset(second, 255, na * sizeof *second);
    tiles_begin();
    for (size_t first = 0; first < nb; first += most) {
        t.count = nb - first < most ? nb - first : most;
        t.pairs = (t.count + PAIR_ROWS - 1) / PAIR_ROWS;
        block_expand(&t, b + first * row_bytes);
        for (size_t i = 0; i < na; i += PASS_ROWS) {
            size_t rows = na - i < PASS_ROWS ? na - i : PASS_ROWS;
            pass_compare(&t, a + i * row_bytes, rows, first, best + i, second + i);
            if (best_b) pass_take_columns(&t, i, best_b + first);
        }
    }
    tiles_end();
}

static void hamming_amx(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, size_t row_bytes, uint32_t *best,
                        uint32_t *second, uint32_t *best_b)
{
    bool worth = na >= WORTH_ROWS_A && nb >= WORTH_ROWS_B && row_bytes <= 8 * MOST_STEPS;
    (worth ? hamming_blocks : kbi_hamming_avx512)(a, na, b, nb, row_bytes, best, second, best_b);
}

#endif
