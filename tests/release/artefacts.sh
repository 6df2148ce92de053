# SPDX-License-Identifier: Apache-2.0
# Each artefact of the release in KEYBITS_DIST, unpacked or installed in an empty place, matches two images; what is built
# from C prints the same everywhere. Other processors and Windows are emulated. Licence, NOTICE and sums are there.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
source "$KEYBITS_SOURCE/scripts/python.inc"
python=$(find_python numpy pip setuptools wheel)
cd "$scratch" # nothing of the sources is found from here
dist=$KEYBITS_DIST
version=$("$KEYBITS_SOURCE/scripts/version")
name=$dist/keybits-$version
cp "$KEYBITS_SOURCE"/examples/{match.c,picture.h} "$KEYBITS_SOURCE/tests/release/match.py" .
ran=0

(cd "$dist" && sha256sum --quiet -c SHA256SUMS)
[ "$(grep -c . "$dist/SHA256SUMS")" = "$(ls "$dist" | grep -c ^keybits)" ] || fail "SHA256SUMS leaves files out"
python3 - "$name.spdx.json" "$dist" <<'PY'
import json, pathlib, sys
bill = json.load(open(sys.argv[1]))
ids = {p["SPDXID"] for p in bill["packages"]} | {bill["SPDXID"]}
names = {p["name"] for p in bill["packages"]}
missing = [f.name for f in pathlib.Path(sys.argv[2]).glob("keybits*") if f.name not in names and not f.name.endswith(".json")]
assert not missing, missing
assert all(r["spdxElementId"] in ids and r["relatedSpdxElement"] in ids for r in bill["relationships"])
PY

# unpack FOLDER FILE: by its kind; the terms are inside
unpack() {
    mkdir -p "$scratch/$1"
    case $2 in
    *.deb) dpkg-deb -x "$2" "$scratch/$1" ;;
    *.whl) python3 -m zipfile -e "$2" "$scratch/$1" ;;
    *) tar -C "$scratch/$1" --strip-components=1 -xf "$2" ;;
    esac
    for terms in LICENSE NOTICE; do
        cmp -s "$(find "$scratch/$1" -name $terms -print -quit)" "$KEYBITS_SOURCE/$terms" || fail "$2 has no $terms, or another"
    done
}

# same NAME COMMAND...: prints what the first of them printed
same() {
    local name=$1
    shift
    "$@" 2>"$scratch/errors" | tr -d '\r' >"$scratch/printed" || fail "$name does not run: $(tail -n 3 "$scratch/errors")"
    grep -q '^inliers [1-9]' "$scratch/printed" || fail "$name finds nothing"
    [ -e "$scratch/expected" ] || cp "$scratch/printed" "$scratch/expected"
    cmp -s "$scratch/expected" "$scratch/printed" || fail "$name: $(diff "$scratch/expected" "$scratch/printed")"
    echo "$name: $(grep '^inliers' "$scratch/printed")"
    ran=$((ran + 1))
}

unpack amalgamation "$name-amalgamation.tar.gz"
mkdir amalgamation/keybits
cp amalgamation/keybits.h amalgamation/keybits/
cc -O2 -I. -Iamalgamation match.c amalgamation/keybits.c -lm -lpthread -o match1
same amalgamation ./match1

