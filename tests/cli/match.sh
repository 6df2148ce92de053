# SPDX-License-Identifier: Apache-2.0
# keybits match: two pictures of one plane, what is printed, written and drawn, and pictures that hold nothing to match.
source "$(dirname "$0")/scene.inc"
source "$(dirname "$0")/common.inc"
bad_table t.txt 256
run "$KEYBITS" model import t.txt --sampler patch -o m.kbm
leaves a.pgm 260 200 7
# b shows a through this homography, so a -> b is its inverse
map="0.97 -0.10 14 0.08 0.95 -6 0.0001 -0.00005 1"
leaves b.pgm 260 200 7 "$map"

# the matrix takes the corners to where they are
run "$KEYBITS" match a.pgm b.pgm -m m.kbm --json >out.json
for key in '"keypoints": [' '"matches": ' '"inliers": ' '"model": [' '"ms": {' '"match": ' '"look": "warped"' '"roll": ' '"looks": 2' '"candidates": ' '"places": ' '"fit": "homography"'; do
    holds out.json "$key"
done
number() { sed -n "s/^ *\"$1\": \([0-9.]*\),*$/\1/p" out.json; }
[ "$(number matches)" -gt 60 ] || fail "only $(number matches) matches"
[ "$(number inliers)" -gt 50 ] || fail "only $(number inliers) inliers"
awk -v map="$map" '
    /"model": \[/ { inside = 1; n = 0; next }
    inside && /\]/ { inside = 0 }
    inside { gsub(/[ ,]/, ""); h[++n] = $0 }
    END {
        if (n != 9) { print n " numbers in the model"; exit 1 }
        split(map, m, " ")
        for (k = 0; k < 4; k++) { # there and back again
            x = 30 + k % 2 * 200; y = 30 + int(k / 2) * 140
            w = h[7] * x + h[8] * y + h[9]; u = (h[1] * x + h[2] * y + h[3]) / w; v = (h[4] * x + h[5] * y + h[6]) / w
            w = m[7] * u + m[8] * v + m[9]; p = (m[1] * u + m[2] * v + m[3]) / w; q = (m[4] * u + m[5] * v + m[6]) / w
            if ((p - x) ^ 2 + (q - y) ^ 2 > 2.25) { print "corner " x "," y " comes back as " p "," q; exit 1 }
        }
    }' out.json || fail "the homography is wrong"

# words, the matches as a table, the picture
run "$KEYBITS" match a.pgm b.pgm -m m.kbm -o m.csv --draw p.png >words.txt
for word in keypoints "look        warped by 35" candidates inliers places homography "match " "total " "picture     p.png"; do holds words.txt "$word"; done
holds m.csv "a,b,x1,y1,x2,y2,distance,second,inlier"
[ "$(grep -c ',1$' m.csv)" = "$(number inliers)" ] || fail "inliers in m.csv"
lines m.csv $(($(number matches) + 1))
[ "$(head -c 4 p.png | tail -c 3)" = PNG ] || fail "p.png is no PNG"
run "$KEYBITS" match a.pgm b.pgm -m m.kbm -o - --quiet >m2.csv
same m.csv m2.csv
[ ! -s .err ] || fail "--quiet speaks: $(cat .err)"

# the same for any number of threads, without instruction sets, and for the same seed
for extra in "--threads 1" "--threads 5" "--cpu c" "--seed 0"; do
    run "$KEYBITS" match a.pgm b.pgm -m m.kbm $extra -o again.csv --quiet
    same m.csv again.csv
done

# --max-size: keypoints are found in shrunk pictures; points, geometry, threshold and camera stay in pixels of the files
leaves large_a.pgm 700 500 7
large_map="0.97 -0.06 34 0.05 0.95 -6 0.00003 -0.00002 1"
leaves large_b.pgm 700 500 7 "$large_map" 800 540
shrunk() { run "$KEYBITS" match large_a.pgm large_b.pgm -m m.kbm --max-size 400 "$@"; }
for kind in homography affine; do
    shrunk --fit $kind --threshold 4 --json -o $kind.csv --draw $kind.png >$kind.json
done
python3 - "$large_map" <<'PY' || fail "--max-size"
import csv, json, sys
def to(h, x, y):
    u, v, w = (h[3 * i] * x + h[3 * i + 1] * y + h[3 * i + 2] for i in range(3))
    return u / w, v / w
