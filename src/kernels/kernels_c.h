#ifndef KB_KERNELS_C_H
#define KB_KERNELS_C_H

#include "kernels/kernels.h"

void kb_cut_c(const kb_sampling *samplings, int32_t n, const kb_levels *levels, uint8_t *patches);
void kb_boxes_c(const kb_model *model, const uint8_t *patches, int32_t n, uint8_t *rows, void *scratch);
void kb_sift_c(const uint8_t *patches, int32_t n, uint32_t *histograms, void *scratch);
void kb_project_c(const kb_model *model, const uint8_t *values, int32_t n, uint8_t *rows);

#endif