unpack source "$name-source.tar.gz"
cc -O1 -DKB_HAVE_BUILTIN_TABLES -I. -Isource/include -Isource/src match.c source/src/*/*.c source/generated/builtin_tables.c \
    -lm -lpthread -o match2
same sources ./match2

arm=(qemu-aarch64 -L /usr/aarch64-linux-gnu)
# deb ARCHITECTURE COMPILER EMULATOR...
deb() {
    local architecture=$1 compiler=$2 file=$dist/keybits_${version}_$1.deb
    shift 2
    [ "$(dpkg-deb -f "$file" Architecture)" = "$architecture" ] || fail "the architecture of $file"
    unpack "$architecture" "$file"
    $compiler -O2 -I. -I"$architecture/usr/include" match.c "$(find "$architecture" -name libkeybits.a)" -lm -lpthread -static \
        -o "match-$architecture"
    same "deb $architecture" "$@" "./match-$architecture"
}
deb amd64 cc
deb arm64 aarch64-linux-gnu-gcc "${arm[@]}"
cp "$KEYBITS_SOURCE/docs/images/match.jpg" .
for library in libc6 libpng16 libjpeg62 libsqlite3 libjansson libtiff libwebp; do
    dpkg-deb -f "$dist/keybits_${version}_amd64.deb" Depends | grep -q "$library" || fail "the package does not depend on $library"
done
[ "$(dpkg-deb -f "$dist/keybits_${version}_amd64.deb" Recommends)" = libheif1 ] || fail "the package does not recommend libheif1"
amd64/usr/bin/keybits match match.jpg match.jpg >program.txt 2>&1 || fail "the program: $(tail -n 3 program.txt)"

# library FILE LIBRARY COMPILER EMULATOR...: a program in C with the library of a wheel
library() {
    local file=$1 library=$2 compiler=$3 folder=wheel-$3
    shift 3
    unpack "$folder" "$file"
    $compiler -O2 -DKB_SHARED -I. -I"$KEYBITS_SOURCE/include" match.c "$folder/keybits/$library" -lm \
        -Wl,-rpath,"$scratch/$folder/keybits" -o "$folder/keybits/match.exe"
    same "${file##*/}" "$@" "$folder/keybits/match.exe"
}
library "$(echo "$dist"/*x86_64.whl)" libkeybits.so cc
library "$(echo "$dist"/*aarch64.whl)" libkeybits.so aarch64-linux-gnu-gcc "${arm[@]}"
export WINEDEBUG=-all WINEPREFIX=$scratch/wine
library "$(echo "$dist"/*win_amd64.whl)" keybits.dll x86_64-w64-mingw32-gcc wine
wineserver -w 2>/dev/null || true # it writes into the scratch folder

# The wheel, and the sdist without a network, by pip.
for file in "$dist"/*x86_64.whl "$name.tar.gz"; do
    rm -rf installed
    "$python" -m pip install -q --disable-pip-version-check --root-user-action=ignore --no-index --no-deps --no-build-isolation \
        --target "$scratch/installed" "$file" >pip.log 2>&1 || fail "pip: $(tail -n 5 pip.log)"
    for terms in LICENSE NOTICE; do [ -n "$(find installed -name $terms)" ] || fail "$file has no $terms"; done
    found=$(PYTHONPATH=$scratch/installed "$python" -W ignore match.py)
    [[ $found = "$scratch/installed/keybits "* ]] || fail "another package was imported: $found"
    echo "${file##*/}: ${found#* }"
    ran=$((ran + 1))
done

# The npm package by npm, and the copy beside the pages.
cat >match.mjs <<'JS'
const { load, matchImages } = await import(process.argv[2]);
await load();
let seed = 1;
const next = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
const blocks = Array.from({ length: 80 * 80 }, () => Math.floor(256 * next()));
const picture = (dx) => {
    const data = new Uint8Array(320 * 240);
    for (let y = 0; y < 240; y++)
        for (let x = 0; x < 320; x++) data[y * 320 + x] = blocks[Math.floor(y / 6) * 80 + Math.floor((x + dx) / 6)];
    return { data, width: 320, height: 240 };
};
const { fit } = matchImages(picture(0), picture(12));
if (!fit.found) process.exit(1);
console.log("places", fit.places);
JS
echo '{"type": "module", "private": true}' >package.json
npm install --silent --offline --no-audit --no-fund "$name-npm.tgz"
echo "npm: $(node match.mjs keybits)"
unpack npm "$name-npm.tgz"
unpack pages "$name-pages.tar.gz"
echo "pages: $(node match.mjs "$scratch/pages/package/keybits.js")"
for page in index recognise compare energy; do [ -s "pages/$page.html" ] || fail "no page $page"; done
echo "$ran artefacts and both of the web match"
