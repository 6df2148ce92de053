# SPDX-License-Identifier: Apache-2.0
# A shared library exports the names in the headers, and no others, and has a size. Its SONAME has the major version.
# It is built without optimising, which takes a fifth of the time. The one whose size counts is made of the static
# library, whose objects are compiled with the options of a shared one.
source "$(dirname "$0")/common.inc"
need nm
need readelf
cmake -S "$KEYBITS_SOURCE" -B "$scratch/build" -DBUILD_SHARED_LIBS=ON -DCMAKE_BUILD_TYPE=Debug \
    -DKEYBITS_EXTRAS=OFF -DCMAKE_INSTALL_PREFIX="$scratch/prefix" >"$scratch/log"
cmake --build "$scratch/build" >>"$scratch/log"
cmake --install "$scratch/build" >>"$scratch/log"
library=$(find "$scratch/prefix" -name libkeybits.so)

nm -D --defined-only "$library" | sed 's/.* //' | sort >"$scratch/exported"
printf '#include <keybits/%s.h>\n' advanced index >"$scratch/headers.h"
${CC:-cc} -E -P -I"$KEYBITS_SOURCE/include" "$scratch/headers.h" | tr '\n' ' ' | tr ';' '\n' |
    sed -n 's/.*visibility("default"))) [^(]*\b\(kb_[a-z0-9_]*\)(.*/\1/p' | sort >"$scratch/declared"
if ! [ -s "$scratch/declared" ] || ! diff "$scratch/exported" "$scratch/declared"; then
    echo "exported (<) and declared (>) names differ"
    exit 1
fi

readelf -d "$library" | grep -qF "soname: [libkeybits.so.${version%%.*}]" || { echo "the SONAME is another"; exit 1; }
${CC:-cc} "$consumer" -I"$scratch/prefix/include" "$library" -o "$scratch/consumer"
LD_LIBRARY_PATH=${library%/*} check "$scratch/consumer"

archive=$(find "$KEYBITS_PREFIX" -name libkeybits.a)
if [ -z "$archive" ] || ! grep -q '^CMAKE_BUILD_TYPE:.*=Release$' "$KEYBITS_BUILD/CMakeCache.txt"; then
    echo "no size, without a static library of a Release build"
    exit 0
fi
${CC:-cc} -shared -s -Wl,--gc-sections -Wl,--whole-archive "$archive" -Wl,--no-whole-archive -lm -lpthread \
    -o "$scratch/stripped.so"
bytes=$(stat -c %s "$scratch/stripped.so")
echo "libkeybits.so: $bytes bytes"
[ "$bytes" -lt 700000 ] || { echo "libkeybits.so: more than 700000"; exit 1; }
