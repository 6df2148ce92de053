# SPDX-License-Identifier: Apache-2.0
# A bare compiler line with pkg-config's answer, also after the installed tree was moved.
source "$(dirname "$0")/common.inc"
need pkg-config
cp -r "$KEYBITS_PREFIX" "$scratch/moved"
for prefix in "$KEYBITS_PREFIX" "$scratch/moved"; do
    file=$(find "$prefix" -name keybits.pc)
    export PKG_CONFIG_PATH=${file%/*}
    [ "$(pkg-config --modversion keybits)" = "$version" ]
    # shellcheck disable=SC2046
    ${CC:-cc} "$consumer" $(pkg-config --cflags --libs keybits) -o "$scratch/consumer"
    library=$(find "$prefix" -name 'libkeybits.*' -print -quit)
    LD_LIBRARY_PATH=${library%/*} check "$scratch/consumer"
done
