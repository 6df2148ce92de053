#include "detect/fast_rows.h"
