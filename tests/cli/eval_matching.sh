# SPDX-License-Identifier: Apache-2.0
# keybits eval matching: on pictures whose motion is known, apart by kind of sequence, and wrong input.
source "$(dirname "$0")/eval.inc"
source "$(dirname "$0")/common.inc"
mkdir -p set/v_shift set/i_still set/v_wrong set/i_dc
noise set/v_shift/1.pgm 200 150 20 20
noise set/v_shift/2.pgm 200 150 29 14
echo "1 0 -9  0 1 6  0 0 1" >set/v_shift/H_1_2
noise set/i_still/1.pgm 160 120 5 5
cp set/i_still/1.pgm set/i_still/2.pgm
echo "1 0 0  0 1 0  0 0 1" >set/i_still/H_1_2
# the homography is 3.5 px off: nothing within 3 px, everything within 4
cp set/i_still/1.pgm set/i_still/2.pgm set/v_wrong
echo "1 0 3.5  0 1 0  0 0 1" >set/v_wrong/H_1_2
cp set/i_still/* set/i_dc # one of those that papers leave out

accuracy() { python3 - "$1" "$2" "$3" <<'PY'
import json, sys
item = json.load(open(sys.argv[1]))
item = item[0] if isinstance(item, list) else item
print(item[sys.argv[2]][int(sys.argv[3]) - 1])
PY
}
run "$KEYBITS" eval matching set -m sift,bad256 --detector sift -n 200 --json >mma.json
says "1 sequences of large images are left out"
holds mma.json '"benchmark": "matching"'
# two of three pairs have homographies below 1 px, the third is 3.5 px off: nothing up to 3 px, 0.3 up to 5
between mma.json homography_auc_1px 40 66.7
between mma.json homography_auc_3px 55 66.7
between mma.json homography_auc_5px 68 76.7
! grep -q i_dc mma.json || fail "a sequence that should be left out"
if command -v python3 >/dev/null; then
    [ "$(accuracy mma.json mma_illumination 1)" = 1 ] || fail "an image and itself are not matched rightly"
    awk -v a="$(accuracy mma.json mma_viewpoint 3)" 'BEGIN { exit !(a > 0.4 && a <= 0.5) }' || fail "half of the pairs at 3 px"
    awk -v a="$(accuracy mma.json mma_viewpoint 4)" 'BEGIN { exit !(a > 0.9 && a <= 1) }' || fail "all pairs at 4 px"
    awk -v a="$(accuracy mma.json mma 3)" 'BEGIN { exit !(a > 0.6 && a <= 0.6667) }' || fail "two of three pairs at 3 px"
fi
run "$KEYBITS" eval matching set -m sift --detector sift -n 200 --threads 1 --json >one.json
run "$KEYBITS" eval matching set -m sift --detector sift -n 200 --threads 2 --json >two.json
same one.json two.json
run "$KEYBITS" eval matching set -m bad256 -n 200 --all-sequences --json >all.json
holds all.json '"scene": "i_dc"'
run "$KEYBITS" eval matching set -m bad256 -n 200 >table.txt
holds table.txt "  viewpoint"
holds table.txt "  illumination"
holds table.txt "AUC3px"
run "$KEYBITS" eval report mma.json -o page.html
holds page.html "Mean matching accuracy"

refuse 2 "one folder" "$KEYBITS" eval matching -m sift
refuse 1 "nowhere" "$KEYBITS" eval matching nowhere -m sift
refuse 1 "all sequences" "$KEYBITS" eval matching set/i_dc -m bad256 --quiet
refuse 2 "--export-patches" "$KEYBITS" eval matching set --export-patches x.npy
no_leftovers
