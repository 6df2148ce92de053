# SPDX-License-Identifier: Apache-2.0
# The library as one file: made the same way every time, compiled by the README's line with the README's example, the
# same bits, and no names for the linker but kb_*. By gcc as the README has it, by clang without optimising, which takes a
# sixth of the time; with the argument "every", by both as the README has it.
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
# The checks of the hash see the library from inside: both are one translation unit.
{
    echo '#include "keybits.c"'
    cat "$KEYBITS_SOURCE/tests/arrays.h" "$KEYBITS_SOURCE/tests/hash/hash_everything.c" |
        grep -vE '^#include ("common/common.h"|"../arrays.h"|.keybits/)'
} >hash.c

for compiler in gcc clang; do
    command -v $compiler >/dev/null || { echo "$compiler is not installed"; continue; }
    optimise=-O2
    [ "$compiler ${1:-}" != "clang " ] || optimise=-O0
    $compiler $optimise -Wall -Wextra -Wshadow -Wconversion -Werror -c keybits.c -o keybits.o
    $compiler -O2 app.c keybits.o -lm -lpthread -o app
    found=$(./app)
    [ "$found" = "0 rows" ] || { echo "$compiler: the example printed: $found"; exit 1; }
    if nm -g --defined-only keybits.o | grep -v ' kb_'; then
        echo "$compiler: these names are visible to the linker"
        exit 1
    fi
    $compiler -O0 hash.c -lm -lpthread -o hash
    diff <(./hash) <("$KEYBITS_HASH") || { echo "$compiler: other bits (<) than those of the library (>)"; exit 1; }
done

# The static library, which is many objects, has names of its own for what they share.
archive=$(find "$KEYBITS_PREFIX" -name libkeybits.a)
if [ -n "$archive" ] && nm -g --defined-only "$archive" 2>/dev/null | grep ' [A-Z] ' | grep -vE ' kbi?_'; then
    echo "libkeybits.a: these names may clash with others"
    exit 1
fi
