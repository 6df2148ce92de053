/* The kernels for NEON. Rows of the detectors that compilers make fast are not among them: plain C is NEON already. */
#include "kernels/kernels.h"

#ifdef KB_AARCH64

#    define KB_VEC_NEON
#    include "kernels/lanes.h"

void kb_kernels_neon(kb_kernels *table) { use_lanes(table); }

#endif