def off(a, b): return ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) ** 0.5
back = [float(v) for v in sys.argv[1].split()]
for kind in ("homography", "affine"):
    report = json.load(open(kind + ".json"))
    h = report["model"]
    rows = [{k: float(v) for k, v in r.items()} for r in csv.DictReader(open(kind + ".csv")) if r["inlier"] == "1"]
    errors = [off(to(h, r["x1"], r["y1"]), (r["x2"], r["y2"])) for r in rows]
    assert len(rows) > 100 and max(r["x1"] for r in rows) > 600 and h[8] == 1, (kind, len(rows))
    assert max(errors) <= 4.01, (kind, max(errors))
    rms = (sum(e * e for e in errors) / len(errors)) ** 0.5
    assert abs(rms - report["rms"]) < 0.02, (kind, rms, report["rms"])
    for x, y in (50, 50), (650, 50), (650, 450), (50, 450):
        assert kind != "homography" or off(to(back, *to(h, x, y)), (x, y)) < 1.5, (x, y, h)
PY
shrunk --fit homography -o whole.csv --max-size 0 --quiet
run "$KEYBITS" match large_a.pgm large_b.pgm -m m.kbm -o plain.csv --quiet
same whole.csv plain.csv
differ whole.csv homography.csv
run "$KEYBITS" match large_a.pgm large_a.pgm -m m.kbm --fit rotation --camera 900,900,350,250 --max-size 400 --json >still.json
awk '/"angle": / { gsub(/[ ,]/, ""); split($0, v, ":"); exit !(v[2] < 0.01) }' still.json || fail "--max-size: a camera that stood still"
! grep -q "lies outside" .err || fail "--max-size: the principal point"
refuse 2 "--max-size excludes them" "$KEYBITS" match large_a.pgm large_b.pgm --keypoints-a homography.csv --max-size 400

# options of matching
run "$KEYBITS" match a.pgm b.pgm -m m.kbm --ratio 0.7 -o ratio.csv --quiet
run "$KEYBITS" match a.pgm b.pgm -m m.kbm --max-distance 20 -o near.csv --quiet
awk -F, 'NR > 1 && !($7 < 0.7 * $8) { exit 1 }' ratio.csv || fail "--ratio"
awk -F, 'NR > 1 && $7 > 20 { exit 1 }' near.csv || fail "--max-distance"
[ "$(wc -l <ratio.csv)" -lt "$(wc -l <m.csv)" ] || fail "--ratio keeps everything"
run "$KEYBITS" match a.pgm b.pgm -m m.kbm -n 50 --fit none --json >none.json
holds none.json '"model": null'
holds none.json '"inliers": 0'
run "$KEYBITS" match a.pgm b.pgm -m m.kbm --fit none --draw none.png --quiet
run "$KEYBITS" match a.pgm b.pgm -m sift --detector sift --json >sift.json
holds sift.json '"result": "found"'

# the filter drops matches and keeps inliers
run "$KEYBITS" match a.pgm b.pgm -m m.kbm --looks upright --no-filter --json >all.json
run "$KEYBITS" match a.pgm b.pgm -m m.kbm --looks upright --json >some.json
field() { sed -n "s/^ *\"$2\": \([0-9.]*\),*$/\1/p" "$1" | head -1; }
[ "$(field all.json candidates)" = "$(field all.json matches)" ] || fail "--no-filter filters"
[ "$(field some.json matches)" -lt "$(field some.json candidates)" ] || fail "the filter drops nothing"
[ "$(field some.json inliers)" -gt $(($(field all.json inliers) * 8 / 10)) ] || fail "the filter drops inliers"
run "$KEYBITS" match a.pgm b.pgm -m m.kbm --looks upright --fit none -o filtered.csv --quiet
lines filtered.csv $(($(field some.json matches) + 1))

# refined points agree better with the geometry; --threshold still holds
run "$KEYBITS" match a.pgm b.pgm -m m.kbm --threshold 1.5 --json >plain.json
run "$KEYBITS" match a.pgm b.pgm -m m.kbm --refine --json -o refined.csv >refined.json
[ "$(field refined.json refined)" -gt $(($(number inliers) * 9 / 10)) ] || fail "--refine refines little"
awk -v a="$(field plain.json rms)" -v b="$(field refined.json rms)" 'BEGIN { exit !(b < 0.7 * a) }' || fail "--refine: rms"
holds refined.json '"refine": '
[ "$(head -1 refined.csv)" = "a,b,x1,y1,x2,y2,distance,second,inlier,correlation" ] || fail "columns of --refine"
awk -F, 'NR > 1 && !($10 >= 0 && $10 <= 1.001) { exit 1 }' refined.csv || fail "correlations"
run "$KEYBITS" match a.pgm b.pgm -m m.kbm --refine --threads 1 -o again.csv --quiet
same refined.csv again.csv
run "$KEYBITS" match a.pgm b.pgm -m m.kbm --refine --fit none --draw refined.png >refined.txt
holds refined.txt "refined "

