# SPDX-License-Identifier: Apache-2.0
# keybits localize: wrong input. Poses are tested on rendered rooms by unit_localize.
source "$(dirname "$0")/common.inc"
render a.pgm 320 240 1
render b.pgm 320 240 2
mkdir model

refuse 2 "-o with the map is needed" "$KEYBITS" localize build model .
refuse 1 "model" "$KEYBITS" localize build model . -o x.kbl
printf '1 FOV 320 240 300 300 160 120 0.1\n' >model/cameras.txt
printf '1 1 0 0 0 0 0 0 1 a.pgm\n10 10 1\n2 1 0 0 0 1 0 0 1 b.pgm\n10 10 1\n' >model/images.txt
printf '1 0 0 5 0 0 0 1\n' >model/points3D.txt
refuse 1 "a lens that keybits does not know" "$KEYBITS" localize build model . -o x.kbl
printf '1 PINHOLE 640 480 300 300 320 240\n' >model/cameras.txt
refuse 1 "a.pgm: 320 x 240 pixels, but its camera in the model has 640 x 480" "$KEYBITS" localize build model . -o x.kbl
printf '1 PINHOLE 320 240 300 300 160 120\n' >model/cameras.txt
refuse 1 "no point is seen by two images" "$KEYBITS" localize build model . -o x.kbl
[ ! -e x.kbl ] || fail "a map was left"

refuse 1 "no map of keybits" "$KEYBITS" localize a.pgm b.pgm
refuse 1 "nowhere.kbl" "$KEYBITS" localize nowhere.kbl a.pgm
refuse 2 "--camera: " "$KEYBITS" localize x.kbl a.pgm --camera PINHOLE,1
refuse 2 "must end in .png" "$KEYBITS" localize x.kbl a.pgm --draw a.jpg
refuse 2 "name a map and photographs" "$KEYBITS" localize find x.kbl
run "$KEYBITS" localize --help >help
grep -q "localize build" help || fail "the help has no example"
