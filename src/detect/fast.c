/* SPDX-License-Identifier: Apache-2.0 */
#include "detect/fast_rows.h"
