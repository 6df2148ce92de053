/* Which variant of every kernel runs on this CPU. */
#include "kernels/kernels_c.h"

static const kb_kernels table = {kb_cut_c, kb_boxes_c, kb_sift_c, kb_project_c};

const kb_kernels *kb_kernels_active(void) { return &table; }

kb_kernel kb_kernel_at(int32_t index)
{
    static const char *const names[] = {"cut", "boxes", "sift", "project"};
    return index >= 0 && index < (int32_t)KB_COUNT(names) ? (kb_kernel){names[index], "c"} : (kb_kernel){NULL, NULL};
}

const char *kb_cpu_features(void) { return ""; }

kb_status kb_cpu_limit(const char *features)
{
    return !features || strcmp(features, "c") == 0 || !*features ? KB_OK : KB_E_UNKNOWN;
}
