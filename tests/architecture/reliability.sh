# Every test that docs/reliability.md names is a test of this build: reliability.sh NAMES, a file with a name per line.
page=${KEYBITS_SOURCE:?}/docs/reliability.md
names=$(grep -oE '`(unit|cli|fuzz|same_bits|hash|check|reliability)_[A-Za-z0-9_-]+`' "$page" | tr -d '`' | sort -u)
[ "$(wc -w <<<"$names")" -gt 30 ] || { echo "$page names only: $names"; exit 1; }
missing=0
for name in $names; do
    grep -qxF "$name" "$1" || { echo "docs/reliability.md names $name, which is no test"; missing=1; }
done
# A promise without a test behind it.
awk '/^- / { if (item != "" && item !~ /`[a-z]+_/ && item !~ /make (test|fuzz)/ && item !~ /^- Not promised/ && item !~ /^- The program and/) { print "no test: " item; bad = 1 } item = $0; next }
     /^$/ || /^#/ { if (item != "" && item !~ /`[a-z]+_/ && item !~ /make (test|fuzz)/ && item !~ /^- Not promised/ && item !~ /^- The program and/) { print "no test: " item; bad = 1 } item = ""; next }
     item != "" { item = item " " $0 } END { exit bad }' "$page" || missing=1
exit $missing
