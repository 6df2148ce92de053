/* SPDX-License-Identifier: Apache-2.0 */
/* Little endian numbers in files, as the library reads and writes them: for the program's own files. */
#ifndef IO_BYTES_H
#define IO_BYTES_H

#include "common/bytes.h"

#endif
