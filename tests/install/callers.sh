# SPDX-License-Identifier: Apache-2.0
# A program built against the header of a newer version works with today's library.
source "$(dirname "$0")/common.inc"
headers=$KEYBITS_SOURCE/include/keybits
library=$(find "$KEYBITS_PREFIX" -name 'libkeybits.*' -print -quit)
for version_of in same newer; do
    mkdir -p "$scratch/$version_of/keybits"
done
cp "$headers"/{keybits,advanced}.h "$scratch/same/keybits/"
# The newer version: another field at the end of every struct that has a size.
for header in keybits advanced; do
    perl -0pe 's/(typedef struct (\w+) \{\n    uint32_t struct_size;(?:(?!\n\}).)*)(\n\} \2;)/$1\n    double future;$3/sg' \
        "$headers/$header.h" >"$scratch/newer/keybits/$header.h"
done
for name in kb_model_spec kb_model_info kb_features kb_describe_options kb_match_options kb_fit_options kb_fit_report; do
    grep -hB1 "^} $name;" "$scratch"/newer/keybits/*.h | grep -q 'double future;'
done
for version_of in same newer; do
    ${CC:-cc} -Wall -Werror -D"${version_of^^}" -I"$scratch/$version_of" "$KEYBITS_SOURCE/tests/install/callers.c" \
        -L"${library%/*}" -lkeybits -lm -lpthread -o "$scratch/$version_of/caller"
    LD_LIBRARY_PATH=${library%/*} check "$scratch/$version_of/caller"
done
