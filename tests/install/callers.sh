# Programs built against the header of an older and of a newer version work with today's library.
source "$(dirname "$0")/common.inc"
header=$KEYBITS_SOURCE/include/keybits/keybits.h
library=$(find "$KEYBITS_PREFIX" -name 'libkeybits.*' -print -quit)
for version_of in same older newer; do
    mkdir -p "$scratch/$version_of/keybits"
done
cp "$header" "$scratch/same/keybits/"
# The older version: without the fields that came after the first release.
perl -0pe 's/\n    size_t row_stride;.*?(?=\n\} kb_describe_options;)//s;
           s/\n    size_t stride_a, stride_b;.*?(?=\n\} kb_match_options;)//s;
           s/\n    const kb_camera \*camera1;.*?(?=\n\} kb_fit_options;)//s;
           s/\n    double rotation\[9\];.*?(?=\n\} kb_fit_report;)//s' "$header" >"$scratch/older/keybits/keybits.h"
# The newer version: another field at the end of every struct that has a size.
perl -0pe 's/(typedef struct (\w+) \{\n    uint32_t struct_size;(?:(?!\n\}).)*)(\n\} \2;)/$1\n    double future;$3/sg' \
    "$header" >"$scratch/newer/keybits/keybits.h"
[ "$(diff "$header" "$scratch/older/keybits/keybits.h" | grep -c '^< .*;')" -ge 5 ]
for name in kb_model_spec kb_model_info kb_describe_options kb_match_options kb_fit_options kb_fit_report; do
    grep -B1 "^} $name;" "$scratch/newer/keybits/keybits.h" | grep -q 'double future;'
done
for version_of in same older newer; do
    ${CC:-cc} -Wall -Werror -D"${version_of^^}" -I"$scratch/$version_of" "$KEYBITS_SOURCE/tests/install/callers.c" \
        -L"${library%/*}" -lkeybits -lm -lpthread -o "$scratch/$version_of/caller"
    LD_LIBRARY_PATH=${library%/*} check "$scratch/$version_of/caller"
done