# looks: which may be tried, and which one gave the result
leaves turned90.pgm 200 260 7 "0 1 0 -1 0 199 0 0 1"
run "$KEYBITS" match a.pgm turned90.pgm -m m.kbm --json >turned.json
holds turned.json '"result": "found"'
! grep -q '"look": "upright"' turned.json || fail "an upright look at a turned image"
run "$KEYBITS" match a.pgm turned90.pgm -m m.kbm --looks upright --json >upright.json
holds upright.json '"look": "upright"'
holds upright.json '"looks": 1'
run "$KEYBITS" match a.pgm b.pgm -m m.kbm --looks upright,rotated --json >rotated.json
holds rotated.json '"look": "rotated"'
[ "$(field rotated.json places)" -lt "$(number places)" ] || fail "no more places in a warped image"
refuse 2 '"sideways" is no look' "$KEYBITS" match a.pgm b.pgm --looks upright,sideways
refuse 2 "needs upright or oriented" "$KEYBITS" match a.pgm b.pgm --looks rotated
refuse 2 "nothing to do" "$KEYBITS" match a.pgm b.pgm --second-angle

# keypoints that are given
run "$KEYBITS" detect a.pgm -o ka.csv
run "$KEYBITS" detect b.pgm -o kb.csv
run "$KEYBITS" match a.pgm b.pgm -m m.kbm --looks oriented -o oriented.csv --quiet
run "$KEYBITS" match a.pgm b.pgm -m m.kbm --keypoints-a ka.csv --keypoints-b kb.csv -o given.csv --quiet
same oriented.csv given.csv
refuse 2 "--looks needs two images" "$KEYBITS" match a.pgm b.pgm --keypoints-a ka.csv --looks upright

# a plane determines no fundamental matrix, and the words say so
run "$KEYBITS" match a.pgm b.pgm -m m.kbm --select best --detector orb --fast-threshold 20 --orientation centroid --fit fundamental --epilines --draw f.png >fundamental.txt
holds fundamental.txt "degenerate"
holds fundamental.txt "try --fit homography"

# other geometries: a shift is a similarity and an affinity, and a camera that turns a little
leaves shifted.pgm 260 200 7 "1 0 9 0 1 -6 0 0 1"
for kind in similarity affine; do
    run "$KEYBITS" match a.pgm shifted.pgm -m m.kbm --fit $kind --json >$kind.json
    holds $kind.json '"result": "found"'
    awk '/"model": \[/ { n = 0; inside = 1; next } inside && /\]/ { inside = 0 } inside { gsub(/[ ,]/, ""); h[++n] = $0 }
        END { exit !((h[3] + 9) ^ 2 < 0.25 && (h[6] - 6) ^ 2 < 0.25 && (h[1] - 1) ^ 2 < 0.0001) }' $kind.json || fail "$kind"
done
# K R K^-1 with a turn of 4 degrees about the y axis, f = 300 and the centre at 130,100
turned=$(awk 'BEGIN { f = 300; cx = 130; cy = 100; a = 4 * atan2(0, -1) / 180; c = cos(a); s = sin(a)
    # rows of K R, then times K^-1
    split(sprintf("%.12g 0 %.12g %.12g %.12g %.12g %.12g 0 %.12g", f * c - cx * s, f * s + cx * c, -cy * s, f, cy * c, -s, c),
          m, " ")
    for (i = 0; i < 3; i++) { p = m[3 * i + 1] / f; q = m[3 * i + 2] / f
        printf "%.12g %.12g %.12g ", p, q, m[3 * i + 3] - p * cx - q * cy } }')
