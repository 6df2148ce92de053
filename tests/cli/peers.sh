# SPDX-License-Identifier: Apache-2.0
# OpenCV stays outside the program: it is loaded with keybits-peers.so when a benchmark asks for a peer, and only then.
source "$(dirname "$0")/eval.inc"
source "$(dirname "$0")/common.inc"
mkdir -p set/shift
noise set/shift/1.pgm 200 150 20 20
noise set/shift/2.pgm 200 150 29 14
echo "1 0 -9  0 1 6  0 0 1" >set/shift/H_1_2

# The program needs codecs, SQLite, jansson and what these need; OpenCV and OpenBLAS, with their threads at start, and libheif
# are loaded later. It runs in little address space. Sanitizers need their own libraries and much space.
if command -v ldd >/dev/null && ! grep -qE '__(a|t)san_init' "$KEYBITS"; then
    ldd "$KEYBITS" >libraries.txt || fail "ldd"
    known='linux-vdso|ld-linux|libc|libm|libdl|libpthread|libpng[0-9]*|libz|libjpeg|libsqlite3|libjansson|libtiff|libwebp|libsharpyuv'
    known+='|libzstd|liblzma|libLerc|libjbig|libdeflate|libstdc\+\+|libgcc_s' # what libtiff needs
    others=$(grep -vE "^\s*(/\S*/)?($known)[-.0-9a-z_]*\.so" libraries.txt)
    [ -z "$others" ] || fail "the program is linked with $others"
    (ulimit -v 100000 && timeout 600 "$KEYBITS" info >info.txt 2>&1) || fail "info in 100 MB of address space: $(cat info.txt)"
fi

# where the module is not there: a clear word, and everything else works
export KEYBITS_PEERS="$scratch/nowhere/keybits-peers.so"
refuse 1 "cv:orb needs OpenCV: $KEYBITS_PEERS" "$KEYBITS" eval oxford set -m cv:orb
run "$KEYBITS" eval oxford set -m sift --strict --json >sift.json
holds sift.json '"model": "sift"'
printf 'int x;' >empty.c
if ${CC:-cc} -shared -o other.so empty.c 2>/dev/null; then
    refuse 1 "belongs to another version" env KEYBITS_PEERS="$scratch/other.so" "$KEYBITS" eval oxford set -m cv:orb
fi
# a program somewhere else, without a module beside it, says where it looked
mkdir alone
cp "$KEYBITS" alone/keybits
refuse 1 "keybits-peers.so is not there: neither beside the program" env -u KEYBITS_PEERS alone/keybits \
    eval oxford set -m cv:orb
unset KEYBITS_PEERS

# beside the program it is found
[ -e "${KEYBITS_BUILD:-}/keybits-peers.so" ] || exit 0
run "$KEYBITS" eval oxford set -m cv:orb --strict --json >orb.json
holds orb.json '"model": "cv:orb"'
refuse 1 "not one of the peers in this build: cv:orb" "$KEYBITS" eval oxford set -m cv:nothing
