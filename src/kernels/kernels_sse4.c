/* The kernels for SSE4.1, for CPUs before AVX2. */
#include "kernels/kernels.h"

#ifdef KB_X86

#    define KB_VEC_SSE4
#    include "kernels/lanes.h"

void kb_kernels_sse4(kb_kernels *table) { use_lanes(table); }

#endif
