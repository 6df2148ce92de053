# SPDX-License-Identifier: Apache-2.0
# Each header alone compiles as C99 and as C++11, without a warning; and the C++ program links.
source "$(dirname "$0")/common.inc"
need g++
cd "$KEYBITS_SOURCE"
warnings=(-Wall -Wextra -Wshadow -Wconversion -pedantic -Werror)
for header in keybits advanced index learn collection; do
    echo "#include <keybits/$header.h>" >"$scratch/only.c"
    for standard in c99 c11 c17; do
        ${CC:-cc} -std=$standard "${warnings[@]}" -Iinclude -fsyntax-only "$scratch/only.c"
    done
    for standard in c++11 c++20; do
        g++ -std=$standard "${warnings[@]}" -Iinclude -x c++ -fsyntax-only "$scratch/only.c"
    done
done

# Enumerations have 32 bits and structs one layout, also with -fshort-enums, which is usual on microcontrollers.
{
    for header in include/keybits/*.h; do echo "#include <keybits/${header##*/}>"; done
    sed -n -e 's/^} \(kb_[a-z_]*\);$/\1/p' -e 's/^struct \(kb_[a-z_]*\) {$/\1/p' include/keybits/*.h |
        while read -r type; do echo "int size_of_${type}[] = {sizeof($type)};"; done
} >"$scratch/enums.c"
grep -q size_of_kb_status "$scratch/enums.c"
for option in -fno-short-enums -fshort-enums; do
    ${CC:-cc} $option -Iinclude -S -o "$scratch/sizes$option" "$scratch/enums.c"
done
cmp "$scratch/sizes-fno-short-enums" "$scratch/sizes-fshort-enums"
${CC:-cc} -std=c99 "${warnings[@]}" -Iinclude -fsyntax-only "$consumer"
cp "$consumer" "$scratch/consumer.cpp"
file=$(find "$KEYBITS_PREFIX" -name 'libkeybits.*' -print -quit)
g++ "${warnings[@]}" -I"$KEYBITS_PREFIX/include" "$scratch/consumer.cpp" -L"${file%/*}" -lkeybits -lm -lpthread \
    -o "$scratch/consumer"
LD_LIBRARY_PATH=${file%/*} check "$scratch/consumer"
