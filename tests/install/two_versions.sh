# SPDX-License-Identifier: Apache-2.0
# Two versions of the library in one process, as plug-ins of a program bring them: each answers for itself, a limit of
# one does not reach the other, and both describe at the same time with the same bits.
source "$(dirname "$0")/common.inc"
cd "$scratch"
mkdir other
# The other version is the same library but for the file that knows its version.
archive=$(find "$KEYBITS_PREFIX" -name libkeybits.a)
[ -n "$archive" ] || { echo "skipped: no static library"; exit 77; }
cp "$archive" other/
sed 's/KB_VERSION_STRING/"9.8.7"/' "$KEYBITS_SOURCE/src/common/status.c" >status.c
! cmp -s status.c "$KEYBITS_SOURCE/src/common/status.c"
${CC:-cc} -O2 -fPIC -fvisibility=hidden -DKB_BUILDING -I"$KEYBITS_SOURCE/include" -I"$KEYBITS_SOURCE/src" -c status.c -o status.c.o
ar r other/libkeybits.a status.c.o
for library in "$archive" other/libkeybits.a; do
    ${CC:-cc} -shared -Wl,--whole-archive "$library" -Wl,--no-whole-archive -lm -lpthread \
        -o "$([ "$library" = "$archive" ] || echo other/)libkeybits.so"
done
${CC:-cc} -Wall -Wextra -Werror -I"$KEYBITS_SOURCE/include" "$KEYBITS_SOURCE/tests/install/two_versions.c" -ldl \
    -lpthread -o two_versions
found=$(./two_versions ./libkeybits.so ./other/libkeybits.so)
echo "$found"
[[ "$found" == "$version and 9.8.7: the same "* ]]
# and the test can fail: the same library twice is one version
! ./two_versions ./libkeybits.so ./libkeybits.so 2>/dev/null
