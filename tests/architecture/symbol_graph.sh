# SPDX-License-Identifier: Apache-2.0
# Which folder of src/ calls which, by the symbols of its objects: only folders below it (docs/architecture.md). A public
# function needs no include, so include_graph.sh does not see it. A module gets its kernels from src/simd by one function
# that its own header declares, kbi_<module>_kernels_get.
#
# symbol_graph.sh OBJECTS: prints the forbidden calls of OBJECTS/FOLDER/*.o.
set -euo pipefail
objects=${1:?"usage: symbol_graph.sh OBJECTS"}
source "$(dirname "$0")/folders.inc"

# list_symbols OBJECTS: "FOLDER U|D SYMBOL", of the sources that exist
list_symbols() {
    (cd "$KEYBITS_SOURCE/src" && printf '%s.o\n' */*.c) | (cd "$1" && xargs nm -A 2>/dev/null) | tr '/:' '  ' | awk '
        $(NF - 1) == "U" && $NF ~ /^kbi?_/ { print $1, "U", $NF }
        $(NF - 1) ~ /^[TDRBGS]$/ && $NF ~ /^kbi?_/ { print $1, "D", $NF }'
}

# forbidden: reads symbols, prints forbidden calls.
forbidden() {
    awk -v rules="$rules" '
        BEGIN {
            n = split(rules, line, "\n")
            for (i = 1; i <= n; i++) {
                if (split(line[i], part, ":") < 2) continue
                m = split(part[2], below, " ")
                for (k = 1; k <= m; k++) allowed[part[1], below[k]] = 1
            }
        }
        $2 == "D" { home[$3] = $1 }
        $2 == "U" { calls[++count] = $1 " " $3 }
        END {
            for (i = 1; i <= count; i++) {
                split(calls[i], call, " ")
                to = home[call[2]]
                if (to == "" || to == call[1] || ((call[1], to) in allowed)) continue
                if (to == "simd" && call[2] ~ /_kernels_get$/) continue
                print call[1] "/ calls " call[2] " of " to "/, which it must not know"
            }
            if (count < 100) print "only " count + 0 " calls found: are the objects there?"
        }' | sort -u
}

symbols=$(list_symbols "$objects")
found=$(forbidden <<<"$symbols")
if [ -n "$found" ]; then
    echo "$found"
    exit 1
fi

# The check itself can fail: an image that calls a match.
found=$({ echo "$symbols"; echo "image U kb_match_features"; } | forbidden)
[ "$found" = "image/ calls kb_match_features of match/, which it must not know" ] || {
    echo "a call of match/ in image/ was not noticed: $found"
    exit 1
}
