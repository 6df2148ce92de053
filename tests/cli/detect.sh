# SPDX-License-Identifier: Apache-2.0
# keybits detect: tables and pictures of keypoints, every option, many images, wrong usage.
source "$(dirname "$0")/common.inc"
render a.pgm 240 200 1
render b.pgm 200 220 2
render a16.pgm 240 200 1 65535
printf 'P2\n1 1\n255\n7\n' >dot.pgm

# CSV on standard output, words on standard error; strongest first, never more than asked for
run "$KEYBITS" detect a.pgm >out.csv
[ "$(head -1 out.csv)" = "x,y,size,angle,response,octave" ] || fail "the header is $(head -1 out.csv)"
says "240 x 200 px"
[ "$(wc -l <out.csv)" -gt 50 ] || fail "only $(wc -l <out.csv) lines"
tail -n +2 out.csv | cut -d, -f5 | sort -g -r -c || fail "not strongest first"
awk -F, 'NR > 1 && ($4 < 0 || $4 >= 360 || $1 < 5 || $1 > 234) { exit 1 }' out.csv || fail "angle or place out of range"
run "$KEYBITS" detect a.pgm -n 20 -o few.csv
lines few.csv 21
run "$KEYBITS" detect a.pgm --quiet -o again.csv
same out.csv again.csv
[ ! -s .err ] || fail "--quiet speaks: $(cat .err)"

# all detectors and rules, whatever the threads; 16 bits as 8
for detector in hessian orb sift; do
    for rule in best grid quadtree; do
        run "$KEYBITS" detect a.pgm --detector $detector --select $rule -n 60 --threads 1 -o one.csv
        run "$KEYBITS" detect a.pgm --detector $detector --select $rule -n 60 --threads 5 -o five.csv
        same one.csv five.csv
        cp one.csv $detector-$rule.csv
    done
    run "$KEYBITS" detect a16.pgm --detector $detector --select grid -n 60 -o deep.csv
    same deep.csv $detector-grid.csv
    differ $detector-best.csv $detector-grid.csv
done
differ orb-best.csv sift-best.csv

# the table as .npy; describing the keypoints of a table is describing what the detector finds
run "$KEYBITS" detect a.pgm -n 20 -o few.npy
head -c 128 few.npy | grep -aqF "'descr': '<f4', 'fortran_order': False, 'shape': (20, 6), }" || fail "the header of few.npy"
[ "$(wc -c <few.npy)" = $((128 + 20 * 6 * 4)) ] || fail "the size of few.npy"
first=$(od -An -j128 -N8 -tf4 few.npy | awk '{ printf "%.4f,%.4f", $1, $2 }')
[ "$first" = "$(sed -n 2p few.csv | awk -F, '{ printf "%.4f,%.4f", $1, $2 }')" ] || fail "few.npy starts with $first"
run "$KEYBITS" describe a.pgm -m sift -k few.csv -o given.hex
run "$KEYBITS" describe a.pgm -m sift -n 20 -o found.hex
same given.hex found.hex

# thresholds
count() { run "$KEYBITS" detect a.pgm "$@" -o count.csv; wc -l <count.csv; }
[ "$(count --detector orb --fast-threshold 255)" = 1 ] || fail "a FAST threshold of 255 lets something through"
[ "$(count --detector orb --fast-threshold 5)" -ge "$(count --detector orb --fast-threshold 40)" ] || fail "a lower FAST threshold finds less"
[ "$(count --levels 1)" -lt "$(count --levels 4 --level-factor 1.1)" ] || fail "more levels find less"
[ "$(count --hessian-threshold 0.5)" = 1 ] || fail "a threshold of 0.5 lets something through"
[ "$(count --hessian-threshold 0.001)" -gt "$(count --hessian-threshold 0.03)" ] || fail "a lower threshold finds less"
[ "$(count --detector sift --contrast 1)" = 1 ] || fail "a contrast of 1 lets something through"
[ "$(count --detector sift --contrast 0.01)" -gt "$(count --detector sift --contrast 0.1)" ] || fail "contrast"
[ "$(count --detector sift --edge 2)" -le "$(count --detector sift --edge 100)" ] || fail "edge"
[ "$(count --detector sift --no-upsampling)" -lt "$(count --detector sift)" ] || fail "doubling finds nothing more"
count --detector sift --layers 5 --sigma 2 >/dev/null

