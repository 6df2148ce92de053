# SPDX-License-Identifier: Apache-2.0
# keybits export colmap and keybits eval sfm: with a stand-in for COLMAP, and with COLMAP itself when it is there.
source "$(dirname "$0")/eval.inc"
source "$(dirname "$0")/common.inc"
mkdir images
for i in 0 1 2; do noise images/view$i.pgm 260 200 $((20 + 8 * i)) $((20 + 5 * i)); done

run "$KEYBITS" export colmap images -m sift --detector sift -n 200 -o out.db --json >export.json
between export.json images 3 3
between export.json pairs 3 3
between export.json matches 100 600
lines out.pairs.txt 3
holds out.pairs.txt "view0.pgm view1.pgm"
# the same deviations as detect writes
run "$KEYBITS" detect images --detector sift -n 200 -o keypoints/ --deviations detected/
run "$KEYBITS" export colmap images -m sift -n 200 -o exact.db --deviations exported/
for i in 0 1 2; do same detected/view$i.npy exported/view$i.npy; done
differ exported/view0.npy exported/view1.npy
refuse 2 "must end in .npy" "$KEYBITS" export colmap images -o x.db --deviations x.txt
refuse 2 "keypoints that are detected" "$KEYBITS" export colmap images -o x.db --keypoints-dir keypoints --deviations x/

echo "view2.pgm view0.pgm" >some.txt
run "$KEYBITS" export colmap images -m sift --detector sift -n 200 --pairs some.txt --ratio 0.8 -o some.db --json \
    >some.json
between some.json pairs 1 1

for words in "(default sift)" "(default 8192)"; do
    "$KEYBITS" export colmap --help >help.txt
    holds help.txt "$words"
    "$KEYBITS" eval sfm --help >help.txt
    holds help.txt "$words"
done
refuse 2 "no subcommand" "$KEYBITS" export images -o x.db
refuse 2 "export colmap IMAGES" "$KEYBITS" export colmap -o x.db
refuse 2 "-o DATABASE.db" "$KEYBITS" export colmap images
refuse 2 "--camera" "$KEYBITS" export colmap images -o x.db --camera PINHOLE,1
echo "view2.pgm view9.pgm" >some.txt
refuse 1 "some.txt:1" "$KEYBITS" export colmap images -m sift --pairs some.txt -o x.db
[ ! -e x.db ] || fail "a database in spite of failure"
refuse 1 "not installed" env PATH=/nonexistent "$KEYBITS" eval sfm images -m sift
refuse 1 "images/view0.pgm: is not a folder" "$KEYBITS" eval sfm images/view0.pgm -m sift

# a stand-in for colmap: two models, the second larger; the last argument of a failing step is shown
cat >stand-in <<'SH'
#!/bin/sh
case $1 in
matches_importer) [ "$QT_QPA_PLATFORM" = offscreen ] || exit 3 ;;
mapper) while [ "$1" != --output_path ]; do shift; done; mkdir "$2/0" "$2/1" ;;
model_analyzer)
    n=${3##*/}
    printf 'Registered images: %d\nPoints: %d\n' $((2 + n)) $((40 + n))
    printf 'Observations: 90\nMean track length: 3.5\nMean reprojection error: 0.25px\n' ;;
esac
SH
chmod +x stand-in
run "$KEYBITS" eval sfm images -m sift -n 200 --colmap ./stand-in --cache cache --work work --json >sfm.json
between sfm.json registered 3 3
between sfm.json points 41 41
between sfm.json observations 90 90
between sfm.json track_length 3.5 3.5
between sfm.json reprojection_px 0.25 0.25
[ -e work/sift/database.db ] || fail "--work keeps nothing"
printf '#!/bin/sh\nexit 7\n' >stand-in
run "$KEYBITS" eval sfm images -m sift -n 200 --colmap ./stand-in --cache cache --json >cached.json
same sfm.json cached.json
# another camera is another result, though its numbers are the same
refuse 1 "matches_importer ended with code 7" "$KEYBITS" eval sfm images -m sift -n 200 --colmap ./stand-in --cache cache \
    --camera SIMPLE_RADIAL,300,130,100,0 --work work
# a mapper that reconstructs nothing ends with 1, which is a row of zeros; other codes are failures
for code in 1 2; do
    printf '#!/bin/sh\n[ "$1" != mapper ] || exit %d\n' $code >stand-in-$code
    chmod +x stand-in-$code
done
run "$KEYBITS" eval sfm images -m sift -n 200 --colmap ./stand-in-1 --json >nothing.json
between nothing.json points 0 0
refuse 1 "mapper ended with code 2" "$KEYBITS" eval sfm images -m sift -n 200 --colmap ./stand-in-2 --work work
refuse 1 "matches_importer ended with code 7" "$KEYBITS" eval sfm images -m sift -n 201 --colmap ./stand-in --work work
no_leftovers

# COLMAP takes our database and verifies the pairs; that a flat picture gives no reconstruction does not matter here
command -v colmap >/dev/null || exit 0
run "$KEYBITS" eval sfm images -m sift -n 200 --json >real.json
between real.json verified_pairs 3 3
between real.json verified_matches 100 600
