# SPDX-License-Identifier: Apache-2.0
# keybits eval verify: pairs across folders, facades, pairs that share points of a reconstruction; wrong input.
source "$(dirname "$0")/scene.inc"
source "$(dirname "$0")/eval.inc"
source "$(dirname "$0")/common.inc"
# counts FILE KIND PAIRS VERIFIED
counts() { grep -qE "^$2 +$3 +$4 " "$1" || fail "not $4 of $3 pairs of kind $2 in: $(cat "$1")"; }
mkdir one two three
leaves one/a.pgm 320 240 3
leaves one/b.pgm 320 240 3
leaves two/c.pgm 320 240 4
leaves three/d.pgm 320 240 5

run "$KEYBITS" eval verify one two three --facades 3 --list pairs.csv >table.txt
lines table.txt 4
counts table.txt "unrelated" 5 0
counts table.txt "facades" 3 0
counts table.txt "one facade" 3 3
lines pairs.csv 12
run "$KEYBITS" eval verify one two three --related 'one,two;x,y' --photos 1 >related.txt
counts related.txt "unrelated" 2 0

# two images that see forty points of one model, by COLMAP's text files
mkdir -p models/one/sparse/0
model=models/one/sparse/0
echo "1 PINHOLE 320 240 300 300 160 120" >$model/cameras.txt
{
    for image in "1 a.pgm" "2 b.pgm"; do
        echo "${image% *} 1 0 0 0 0 0 0 1 ${image#* }"
        awk 'BEGIN { for (i = 1; i <= 40; i++) printf "%d %d %d ", 5 * i, 3 * i, i; print "" }'
    done
} >$model/images.txt
awk 'BEGIN { for (i = 1; i <= 40; i++) print i, i, 2 * i, 100, 0, 0, 0, 0.5, 1, i - 1, 2, i - 1 }' >$model/points3D.txt
run "$KEYBITS" eval verify one two --reconstructions models >shared.txt
counts shared.txt shared 1 1
run "$KEYBITS" eval verify one two --reconstructions models --json >shared.json
holds shared.json '"shared"'
run "$KEYBITS" eval verify one two --reconstructions models --points 41 >none.txt
lines none.txt 2

refuse 2 "at least one folder" "$KEYBITS" eval verify
refuse 1 "one/a.pgm: is not a folder" "$KEYBITS" eval verify one/a.pgm
refuse 1 "images.txt" bash -c "rm $model/images.txt; exec \"$KEYBITS\" eval verify one --reconstructions models"
no_leftovers
