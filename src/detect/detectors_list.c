/* The list of detectors, alone in its file: a program that is linked statically may define kbi_detectors itself, with
 * fewer rows, and then holds no other detector:
 *
 *     #include "detect/detectors.h"
 *     const kbi_detector *const kbi_detectors[] = {&kbi_detector_orb, NULL}; */
#include "detect/detectors.h"

const kbi_detector *const kbi_detectors[] = {&kbi_detector_hessian, &kbi_detector_orb, &kbi_detector_sift, NULL};
