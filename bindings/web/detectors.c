/* SPDX-License-Identifier: Apache-2.0 */
/* The detectors of the web package. sift, eight times as slow, is left out for size. */
#include "detect/detectors.h"

const kbi_detector_row kbi_detectors[KBI_MAX_DETECTORS] = {&kbi_detector_hessian, &kbi_detector_orb};
