# SPDX-License-Identifier: Apache-2.0
# keybits loops: natural order, JSON, CSV and page; and the recall on real photographs where they are.
source "$(dirname "$0")/common.inc"
mkdir walk
for i in 1 2 3 4 5 6; do
    render "walk/$i.pgm" 320 240 "$i"
    render "walk/$((i + 6)).pgm" 310 236 "$i" # 7 to 12: once more
done
echo nothing >walk/13.jpg
ends 1 "$KEYBITS" loops walk --window 5 --min-score 0.01 --json --page page.html -o loops.csv >loops.json
says 13.jpg
python3 - <<'PY' || fail "the JSON of loops"
import csv, json, re
d = json.load(open("loops.json"))
assert d["images"] == 12 and d["failed"] == 1 and d["matched_pairs"] <= 24, d
pairs = {l["query"]: l["reference"] for l in d["loops"]}
assert pairs == {"walk/%d.pgm" % (i + 6): "walk/%d.pgm" % i for i in range(1, 7)}, pairs # 10.pgm after 9.pgm
assert all(l["inliers"] >= 15 and l["score"] > 0 and len(l["model"]) == 9 for l in d["loops"])
rows = list(csv.DictReader(open("loops.csv")))
assert {r["query"]: r["reference"] for r in rows} == pairs and abs(float(rows[0]["m11"]) - 1) < 0.1
page = open("page.html").read()
assert page.count("<img") == 13 and not re.search(r"(src|href)=.(http|/)", page) # the matrix and two per loop
PY
# a list keeps its order: the other way round 6 follows 12
ls walk/*.pgm | sort -t/ -k2 -n -r >list.txt
run "$KEYBITS" loops @list.txt --window 5 --min-score 0.01 --json >list.json
python3 -c '
import json
pairs = {l["query"]: l["reference"] for l in json.load(open("list.json"))["loops"]}
assert pairs == {"walk/%d.pgm" % i: "walk/%d.pgm" % (i + 6) for i in range(1, 7)}, pairs' || fail "the order of a list"
refuse 2 "--window" "$KEYBITS" loops walk --window 0
no_leftovers

photographs=$KEYBITS_SHARED/data/eval/places/rtabmap-samples
[ -d "$photographs" ] || { echo "the rest is skipped: no $photographs"; exit 0; }
run "$KEYBITS" loops "$photographs" --json >real.json
python3 - "$photographs/loops.csv" <<'PY' || fail "recall on real photographs"
import csv, json, os, sys
truth = {r["query"]: r["references"].split() for r in csv.DictReader(open(sys.argv[1]))}
d = json.load(open("real.json"))
right = 0
for loop in sorted(d["loops"], key=lambda l: -l["score"]):
    if os.path.basename(loop["reference"]) not in truth.get(os.path.basename(loop["query"]), ()): break
    right += 1
recall, matched = 100 * right / len(truth), 100 * d["matched_pairs"] / d["pairs"]
print("recall at 100 %% precision %.1f %%, %.1f %% of the pairs matched" % (recall, matched))
assert right >= 37 and matched <= 7 # of 44; images of other places are matched too
PY
