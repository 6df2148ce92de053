/* SPDX-License-Identifier: Apache-2.0 */
/* The list of selection rules: whatever else names them reads it. */
#include "detect/select.h"

const kbi_select_rule kbi_select_rules[KBI_MAX_SELECT_RULES] = {
    [KB_SELECTION_DEFAULT] = {"default", NULL, NULL},
    [KB_SELECTION_BEST] = {"best", NULL, NULL},
    [KB_SELECTION_GRID] = {"grid", kbi_select_grid_bytes, kbi_select_grid},
    [KB_SELECTION_QUADTREE] = {"quadtree", kbi_select_quadtree_bytes, kbi_select_quadtree}};
