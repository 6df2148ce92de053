# SPDX-License-Identifier: Apache-2.0
# The C example of the README compiles without a warning and links.
source "$(dirname "$0")/common.inc"
sed -n '/^```c$/,/^```$/p' "$KEYBITS_SOURCE/README.md" | sed '/^```/d' >"$scratch/example.c"
cat >>"$scratch/example.c" <<'C'

int main(void)
{
    static const uint8_t gray[64 * 64];
    return describe(gray, 64, 64);
}
C
file=$(find "$KEYBITS_PREFIX" -name 'libkeybits.*' -print -quit)
${CC:-cc} -std=c11 -Wall -Wextra -Werror -I"$KEYBITS_PREFIX/include" "$scratch/example.c" -L"${file%/*}" -lkeybits -lm \
    -lpthread -o "$scratch/example"
found=$(LD_LIBRARY_PATH=${file%/*} "$scratch/example")
[ "$found" = "0 rows" ] || { echo "the example printed: $found"; exit 1; }
