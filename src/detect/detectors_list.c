/* SPDX-License-Identifier: Apache-2.0 */
/* The list of detectors, alone in its file: a program that is linked statically may define kbi_detectors itself, with
 * fewer rows, and then holds no other detector:
 *
 *     #include "detect/detectors.h"
 *     const kbi_detector_row kbi_detectors[KBI_MAX_DETECTORS] = {&kbi_detector_orb}; */
#include "detect/detectors.h"

const kbi_detector_row kbi_detectors[KBI_MAX_DETECTORS] = {&kbi_detector_hessian, &kbi_detector_orb,
                                                            &kbi_detector_sift};
