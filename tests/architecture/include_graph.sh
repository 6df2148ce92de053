# SPDX-License-Identifier: Apache-2.0
# Which folder includes which: every folder only those below it, so that there is no cycle (docs/architecture.md).
#
# include_graph.sh [ROOT]: prints the forbidden includes of the sources below ROOT, the project by default.
set -euo pipefail
root=${1:-$KEYBITS_SOURCE}

source "$(dirname "$0")/folders.inc"

list_includes() {
    # "FILE FOLDER-INCLUDED"; keybits is the public header.
    (cd "$root" && grep -rnoE '^ *# *include +"[a-z_]+/' --include='*.[ch]' --include='*.cpp' "$@") |
        sed -E 's/^([^:]*):[0-9]+:.*"([a-z_]+)\/$/\1 \2/' | grep -v ' keybits$'
}

folders=()
for folder in src io learn pipeline collection eval cli; do [ ! -d "$root/$folder" ] || folders+=("$folder"); done
found=$(list_includes "${folders[@]}" | awk -v rules="$rules" '
    BEGIN {
        n = split(rules, line, "\n")
        for (i = 1; i <= n; i++) {
            if (split(line[i], part, ":") < 1 || part[1] == "") continue
            from = part[1]; known[from] = 1
            m = split(part[2], to, " ")
            for (k = 1; k <= m; k++) {
                if (!(to[k] in known)) print "rules: " from " comes before " to[k]   # an order has no cycle
                allowed[from, to[k]] = 1
            }
        }
    }
    {
        split($1, path, "/"); from = path[1] == "src" ? path[2] : path[1]
        edges++
        if ($2 != from && !((from, $2) in allowed)) print $1 " includes " $2 "/, which " from "/ must not know"
    }
    END { if (edges < 50) print "only " edges + 0 " includes found: are the sources there?" }')
if [ -n "$found" ]; then
    echo "$found"
    exit 1
fi

# The check itself can fail: a module that includes what is above it.
[ $# -eq 0 ] || exit 0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp -r "$root/src" "$scratch/"
echo '#include "simd/kernels.h"' >>"$scratch/src/image/gray.c"
if bash "$0" "$scratch" >"$scratch/found" || ! grep -q '^src/image/gray.c includes simd/' "$scratch/found"; then
    echo "an include of simd/ in src/image was not noticed"
    exit 1
fi
