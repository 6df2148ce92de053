# SPDX-License-Identifier: Apache-2.0
# Two clones in two folders make the same release, byte for byte; each artefact, unpacked in an empty place, matches two
# images with the same result. The Debian package for arm64 and the wheels for other platforms run in emulators where these
# are installed.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
git -C "$KEYBITS_SOURCE" rev-parse HEAD >/dev/null 2>&1 || { echo "skipped: not a clone"; exit 77; }
commit=$(git -C "$KEYBITS_SOURCE" rev-parse HEAD)
for folder in one/a two/another; do
    git clone -q "$KEYBITS_SOURCE" "$scratch/$folder"
    git -C "$scratch/$folder" checkout -q --detach "$commit"
    "$scratch/$folder/scripts/release" --trial "$scratch/${folder%/*}/dist" >"$scratch/log" 2>&1 || fail "$(tail -n 20 "$scratch/log")"
done
diff "$scratch/one/dist/SHA256SUMS" "$scratch/two/dist/SHA256SUMS" || fail "two releases of one commit differ"
dist=$scratch/one/dist
(cd "$dist" && sha256sum --quiet -c SHA256SUMS)
python3 -m json.tool "$dist"/*.spdx.json >/dev/null

example=$KEYBITS_SOURCE/examples/match.c
includes="-I$KEYBITS_SOURCE/examples"
unpack() { mkdir -p "$scratch/$1" && tar -C "$scratch/$1" --strip-components=1 -xf "$2"; }
version=$(sed -n 's/^#define KB_VERSION_STRING "\(.*\)"/\1/p' "$KEYBITS_SOURCE/include/keybits/keybits.h")

# same NAME COMMAND...: prints what the first of them printed
same() {
    local name=$1
    shift
    "$@" 2>/dev/null | tr -d '\r' >"$scratch/printed" || fail "$name does not run"
    [ -e "$scratch/expected" ] || { grep -q '^inliers' "$scratch/printed" && cp "$scratch/printed" "$scratch/expected"; }
    cmp -s "$scratch/expected" "$scratch/printed" || fail "$name: $(diff "$scratch/expected" "$scratch/printed")"
    echo "$name: $(sed -n '/^inliers/p' "$scratch/printed")"
}

unpack amalgamation "$dist/keybits-$version-amalgamation.tar.gz"
mkdir "$scratch/amalgamation/keybits"
cp "$scratch/amalgamation/keybits.h" "$scratch/amalgamation/keybits/"
cc -O2 -ffp-contract=off $includes -I"$scratch/amalgamation" "$example" "$scratch/amalgamation/keybits.c" -lm -lpthread -o "$scratch/match1"
same amalgamation "$scratch/match1"

unpack source "$dist/keybits-$version.tar.gz"
cc -O1 -ffp-contract=off -DKB_HAVE_BUILTIN_TABLES $includes -I"$scratch/source/include" -I"$scratch/source/src" "$example" \
    "$scratch"/source/src/*/*.c "$scratch/source/generated/builtin_tables.c" -lm -lpthread -o "$scratch/match2"
same sources "$scratch/match2"

for architecture in amd64 arm64; do
    deb=$dist/keybits_${version}_$architecture.deb
    [ -e "$deb" ] || continue
    dpkg-deb -x "$deb" "$scratch/$architecture"
    prefix=$scratch/$architecture/usr compiler=cc emulator=()
    [ "$architecture" = "$(dpkg --print-architecture)" ] || {
        compiler=aarch64-linux-gnu-gcc emulator=(qemu-aarch64 -L /usr/aarch64-linux-gnu)
        command -v "${emulator[0]}" >/dev/null || continue
    }
    [ "$(dpkg-deb -f "$deb" Architecture)" = $architecture ] || fail "the architecture of $deb"
    $compiler -O2 -ffp-contract=off $includes -I"$prefix/include" "$example" "$(find "$prefix" -name libkeybits.a)" -lm -lpthread -o "$scratch/match-$architecture"
    same "deb $architecture" ${emulator[@]+"${emulator[@]}"} "$scratch/match-$architecture"
done

# wheel FILE LIBRARY COMPILER EMULATOR...
wheel() {
    local folder=$scratch/wheel-$3 file=$1 library=$2 compiler=$3
    shift 3
    command -v "$compiler" >/dev/null || return 0
    [ $# -eq 0 ] || command -v "$1" >/dev/null || return 0
    python3 -m zipfile -e "$file" "$folder"
    $compiler -O2 -ffp-contract=off -DKB_SHARED $includes -I"$KEYBITS_SOURCE/include" "$example" "$folder/keybits/$library" -lm \
        -Wl,-rpath,"$folder/keybits" -o "$folder/keybits/match.exe"
    same "${file##*/}" "$@" "$folder/keybits/match.exe"
}
export WINEDEBUG=-all WINEPREFIX=$scratch/wine
wheel "$(echo "$dist"/*x86_64.whl)" libkeybits.so cc
wheel "$(echo "$dist"/*aarch64.whl)" libkeybits.so aarch64-linux-gnu-gcc qemu-aarch64 -L /usr/aarch64-linux-gnu
wheel "$(echo "$dist"/*win_amd64.whl)" keybits.dll x86_64-w64-mingw32-gcc wine
! command -v wineserver >/dev/null || wineserver -w 2>/dev/null || true

if command -v node >/dev/null; then
    unpack npm/node_modules/keybits "$dist/keybits-$version-npm.tgz"
    cat >"$scratch/npm/match.mjs" <<'JS'
import { load, matchImages } from "keybits";
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
console.log("npm: places", fit.places);
JS
    node "$scratch/npm/match.mjs" || fail "the npm package"
fi
