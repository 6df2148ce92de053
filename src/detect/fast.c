/* SPDX-License-Identifier: Apache-2.0 */
/* -O2 on x86: for old processors. */
#include "detect/fast_rows.h"