leaves turned.pgm 260 200 7 "$turned"
run "$KEYBITS" match a.pgm turned.pgm -m m.kbm --fit rotation --camera 300,300,130,100 --json --draw r.png >rotation.json
holds rotation.json '"result": "found"'
awk '/"angle": / { gsub(/[ ,]/, ""); split($0, v, ":"); exit !((v[2] - 4) ^ 2 < 0.01) }' rotation.json || fail "the angle"
run "$KEYBITS" match a.pgm turned.pgm -m m.kbm --fit rotation --camera 300,300,130,100 >rotation.txt
holds rotation.txt "degrees, axis"
run "$KEYBITS" match a.pgm turned.pgm -m m.kbm --fit essential --camera 300,300,130,100 >essential.txt
holds essential.txt "degenerate"
holds essential.txt "try --fit rotation"
run "$KEYBITS" match a.pgm turned.pgm -m m.kbm --fit rotation --camera 3000,3000,1300,1000 >/dev/null
says "lies outside the image"
refuse 2 "--fit essential needs --camera" "$KEYBITS" match a.pgm b.pgm -m m.kbm --fit essential
refuse 2 "--camera belongs to" "$KEYBITS" match a.pgm b.pgm -m m.kbm --fit homography --camera 300,300,1,1
refuse 2 "--camera-b needs --camera" "$KEYBITS" match a.pgm b.pgm -m m.kbm --camera-b 300,300,1,1
refuse 2 "is no camera" "$KEYBITS" match a.pgm b.pgm -m m.kbm --fit rotation --camera 300,x
refuse 2 "must be positive" "$KEYBITS" match a.pgm b.pgm -m m.kbm --fit rotation --camera 0,300,1,1

# by default a scene with depth, three walls one above the other, has an epipolar geometry
for i in 0 1; do
    for wall in 1 2 3; do leaves wall.pgm 300 100 3$wall "1 0 $((i * wall * wall * 4 + 40)) 0 1 0 0 0 1" 220 100; tail -n +4 wall.pgm; done >walls
    { printf 'P2\n220 300\n255\n'; cat walls; } >solid$i.pgm
done
run "$KEYBITS" match solid0.pgm solid1.pgm -m m.kbm --json >solid.json
holds solid.json '"fit": "fundamental"'
run "$KEYBITS" match solid0.pgm solid1.pgm -m m.kbm --camera 300,300,110,150 --epilines --draw solid.png >solid.txt
holds solid.txt "essential "
holds solid.txt "translation "
run "$KEYBITS" match solid0.pgm solid1.pgm -m m.kbm --fit homography --json >flat.json
[ "$(field flat.json places)" -lt "$(field solid.json places)" ] || fail "one wall has as many places as all three"

# a plane seen at 75 degrees is narrowed to a quarter: it is found with simulated views only
leaves wide.pgm 480 320 11
leaves narrow.pgm 480 320 11 "3.8637 0 0 0 1 0 0 0 1" 124 320
run "$KEYBITS" match wide.pgm narrow.pgm -m bag256 --tilts 3 -n 1000 -o tilts.csv --json >tilts.json
holds tilts.json '"result": "found"'
holds tilts.json '"views": 18'
awk '/"model": \[/ { n = 0; inside = 1; next } inside && /\]/ { inside = 0 } inside { gsub(/[ ,]/, ""); h[++n] = $0 }
    END { for (k = 0; k < 4; k++) { x = 479 * (k % 2); y = 319 * int(k / 2); w = h[7] * x + h[8] * y + h[9]
        u = (h[1] * x + h[2] * y + h[3]) / w; v = (h[4] * x + h[5] * y + h[6]) / w
        if ((u - x / 3.8637) ^ 2 + (v - y) ^ 2 > 25) { print "corner " x "," y " at " u "," v; exit 1 } } }' tilts.json || fail "--tilts"
awk -F, 'NR > 1 { if (seen[$3 "," $4]++ || other[$5 "," $6]++) exit 1 }' tilts.csv || fail "--tilts: not one to one"
run "$KEYBITS" match wide.pgm narrow.pgm -m bag256 --tilts 3 -n 1000 -o tilts1.csv --quiet --threads 1
same tilts.csv tilts1.csv
refuse 2 "cannot be given" "$KEYBITS" match a.pgm b.pgm -m m.kbm --tilts 1 --keypoints-a ka.csv
refuse 2 "0 to 4" "$KEYBITS" match a.pgm b.pgm -m m.kbm --tilts 9

