# SPDX-License-Identifier: Apache-2.0
# keybits eval report: a page out of a tiny data set, sound by itself and in a browser when there is one.
source "$(dirname "$0")/eval.inc"
source "$(dirname "$0")/page.inc"
source "$(dirname "$0")/common.inc"
mkdir -p set/shift
noise set/shift/1.pgm 200 160 20 20
noise set/shift/2.pgm 200 160 29 14
echo "1 0 -9  0 1 6  0 0 1" >set/shift/H_1_2
run "$KEYBITS" eval oxford set -m sift,rootsift -n 150 --curves --json >oxford.json
run "$KEYBITS" bench set/shift -m sift,rootsift -n 150 --repeats 1 --energy 0.1 --json >bench.json
echo '{"benchmark": "hpatches", "model": "<b>&bad256", "split": "full", "sequences": 116, "matching": 0.25}' >hpatches.json
echo '{"benchmark": "brown", "model": "bad256", "sets": [{"set": "notredame", "fpr95": 31.5}]}' >brown.json
echo '{"benchmark": "sfm", "set": "fountain-P11", "model": "m/hashsift256.kbm", "points": 5769}' >sfm.json
echo '[{"name": "learned threshold", "paper": 19.95, "map": 44.5}]' >ablation.json
run "$KEYBITS" eval pose --scenes 2 --no-peers --json >pose.json
results="oxford.json bench.json hpatches.json brown.json sfm.json ablation.json pose.json"
run "$KEYBITS" eval report $results -o page.html --title 'Small & tidy'
says "8 results"
for words in "Small &amp; tidy" "Accuracy against cost" "&lt;b&gt;&amp;bad256" "22.19" "30.97" ">hashsift256<" "5769" \
             "44.50" "AUC" "The machine" "polyline"; do
    holds page.html "$words"
done
# numbers of the paper stand beside ours in the same protocol alone
! grep -qF "16086" page.html || fail "points of the paper beside another protocol"
run "$KEYBITS" eval report hpatches.json -o whole.html
sed 's/116/3/' hpatches.json >three.json
run "$KEYBITS" eval report three.json -o three.html
holds whole.html "matching in the paper"
! grep -qF "matching in the paper" three.html || fail "the paper's 116 sequences beside three"
sound_page page.html
run "$KEYBITS" eval report $results -o again.html --title 'Small & tidy' --json >told.json
for words in '"page": "again.html"' '"results"'; do holds told.json "$words"; done
same page.html again.html

# all of the paper's evaluation that the data allow
mkdir data
mv set data/oxford
MODELS=bad256 ENERGY=0.1 REPEATS=1 run bash "$KEYBITS_SOURCE/scripts/paper-report" "$(dirname "$KEYBITS")" data paper
says "brown: left out"
for words in "paper-like" "Cost per frame" "Mean matching accuracy" ">bad256<"; do holds paper/report.html "$words"; done

# records, as scripts/results writes them: one section each, with the command; what has no section is counted
for rule in grid quadtree; do
    printf '{"command": "keybits eval oxford --select %s", "commit": "0123abcd", "date": "2026-01-02", "machine": {"processor": "A & B"}, "result": ' $rule
    cat oxford.json
    echo '}'
done >records.txt
awk '/^{"command"/ { n++ } { print > ("record" n ".json") }' records.txt
echo '{"command": "bench/kernels", "result": ["ns per", "1 2"]}' >lines.json
echo '{"command": "keybits eval verify", "result": {"benchmark": "verify", "model": "bag256", "unrelated": {"pairs": 1080, "verified": 7}}}' >verify.json
echo '{"benchmark": "scale", "detector": "hessian", "scales": [{"scale": 1.5, "keypoints": 500, "repeated": 68.7, "sized": 85.3}]}' >scale.json
run "$KEYBITS" eval report record1.json record2.json lines.json verify.json scale.json -o records.html
says "6 results"
says "results without a section on the page: 1"
for words in "--select grid" "--select quadtree" "commit 0123abcd" "A &amp; B" ">1080<" "size follows" "68.7"; do holds records.html "$words"; done
[ "$(grep -c "Image matching: " records.html)" = 2 ] || fail "two runs of one set in one table"
refuse 1 "none of the files" "$KEYBITS" eval report lines.json -o x.html

refuse 2 "takes results" "$KEYBITS" eval report -o x.html
refuse 2 "-o REPORT.html" "$KEYBITS" eval report oxford.json
refuse 1 "nothing.json" "$KEYBITS" eval report nothing.json -o x.html
echo '{"some": "thing"}' >other.json
refuse 1 "other.json: holds no result" "$KEYBITS" eval report oxford.json other.json -o x.html
echo '{"benchmark": ' >broken.json
refuse 1 "broken.json" "$KEYBITS" eval report broken.json -o x.html
awk 'BEGIN { printf "["; for (i = 0; i < 501; i++) printf "%s{\"benchmark\": \"sfm\", \"set\": \"%d\"}", i ? "," : "", i; print "]" }' >many.json
refuse 1 "many.json: a page holds up to 500 results" "$KEYBITS" eval report many.json -o x.html
[ ! -e x.html ] || fail "a page in spite of failure"
no_leftovers
