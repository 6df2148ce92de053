# SPDX-License-Identifier: Apache-2.0
# The binary interface is the last release's: scripts/abi, which accepts additions and sees breaks. The SONAME has the
# major version.
source "$(dirname "$0")/common.inc"
need abidiff
abi=$KEYBITS_SOURCE/scripts/abi
"$abi"

# changed NAME EXPRESSION: what scripts/abi says about headers that perl has changed
changed() {
    mkdir -p "$scratch/$1/keybits"
    for header in "$KEYBITS_SOURCE"/include/keybits/*.h; do
        perl -0pe "$2" "$header" >"$scratch/$1/keybits/${header##*/}"
    done
    ! diff -rq "$KEYBITS_SOURCE/include" "$scratch/$1" >/dev/null || { echo "$1 changes nothing"; exit 1; }
    INCLUDE=$scratch/$1 "$abi" >"$scratch/$1.log" 2>&1
}
grows='(typedef struct (\w+) \{\n    uint32_t struct_size;(?:(?!\n\}).)*)(\n\} \2;)'
changed grown "s/$grows/\$1\\n    double future;\$3/sg" || { cat "$scratch/grown.log"; exit 1; }
changed added 's/(KB_API const char \*kb_version\(void\);)/$1\nKB_API int kb_future(void);/' || { cat "$scratch/added.log"; exit 1; }
for broken in 's/KB_API const char \*kb_version\(void\);//' 's/(typedef struct kb_keypoint \{)/$1 int first;/' \
    's/(} kb_keypoint;)/int last; $1/' 's/KB_API int32_t kb_hamming\(/KB_API int64_t kb_hamming(/'; do
    ! changed broken "$broken" || { echo "scripts/abi accepts: $broken"; exit 1; }
done
