# SPDX-License-Identifier: Apache-2.0
# keybits eval scale: keypoints that follow the scale of a picture, as a table and as JSON; wrong input.
source "$(dirname "$0")/scene.inc"
source "$(dirname "$0")/eval.inc"
source "$(dirname "$0")/common.inc"
leaves a.pgm 320 240 3
leaves b.pgm 320 240 4

run "$KEYBITS" eval scale a.pgm b.pgm -n 200 --json >scale.json
holds scale.json '"detector": "hessian"'
holds scale.json '"detector": "sift"'
holds scale.json '"images": 2'
holds scale.json '"scale": 2.5'
between scale.json repeated 30 100
between scale.json sized 50 100
run "$KEYBITS" eval scale a.pgm b.pgm -n 200 --detectors orb >table.txt
lines table.txt 2
holds table.txt "2.5"
run "$KEYBITS" eval scale a.pgm b.pgm -n 200 --detectors orb --json >one.json
run "$KEYBITS" eval scale a.pgm b.pgm -n 200 --detectors orb --json --threads 2 >two.json
same one.json two.json
# a picture without keypoints is no failure
awk 'BEGIN { print "P2 64 64 255"; for (i = 0; i < 4096; i++) print 9 }' >flat.pgm
run "$KEYBITS" eval scale flat.pgm --detectors sift --json >flat.json
between flat.json repeated 0 0

refuse 2 "at least one image" "$KEYBITS" eval scale
refuse 1 "none: no such detector" "$KEYBITS" eval scale a.pgm --detectors orb,none
refuse 1 "nowhere.pgm" "$KEYBITS" eval scale nowhere.pgm
no_leftovers
