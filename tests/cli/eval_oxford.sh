# SPDX-License-Identifier: Apache-2.0
# keybits eval oxford: on pictures whose motion is known, on wrong input, and on the Oxford set when it is there.
source "$(dirname "$0")/eval.inc"
source "$(dirname "$0")/common.inc"
mkdir -p set/shift
noise set/shift/1.pgm 200 150 20 20
noise set/shift/2.pgm 200 150 29 14
echo "1 0 -9  0 1 6  0 0 1" >set/shift/H_1_2
mkdir set/still
noise set/still/morning.pgm 160 120 5 5
cp set/still/morning.pgm set/still/night.pgm

# a shift by whole pixels is answered nearly perfectly, a picture and itself perfectly
for detector in hessian sift; do
    run "$KEYBITS" eval oxford set -m sift,rootsift --detector $detector -n 200 --paper-like --json --curves --cache cache \
        >$detector.json
    if command -v python3 >/dev/null; then python3 -m json.tool $detector.json >/dev/null || fail "not JSON"; fi
    between $detector.json strict_map 85 100
    between $detector.json paperlike_map 85 100
    between $detector.json precision_3px 85 100
    between $detector.json homography_3px 100 100
    between $detector.json homography_1px 100 100
    between $detector.json pairs 2 2
    holds $detector.json '"model": "rootsift"'
    holds $detector.json '"scene": "still"'
    holds $detector.json '"precision_at_recall"'
    holds $detector.json '"filtered": {'
    holds $detector.json '"refined": {'
    holds $detector.json '"looks": {'
    between $detector.json exact 85 100
    run "$KEYBITS" eval oxford set -m sift,rootsift --detector $detector -n 200 --paper-like --json --curves --cache cache \
        --threads 1 >again.json
    same $detector.json again.json
done
run "$KEYBITS" eval oxford set/still -m sift --strict --json >one.json
says "still: no homographies (H1to2p, H1to2p.xml, H_1_2), so its camera is taken to stand still"
between one.json strict_map 100 100
holds one.json '"paperlike_map": null'
# strict is the default, on the keypoints that were asked for
run "$KEYBITS" eval oxford set/still -m sift --json >default.json
same one.json default.json
run "$KEYBITS" eval oxford set -m sift >table.txt
holds table.txt "strict"
holds table.txt "places"
holds table.txt "  shift"
holds table.txt "refined"
holds table.txt "looks"

# keypoints and descriptors from files
mkdir csv
for name in morning night; do keypoints csv/$name.sift.csv 40 160 120; done
run "$KEYBITS" eval oxford set/still -m sift --keypoints-dir csv --keypoints sift --json >csv.json
holds csv.json '"keypoints": "csv"'
between csv.json strict_map 100 100
# twice every keypoint, 1 px apart, are as many places as once
mkdir twice
for name in morning night; do
    awk -F, 'NR == 1 { print; for (i = 1; i <= NF; i++) if ($i == "x") c = i; next }
             { print; $c += 1; OFS = ","; $1 = $1; print }' csv/$name.sift.csv >twice/$name.sift.csv
done
run "$KEYBITS" eval oxford set/still -m sift --keypoints-dir twice --keypoints sift --json >twice.json
between csv.json right 40 40
between csv.json places 40 40
between csv.json spots 40 40
between twice.json keypoints_per_image 80 80
between twice.json spots 40 40
between twice.json right 80 80
between twice.json places 40 40
run "$KEYBITS" eval matching set/still -m sift --keypoints-dir twice --keypoints sift --json >twice.json
between twice.json spots 40 40
between twice.json right 80 80
between twice.json places 40 40
run "$KEYBITS" eval oxford set/still --keypoints-dir csv --export-patches patches.npy
head -c 128 patches.npy | grep -aqF "'shape': (80, 32, 32), }" || fail "the shape of the patches"
run "$KEYBITS" describe --patches patches.npy -m sift -o rows.npy
run "$KEYBITS" eval oxford set/still --keypoints-dir csv --descriptors rows.npy --json >rows.json
between rows.json strict_map 100 100

# wrong input
refuse 2 "one folder" "$KEYBITS" eval oxford -m sift
refuse 1 "nowhere" "$KEYBITS" eval oxford nowhere -m sift
refuse 1 "holds no images" "$KEYBITS" eval oxford csv -m sift
refuse 1 "none.kbm" "$KEYBITS" eval oxford set -m none.kbm
refuse 1 "cv:nothing" "$KEYBITS" eval oxford set -m cv:nothing
refuse 2 "0.1 to 10" "$KEYBITS" eval oxford set -m sift --support 20
refuse 2 "--preset" "$KEYBITS" eval oxford set -m sift --keypoints-dir csv --keypoints mine
refuse 1 "1.sift.csv" "$KEYBITS" eval oxford set -m sift --keypoints-dir csv
refuse 2 "has no subcommand" "$KEYBITS" eval nonsense
echo "1 0 0 0 1" >set/shift/H_1_2
refuse 1 "H_1_2" "$KEYBITS" eval oxford set -m sift
no_leftovers

# the published tables reach what they reached for others, on one pair
oxford=${KEYBITS_SHARED:-}/data/eval/oxford
[ -d "$oxford" ] || exit 0
mkdir graf
for name in img1.png img2.png H1to2p.xml; do ln -s "$oxford/graf/$name" graf; done
run "$KEYBITS" model import "$KEYBITS_SHARED/published/bad256.txt" --sampler patch -o patch.kbm
run "$KEYBITS" eval oxford graf -m patch.kbm --keypoints-dir "$oxford-keypoints" --keypoints orb --strict --json \
    >graf.json
between graf.json strict_map 77 81