# nothing to match: black pictures, one pixel, a handful of keypoints, another scene. All of these are results.
printf 'P2\n200 150\n255\n' >black.pgm
awk 'BEGIN { for (i = 0; i < 30000; i++) print 0 }' >>black.pgm
printf 'P2\n1 1\n255\n7\n' >dot.pgm
leaves other.pgm 260 200 99
head -4 ka.csv >three.csv
for pair in "black.pgm black.pgm" "dot.pgm a.pgm" "a.pgm dot.pgm" "a.pgm other.pgm" "a.pgm b.pgm --keypoints-a three.csv"; do
    run "$KEYBITS" match $pair -m m.kbm --json --draw nothing.png >nothing.json
    holds nothing.json '"model": null'
    holds nothing.json '"inliers": 0'
done
run "$KEYBITS" match a.pgm b.pgm -m m.kbm --keypoints-a three.csv >few.txt
holds few.txt "too few pairs"

# wrong usage and wrong files
: >empty.png
head -c 2000 p.png >cut.png
refuse 2 "name two images, not 1" "$KEYBITS" match a.pgm
refuse 2 "--fit is one of" "$KEYBITS" match a.pgm b.pgm --fit projective
refuse 2 "--ratio takes a number" "$KEYBITS" match a.pgm b.pgm --ratio 2
refuse 2 "--epilines belongs to" "$KEYBITS" match a.pgm b.pgm --fit homography --epilines --draw x.png
refuse 2 "both want standard output" "$KEYBITS" match a.pgm b.pgm --json -o -
refuse 1 "empty.png" "$KEYBITS" match a.pgm empty.png -m m.kbm
refuse 1 "cut.png" "$KEYBITS" match cut.png a.pgm -m m.kbm
refuse 1 "missing.kbm" "$KEYBITS" match a.pgm b.pgm -m missing.kbm
refuse 1 "no/such/folder" "$KEYBITS" match a.pgm b.pgm -m m.kbm --draw no/such/folder/x.png
refuse 1 "t.txt" "$KEYBITS" match a.pgm b.pgm -m m.kbm --keypoints-a t.txt
no_leftovers

# descriptors that were computed before give the matches of the images
run "$KEYBITS" detect a.pgm b.pgm -o keypoints/
run "$KEYBITS" describe a.pgm b.pgm -m m.kbm --keypoints-dir keypoints -o 'rows/{}.npy'
run "$KEYBITS" match a.pgm b.pgm -m m.kbm --keypoints-a keypoints/a.csv --keypoints-b keypoints/b.csv -o images.csv >/dev/null
run "$KEYBITS" match rows/a.npy rows/b.npy --keypoints-a keypoints/a.csv --keypoints-b keypoints/b.csv -o rows.csv >/dev/null
same images.csv rows.csv
run "$KEYBITS" match a.pgm rows/b.npy -m m.kbm --keypoints-a keypoints/a.csv --keypoints-b keypoints/b.csv -o mixed.csv >/dev/null
same images.csv mixed.csv
refuse 2 "--keypoints-b must name their keypoints" "$KEYBITS" match rows/a.npy rows/b.npy --keypoints-a keypoints/a.csv
refuse 1 "keypoints" "$KEYBITS" match rows/a.npy rows/b.npy --keypoints-a keypoints/a.csv --keypoints-b <(head -3 keypoints/b.csv)
refuse 1 "cannot be compared" "$KEYBITS" match a.pgm rows/b.npy -m sift --keypoints-b keypoints/b.csv
refuse 2 "--draw needs images" "$KEYBITS" match rows/a.npy rows/b.npy --keypoints-a keypoints/a.csv --keypoints-b keypoints/b.csv --draw x.png

# all options of the detectors; an image on standard input
run "$KEYBITS" match a.pgm b.pgm -m m.kbm --detector sift --layers 4 --select grid -n 300 >/dev/null
run "$KEYBITS" match a.pgm - -m m.kbm -o piped.csv <b.pgm >/dev/null
same m.csv piped.csv
refuse 1 "standard input can be read only once" "$KEYBITS" match - - -m m.kbm

# keypoints of another detector: patches of a wrong width are told
run "$KEYBITS" detect a.pgm --detector sift -o sift.csv
run "$KEYBITS" match a.pgm a.pgm -m m.kbm --keypoints-a sift.csv --keypoints-b sift.csv >/dev/null
says "patches are narrower than 8 px"
run "$KEYBITS" match a.pgm a.pgm -m m.kbm --keypoints-a sift.csv --keypoints-b sift.csv --preset sift >/dev/null
[ ! -s "$scratch/.err" ] || fail "a warning about patches that fit: $(cat "$scratch/.err")"
run "$KEYBITS" match a.pgm b.pgm -m m.kbm --preset sift >/dev/null
says "px, which is half of the image"
