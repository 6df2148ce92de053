/* Row functions as templates: plain C that compilers turn into vector code, compiled once for the base of the CPU and
 * again for every instruction set that makes it faster. The including file says by KB_ROWS what stands in front of a
 * function and by KB_ROWS_NAME what it is called; without that they are the plain ones of detect.h and sift.h. */
#ifndef KB_DETECT_ROWS_H
#define KB_DETECT_ROWS_H

#include "detect/sift.h"

#ifndef KB_ROWS
#  define KB_ROWS
#  define KB_ROWS_NAME(name) kb_##name
#  define KB_ROWS_HELPER static
#endif

#endif
