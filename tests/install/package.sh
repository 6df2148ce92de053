# SPDX-License-Identifier: Apache-2.0
# The installed man page, completion and documents; uninstalling leaves nothing; the Debian package holds the same files.
source "$(dirname "$0")/common.inc"
build=${KEYBITS_BUILD:?names the build folder}
fail() { echo "FAILED: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$scratch/prefix" >/dev/null || fail "installing"
for file in bin/keybits include/keybits/keybits.h include/keybits/advanced.h include/keybits/index.h share/man/man1/keybits.1 share/doc/keybits/LICENSE \
    share/doc/keybits/docs/program.md share/bash-completion/completions/keybits; do
    [ -s "$scratch/prefix/$file" ] || fail "not installed: $file"
done

# every command has a man page with examples, and roff has nothing to say about any
pages=$scratch/prefix/share/man/man1
for command in $("$scratch/prefix/bin/keybits" --help | sed -n '/^usage/,$ s/^  \([a-z]*\)  .*/\1/p'); do
    grep -q '^.SH EXAMPLES' "$pages/keybits-$command.1" || fail "no man page of keybits $command, or no examples in it"
done
if command -v groff >/dev/null; then
    for page in "$pages"/*.1; do
        groff -man -Tutf8 -ww "$page" >/dev/null 2>"$scratch/groff.txt" || fail "groff"
        [ ! -s "$scratch/groff.txt" ] || fail "groff: $(head -5 "$scratch/groff.txt")"
    done
fi

# complete_words WORD...: what the completion offers for the last word
complete_words() (
    source "$scratch/prefix/share/bash-completion/completions/keybits"
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _keybits
    echo "${COMPREPLY[*]}"
)
[ "$(complete_words keybits det)" = detect ] || fail "completion of commands"
[ "$(complete_words keybits model im)" = import ] || fail "completion of subcommands"
[ "$(complete_words keybits detect a.png --max-k)" = --max-keypoints ] || fail "completion of options"
[ "$(complete_words keybits detect --detector s)" = sift ] || fail "completion of words"
[ "$(complete_words keybits match -m rootsi)" = rootsift ] || fail "completion of model names"
[ -z "$(complete_words keybits detect pic)" ] || fail "files are completed by bash"

# uninstalling
(cd "$scratch/prefix" && find . ! -type d ! -name keybits-peers.so | sort) >"$scratch/installed.txt"
cp "$build/install_manifest.txt" "$scratch/manifest.txt"
cmake -DMANIFEST="$scratch/manifest.txt" -P "$KEYBITS_SOURCE/cmake/uninstall.cmake" >/dev/null 2>&1 || fail "uninstalling"
[ -z "$(find "$scratch/prefix" ! -type d)" ] || fail "left behind: $(find "$scratch/prefix" ! -type d | head -3)"
[ -z "$(find "$scratch/prefix" -name keybits)" ] || fail "folders left behind"

# the package, which leaves the module for OpenCV out
if ! command -v dpkg-deb >/dev/null; then echo "no dpkg-deb: the package is not tested"; exit 0; fi
(cd "$scratch" && cpack -G DEB --config "$build/CPackConfig.cmake" -B "$scratch/package" >cpack.txt 2>&1) ||
    fail "cpack: $(tail -5 "$scratch/cpack.txt")"
deb=$(echo "$scratch"/package/*.deb)
dpkg-deb -c "$deb" | awk '$1 !~ /^d/ {print $6}' | sed 's|^\./usr/|./|' | sort >"$scratch/packed.txt"
cmp -s "$scratch/installed.txt" "$scratch/packed.txt" ||
    fail "package and installation differ: $(diff "$scratch/installed.txt" "$scratch/packed.txt" | head -5)"
[ "$(dpkg-deb -f "$deb" Package)" = keybits ] || fail "the package's name"
[[ "$(dpkg-deb -f "$deb" Depends)" != *opencv* ]] || fail "the package depends on OpenCV"
[[ "$(dpkg-deb -f "$deb" Depends)" != *heif* ]] || fail "the package depends on libheif, which is loaded when needed"
if [[ "$("$build/keybits" info)" = *HEIC* ]]; then
    [ "$(dpkg-deb -f "$deb" Recommends)" = libheif1 ] || fail "the package does not recommend libheif1"
fi
