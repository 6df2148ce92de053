# SPDX-License-Identifier: Apache-2.0
# The library as one file: made the same way every time, compiled with the README's example, the same bits, no warning,
# and no names for the linker but kb_*. gcc compiles the example, clang the hash of everything, both with few
# optimisations, since the file takes most of a minute with the README's; with the argument "every", each compiles both,
# as the README has it.
source "$(dirname "$0")/common.inc"
need python3
need nm
tables=$KEYBITS_BUILD/generated/builtin_tables.c
cd "$scratch"
for folder in . again; do "$KEYBITS_SOURCE/scripts/amalgamate" "$tables" $folder; done
cmp keybits.c again/keybits.c
cmp keybits.h again/keybits.h

sed -n '/^```c$/,/^```$/p' "$KEYBITS_SOURCE/README.md" | sed -e '/^```/d' -e 's,<keybits/keybits.h>,"keybits.h",' >app.c
cat >>app.c <<'C'

int main(void)
{
    static const uint8_t gray[64 * 64];
    return describe(gray, 64, 64);
}
C
# The checks of the hash see the library from inside: both are one translation unit, in which functions of the checks have
# names of their own.
cat "$KEYBITS_SOURCE"/tests/{arrays.h,hash/hash.h,hash/hash_*.c} |
    grep -vE '^#include ("common/common.h"|"../arrays.h"|"hash.h"|.keybits/)' >checks.c
functions=$(sed -nE 's/^static [^(=]*\b(\w+)\(.*/\1/p' checks.c | sort -u | paste -sd '|')
{
    echo '#include "keybits.c"'
    perl -pe "s/(?<![.>\w])($functions)\b/check_\$1/g" checks.c
} >hash.c

warnings=(-Wall -Wextra -Wshadow -Wconversion -Werror)

# compiles_example COMPILER OPTION
compiles_example() {
    "$@" "${warnings[@]}" -c keybits.c -o keybits.o
    "$@" app.c keybits.o -lm -lpthread -o app
    local found
    found=$(./app)
    [ "$found" = "0 rows" ] || { echo "$1: the example printed: $found"; exit 1; }
    if nm -g --defined-only keybits.o | grep -v ' kb_'; then
        echo "$1: these names are visible to the linker"
        exit 1
    fi
}

# has_same_bits COMPILER
has_same_bits() {
    "$1" -O0 hash.c -lm -lpthread -o hash
    diff <(./hash) <("$KEYBITS_HASH") || { echo "$1: other bits (<) than those of the library (>)"; exit 1; }
}

compilers=()
for compiler in gcc clang; do
    if command -v $compiler >/dev/null; then compilers+=($compiler); else echo "$compiler is not installed"; fi
done
if [ "${1:-}" = every ]; then
    for compiler in "${compilers[@]}"; do
        compiles_example "$compiler" -O2
        has_same_bits "$compiler"
    done
elif [ ${#compilers[@]} -gt 0 ]; then
    last=${compilers[-1]}
    compiles_example "${compilers[0]}" -O0
    "$last" "${warnings[@]}" -fsyntax-only keybits.c
    has_same_bits "$last"
fi

# The static library, which is many objects, has names of its own for what they share.
archive=$(find "$KEYBITS_PREFIX" -name libkeybits.a)
if [ -n "$archive" ] && nm -g --defined-only "$archive" 2>/dev/null | grep ' [A-Z] ' | grep -vE ' kbi?_'; then
    echo "libkeybits.a: these names may clash with others"
    exit 1
fi
