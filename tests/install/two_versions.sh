# SPDX-License-Identifier: Apache-2.0
# Two versions of the library in one process, as plug-ins of a program bring them: each answers for itself, a limit of
# one does not reach the other, and both describe at the same time with the same bits.
source "$(dirname "$0")/common.inc"
need python3
"$KEYBITS_SOURCE/scripts/amalgamate" "$KEYBITS_BUILD/generated/builtin_tables.c" "$scratch"
cd "$scratch"
mkdir other
cp keybits.c other/
sed 's/^#define KB_VERSION_STRING ".*"/#define KB_VERSION_STRING "9.8.7"/' keybits.h >other/keybits.h
! cmp -s keybits.h other/keybits.h
for folder in . other; do
    ${CC:-cc} -O1 -shared -fPIC "$folder/keybits.c" -lm -lpthread -o "$folder/libkeybits.so"
done
${CC:-cc} -Wall -Wextra -Werror -I"$KEYBITS_SOURCE/include" "$KEYBITS_SOURCE/tests/install/two_versions.c" -ldl \
    -lpthread -o two_versions
found=$(./two_versions ./libkeybits.so ./other/libkeybits.so)
echo "$found"
[[ "$found" == "$version and 9.8.7: the same "* ]]
# and the test can fail: the same library twice is one version
! ./two_versions ./libkeybits.so ./libkeybits.so 2>/dev/null