# masks: 1 is as good as 255
awk 'BEGIN { print "P2\n240 200\n255"; for (i = 0; i < 48000; i++) print (i % 240 < 120 ? 0 : 1) }' >right.pgm
awk 'BEGIN { print "P2\n240 200\n255"; for (i = 0; i < 48000; i++) print (i % 240 < 120 ? 0 : 255) }' >white.pgm
run "$KEYBITS" detect a.pgm --mask right.pgm -o right.csv
run "$KEYBITS" detect a.pgm --mask white.pgm -o white.csv
same right.csv white.csv
[ "$(wc -l <right.csv)" -gt 10 ] || fail "nothing behind the mask"
awk -F, 'NR > 1 && $1 < 119.5 { exit 1 }' right.csv || fail "a keypoint where the mask is black"
refuse 1 "the mask right.pgm has 240 x 200 px, the image 200 x 220" "$KEYBITS" detect b.pgm --mask right.pgm
refuse 1 "none.pgm" "$KEYBITS" detect a.pgm --mask none.pgm
run "$KEYBITS" detect a.pgm --mask right.pgm --mask-margin 9 -o inner.csv
awk -F, 'NR > 1 && $1 < 128.5 { exit 1 }' inner.csv || fail "a keypoint in the margin of the mask"
[ "$(wc -l <inner.csv)" -gt 10 ] || fail "nothing behind the margin of the mask"
refuse 2 "--mask-margin belongs to --mask" "$KEYBITS" detect a.pgm --mask-margin 9

# an image without room for keypoints is no failure
run "$KEYBITS" detect dot.pgm -o dot.csv
lines dot.csv 1

# many images: folders and patterns, pictures, JSON; a bad image does not cost the others
mkdir pics
cp a.pgm b.pgm pics
run "$KEYBITS" detect pics -o tables/ --draw 'drawn-{}.png' --deviations 'sigma-{}.npy' --json >summary.json
same tables/a.csv out.csv
[ "$(head -c 8 drawn-a.png | od -An -tx1 | tr -d ' ')" = 89504e470d0a1a0a ] || fail "drawn-a.png is no PNG"
[ -s drawn-b.png ] || fail "no drawn-b.png"
rows=$(($(wc -l <tables/a.csv) - 1))
[ "$(wc -c <sigma-a.npy)" = $((128 + 4 * rows)) ] || fail "sigma-a.npy has not a number per keypoint"
holds summary.json '"detector"'
holds summary.json '"picture"'
holds summary.json '"failed"'
run "$KEYBITS" detect pics -o tables --format npy
[ -s tables/b.npy ] || fail "no tables/b.npy"
echo nonsense >pics/c.png
"$KEYBITS" detect pics -o 'again-{}.csv' 2>.err
[ $? = 1 ] || fail "a bad image is no failure"
says "c.png"
same again-a.csv out.csv
[ ! -e again-c.csv ] || fail "a table of a bad image"

# wrong usage
refuse 2 "at least one image" "$KEYBITS" detect
refuse 2 "need -o" "$KEYBITS" detect a.pgm b.pgm
refuse 2 "--json needs -o" "$KEYBITS" detect a.pgm --json
refuse 2 "must end in .csv or .npy" "$KEYBITS" detect a.pgm -o out.txt
refuse 2 "must end in .npy" "$KEYBITS" detect a.pgm -o out.csv --deviations out.txt
refuse 2 "must end in .png" "$KEYBITS" detect a.pgm -o out.csv --draw out.jpg
refuse 2 "--detector" "$KEYBITS" detect a.pgm --detector surf
refuse 2 "--select" "$KEYBITS" detect a.pgm --select all
refuse 2 "-n" "$KEYBITS" detect a.pgm -n 0
refuse 2 "--fast-threshold" "$KEYBITS" detect a.pgm --fast-threshold 256
refuse 2 "--level-factor" "$KEYBITS" detect a.pgm --level-factor 1
refuse 2 "--contrast" "$KEYBITS" detect a.pgm --contrast nan
refuse 2 "--layers" "$KEYBITS" detect a.pgm --layers x
refuse 1 "missing.pgm" "$KEYBITS" detect missing.pgm
refuse 1 "no/such" "$KEYBITS" detect a.pgm -o no/such/out.csv
no_leftovers

# --max-size: keypoints are found in the shrunk image, and stand in pixels of the file.
render large.pgm 1000 600 7
run "$KEYBITS" detect large.pgm -o whole.csv --max-size 0
run "$KEYBITS" detect large.pgm -o plain.csv
same whole.csv plain.csv
run "$KEYBITS" detect large.pgm -o half.csv --max-size 500 --deviations half.npy --json >half.json
run "$KEYBITS" describe large.pgm -o half_rows.npy --max-size 500 --json >rows.json
python3 - <<'PY' || fail "keypoints of a shrunk image"
import csv, json
k = [{n: float(v) for n, v in r.items()} for r in csv.DictReader(open("half.csv"))]
assert max(r["x"] for r in k) > 800 and max(r["y"] for r in k) > 450, k[:3]
assert min(r["size"] for r in k) > 50, min(r["size"] for r in k) # 31 px of the shrunk image and less by half a level
(d,), (r,) = json.load(open("half.json"))["images"], json.load(open("rows.json"))["images"]
assert (d["width"], d["height"]) == (r["width"], r["height"]) == (1000, 600), (d, r)
assert d["keypoints"] == r["keypoints"] == len(k) > 100, (d, r, len(k))
PY
refuse 2 "--max-size excludes it" "$KEYBITS" detect large.pgm --mask large.pgm --max-size 500 -o half.csv
refuse 2 "--max-size excludes them" "$KEYBITS" describe large.pgm -k half.csv --max-size 500 -o half_rows.npy
