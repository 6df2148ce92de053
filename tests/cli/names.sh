# SPDX-License-Identifier: Apache-2.0
# Names of strangers: escape codes and line breaks in names of files, images of an index, models and vocabularies reach no
# terminal, whichever command prints them. Long names leave room for what is wrong.
source "$(dirname "$0")/common.inc"
bad=$'evil\e[31m\nbroken\x9b'
mkdir "$bad" walk
for i in 1 2 3; do render "$bad/$i,$bad.pgm" 240 200 "$i"; done
first="$bad/1,$bad.pgm" second="$bad/2,$bad.pgm"
has() { "$KEYBITS" --help | grep -q "^  $1 "; }

# quiet COMMAND...: whatever it says and how it ends, no control character but the line break is in it
commands=0
quiet() {
    "$KEYBITS" "$@" >said.txt 2>&1
    ! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\x9b' said.txt || fail "control characters from: $* ($(cat -v said.txt))"
    ! grep -q "^broken" said.txt || fail "a line break from: $* ($(cat -v said.txt))"
    commands=$((commands + 1))
}

bad_table t.txt 32
{ printf '#: name evil\e[31m\n# a line\e]0;title\a\n'; cat t.txt; } >named.txt
quiet model import named.txt -o m.kbm
[ -e m.kbm ] || { "$KEYBITS" model import t.txt -o m.kbm --name $'evil\e[31m' 2>/dev/null || run "$KEYBITS" model import t.txt -o m.kbm; }
quiet model show m.kbm
quiet model export m.kbm -o "$bad/out.txt"
quiet info
quiet detect "$first" -o "$bad/k.csv"
quiet detect "$bad" -o "$bad/{}.csv"
quiet detect "no such $bad"
quiet describe "$first" -o "$bad/d.npy"
quiet match "$first" "$second" -o "$bad/m.csv"
quiet track "$first" "$bad"
quiet vocab train "$bad" -m m.kbm -o v.kbv --branching 4 --tree-levels 2
quiet vocab show v.kbv
quiet vocab show "$first"
quiet vocab convert v.kbv -o "$bad/v.txt"
quiet index build "$bad" -o i.kbi
quiet index add i.kbi "$second"
quiet index query i.kbi "$first"
quiet index query i.kbi "$first" --verify
quiet index info i.kbi
quiet index list i.kbi
quiet index remove i.kbi "$second" -o "$bad/r.kbi"
quiet index build "$bad" -m m.kbm --vocab v.kbv -o named.kbi
quiet index info named.kbi
quiet search i.kbi "$first"
for i in 1 2 3 4 5; do render "walk/$i$bad,\".pgm" 320 240 "$((i % 3))"; done
quiet loops walk --window 1 --min-score 0.001 --min-places 8
quiet loops walk --window 1 --min-score 0.001 --min-places 8 -o loops.csv
python3 - <<'PY' || fail "the CSV of loops"
import csv
rows = list(csv.reader(open("loops.csv")))
assert len(rows) > 1 and all(len(r) == 14 for r in rows) and all(',".pgm' in r[0] and ',".pgm' in r[1] for r in rows[1:]), rows
PY
quiet collection "$bad" -o "$bad/c.db"
quiet collection "$bad" -o c.db --list "$first"
mkdir model
printf '1 PINHOLE 240 200 300 300 120 100\n' >model/cameras.txt
printf '1 1 0 0 0 0 0 0 1 1,%s.pgm\n10 10 1\n2 1 0 0 0 1 0 0 1 2\e[31m.pgm\n10 10 1\n' "${bad%%$'\n'*}" >model/images.txt
printf '1 0 0 5 0 0 0 1\n' >model/points3D.txt
quiet localize build model "$bad" -o "$bad/map.kbl"
quiet localize build "$bad" "$bad" -o map.kbl
quiet localize "$bad/map.kbl" "$first"
quiet localize "$first" "$second"
quiet "$bad"
quiet detect --"$bad"
quiet detect "$first" --"$bad" 3
quiet detect "$first" --detector "$bad"
if has export; then quiet export colmap "$bad" -o "$bad/e.db"; fi
if has patches; then
    quiet patches synth "$first" -o "$bad/p.kbp" --views 2 --max-per-image 10
    quiet patches info "$bad/p.kbp"
fi
if has train; then quiet train compare "$bad/p.kbp" -m bad256; fi
if has eval; then
    mkdir -p "set/$bad"
    for i in 1 2; do cp "$first" "set/$bad/img$i.pgm"; done
    quiet eval oxford set -m m.kbm -n 50
    quiet eval matching set -m m.kbm -n 50
    quiet eval report "$first" -o "$bad/r.html"
fi
if has bench; then quiet bench "$first" "$second" --no-peers --rows detect -m m.kbm; fi
[ "$commands" -ge 30 ] || fail "only $commands commands were run"

# What is wrong stands behind a name of 4,000 bytes, too.
long=$(printf 'folder/%.0s' $(seq 1 570))x.pgm
for command in "detect $long" "describe $long" "index info $long" "model show ./$long" "collection $long -o x.db"; do
    "$KEYBITS" $command 2>said.txt >/dev/null && fail "success of $command"
    grep -qi "no such\|name too long" said.txt || fail "no reason: $(cut -c 1-300 said.txt)"
done
