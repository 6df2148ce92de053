/* The list of selection rules: whatever else names them reads it. */
#include "detect/select.h"

const kbi_select_rule kbi_select_rules[KBI_MAX_SELECT_RULES] = {
    [KB_SELECT_DEFAULT] = {"default", NULL, NULL},
    [KB_SELECT_BEST] = {"best", NULL, NULL},
    [KB_SELECT_GRID] = {"grid", kbi_select_grid_bytes, kbi_select_grid},
    [KB_SELECT_ANMS] = {"anms", kbi_select_anms_bytes, kbi_select_anms},
    [KB_SELECT_QUADTREE] = {"quadtree", kbi_select_quadtree_bytes, kbi_select_quadtree}};
