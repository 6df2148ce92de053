/* The tiles of AMX: eight registers of 16 rows of 64 bytes, and products of them. Tiles in memory have no gaps.
 *
 *   tiles_begin tiles_end   all tiles get their full size;  the thread leaves no state behind
 *   tile_zero tile_load tile_store
 *   tile_dot(c, a, b)       adds a product of matrices to c, 16 x 16 numbers of 32 bits: a is 16 x 64 signed bytes,
 *                           b is 64 x 16 of them, of which row k and column n is byte 4 n + k % 4 of row k / 4 of its
 *                           tile
 *
 * The numbers of tiles are literals. With KB_EMULATE_AVX512 all this is plain C (simd/vec_avx512_target.h). */
#ifndef KBI_VEC_AMX_H
#define KBI_VEC_AMX_H

#include "simd/vec.h"

#define TILE_SIDE 16               /* rows, and columns of 32 bits */
#define TILE_SIZE (TILE_SIDE * 64) /* bytes */

#ifdef KB_EMULATE_AVX512

static _Thread_local uint8_t emulated_tiles[8][TILE_SIZE];

static inline void emulated_dot(uint8_t c[TILE_SIZE], const uint8_t a[TILE_SIZE], const uint8_t b[TILE_SIZE])
{
    for (size_t i = 0; i < TILE_SIDE * TILE_SIDE; i++) {
        const int8_t *row = (const int8_t *)a + i / TILE_SIDE * 64, *column = (const int8_t *)b + i % TILE_SIDE * 4;
        int32_t sum;
        memcpy(&sum, c + 4 * i, sizeof sum);
        for (size_t k = 0; k < 64; k++) sum += row[k] * column[k / 4 * 64 + k % 4];
        memcpy(c + 4 * i, &sum, sizeof sum);
    }
}

#    define tiles_begin()     memset(emulated_tiles, 0, sizeof emulated_tiles)
#    define tiles_end()       tiles_begin()
#    define tile_zero(n)      memset(emulated_tiles[n], 0, TILE_SIZE)
#    define tile_load(n, p)   memcpy(emulated_tiles[n], p, TILE_SIZE)
#    define tile_store(n, p)  memcpy(p, emulated_tiles[n], TILE_SIZE)
#    define tile_dot(c, a, b) emulated_dot(emulated_tiles[c], emulated_tiles[a], emulated_tiles[b])

#else

/* The instructions themselves: of the compiler's functions some do not say that they read memory. */
VEC_INLINE void tiles_begin(void)
{
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } shape = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        shape.row_bytes[i] = 64;
        shape.rows[i] = TILE_SIDE;
    }
    __asm__ volatile("ldtilecfg %0" : : "m"(shape));
}
VEC_INLINE void tiles_end(void) { __asm__ volatile("tilerelease" : : : "memory"); }
#    define tile_zero(n)      __asm__ volatile("tilezero %%tmm" #n : :)
#    define tile_load(n, p)                                                                                            \
        __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #n : : "r"((const void *)(p)), "r"((size_t)64) : "memory")
#    define tile_store(n, p)                                                                                           \
        __asm__ volatile("tilestored %%tmm" #n ", (%0,%1,1)" : : "r"((void *)(p)), "r"((size_t)64) : "memory")
#    define tile_dot(c, a, b) __asm__ volatile("tdpbssd %%tmm" #b ", %%tmm" #a ", %%tmm" #c : :)

#endif
#endif
