/* The kernels for WebAssembly's 128-bit vectors. Rows of the detectors that compilers vectorise well are not among
 * them: plain C is compiled with the same instructions. */
#include "simd/kernels.h"

#ifdef KBI_WASM_SIMD

#    define KBI_VEC_WASM
#    include "simd/templates.h"

/* The sums of four rows of 4x4 pixels, 16 bytes of each row. */
VEC_INLINE vec four_cells(const uint8_t *row, ptrdiff_t stride)
{
    vec sum = wasm_u16x8_extadd_pairwise_u8x16(v_loadu(row));
    for (int i = 1; i < 4; i++) sum = v_add(sum, wasm_u16x8_extadd_pairwise_u8x16(v_loadu(row + i * stride)));
    return wasm_u32x4_extadd_pairwise_u16x8(sum);
}

/* gradient_cells of detect/gradient_rows.h: compilers make slow vectors of it. Cells 0 to 7, then 6 to 9, so that no byte
 * outside the region is read. */
static void gradient_cells_wasm(const uint8_t *centre, ptrdiff_t stride, uint16_t *cells)
{
    const uint8_t *row = centre - KBI_GRADIENT_REACH * stride - KBI_GRADIENT_REACH;
    for (int i = 0; i < KBI_GRADIENT_CELLS; i++, row += 4 * stride, cells += KBI_GRADIENT_STRIDE) {
        vec last = four_cells(row + 24, stride);
        v_storeu(cells + 1, wasm_u16x8_narrow_i32x4(four_cells(row, stride), four_cells(row + 16, stride)));
        wasm_v128_store64_lane(cells + 7, wasm_u16x8_narrow_i32x4(last, last), 0);
        cells[0] = cells[1];
        cells[KBI_GRADIENT_CELLS + 1] = cells[KBI_GRADIENT_CELLS];
    }
}

void kbi_kernels_wasm(kbi_kernels *table)
{
    use_simd(table);
    table->detect.gradient_cells = gradient_cells_wasm;
}

#endif
