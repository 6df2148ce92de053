# SPDX-License-Identifier: Apache-2.0
# Every test that docs/reliability.md names is a test of this build: reliability.sh NAMES, a file with a name per line.
# And every promise, an item of a list there, names a test or the run of make that checks it.
page=${KEYBITS_SOURCE:?}/docs/reliability.md
kinds='unit|cli|fuzz|same_bits|hash|check|install|release|reliability|python|web|hard_images'
names=$(grep -oE "\`($kinds)_[A-Za-z0-9_-]+\`" "$page" | tr -d '`' | sort -u)
[ "$(wc -w <<<"$names")" -gt 30 ] || { echo "$page names only: $names"; exit 1; }
missing=0
for name in $names; do
    grep -qxF "$name" "$1" || { echo "docs/reliability.md names $name, which is no test"; missing=1; }
done
awk -v kinds="$kinds" '
    function check() {
        if (item == "" || item ~ "`(" kinds ")_" || item ~ /make (test|fuzz|lint|coverage)/ || item ~ /^- Not promised/) return
        print "no test: " item
        bad = 1
    }
    /^- / { check(); item = $0; next }
    /^$/ || /^#/ { check(); item = ""; next }
    item != "" { item = item " " $0 }
    END { check(); exit bad }' "$page" || missing=1
exit $missing
