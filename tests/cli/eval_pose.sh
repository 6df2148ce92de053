# SPDX-License-Identifier: Apache-2.0
# keybits eval pose: rendered scenes, a folder in Strecha's layout, wrong input, and fountain-P11 when it is there.
source "$(dirname "$0")/scene.inc"
source "$(dirname "$0")/common.inc"

scenes=${KEYBITS_SANITIZED:+3}
run "$KEYBITS" eval pose --scenes ${scenes:-20} --no-peers --json >rendered.json
holds rendered.json '"solver": "keybits essential"'
holds rendered.json '"solver": "keybits pose"'
awk '/"auc_5": / { gsub(/[",]/, ""); n++; if (!($2 > 85)) { print "AUC " $2; exit 1 } } END { exit n != 2 }' rendered.json ||
    fail "rendered scenes"
# the same but for the time
run "$KEYBITS" eval pose --scenes ${scenes:-20} --no-peers --json >again.json
grep -v '"ms"' rendered.json >one
grep -v '"ms"' again.json >two
same one two
run "$KEYBITS" eval pose --scenes ${scenes:-5} --seed 3 >table.txt # with OpenCV where it is there
holds table.txt "AUC 20"

# cameras are read, and a wrong one is told with its file
mkdir -p set/images set/gt_dense_cameras
leaves set/images/0.pgm 200 160 3
leaves set/images/1.pgm 200 160 3
for i in 0 1; do
    echo "200 0 99 0 200 79 0 0 1 0 0 0 1 0 0 0 1 0 0 0 1 $i 0 0 200 160" >set/gt_dense_cameras/$i.pgm.camera
done
run "$KEYBITS" eval pose set --no-peers --json >folder.json
holds folder.json '"solver": "keybits essential, filtered"'
holds folder.json '"problems": 1'
holds folder.json '"protocol": "Strecha"'
holds folder.json '"origin": "bag256"'
holds folder.json '"solver": "keybits match"'

# several sets, each by its protocol; matches of another program; the page takes the results
mkdir listed given
cp set/images/*.pgm listed
printf '%s\n' "# a comment" "0.pgm 200 200 99 79 1 0 0 0 1 0 0 0 1 0 0 0" "1.pgm 200 200 99 79 1 0 0 0 1 0 0 0 1 -1 0 0" \
    >listed/cameras.txt
awk 'BEGIN { for (i = 0; i < 60; i++) print i * 3, i * 7 % 150, i * 3 - 10 - i % 5, i * 7 % 150 }' >given/0_1.txt
run "$KEYBITS" eval pose set listed --matches given --seeds 2 --no-peers --json >two.json
holds two.json '"protocol": "cameras.txt"'
holds two.json '"origin": "given"'
holds two.json '"matches": 60'
run "$KEYBITS" eval pose listed --matches given --seeds 2 --no-peers --threshold 2 >table.txt
holds table.txt "listed (cameras.txt), 2 px"
run "$KEYBITS" eval report two.json rendered.json -o page.html
holds page.html "Relative pose: listed"
holds page.html "given, keybits essential"
holds page.html "inliers within 1.5 px"
refuse 1 "nothing/0_1.txt" "$KEYBITS" eval pose listed --matches nothing --no-peers
refuse 1 "cv:nothing" "$KEYBITS" eval pose listed --features cv:nothing --no-peers
refuse 1 "holds no cameras" "$KEYBITS" eval pose given --no-peers
echo "200 0 99" >set/gt_dense_cameras/1.pgm.camera
refuse 1 "1.pgm.camera: number 4" "$KEYBITS" eval pose set --no-peers
rm set/gt_dense_cameras/1.pgm.camera
refuse 1 "1.pgm.camera" "$KEYBITS" eval pose set --no-peers
refuse 1 "nowhere" "$KEYBITS" eval pose nowhere --no-peers
no_leftovers

# OpenCV's features beside ours, where it is there
if "$KEYBITS" eval pose --scenes 1 2>&1 | grep -q "OpenCV find"; then
    run "$KEYBITS" eval pose listed --features cv:orb,cv:sift --json >peers.json
    holds peers.json '"origin": "cv:sift"'
    holds peers.json '"solver": "OpenCV findEssentialMat"'
fi

fountain=${KEYBITS_SHARED:-}/data/eval/strecha/fountain-P11
[ -d "$fountain" ] && [ -z "${KEYBITS_SANITIZED:-}" ] || exit 0
run "$KEYBITS" eval pose "$fountain" --apart 1 --no-peers --json >fountain.json
awk '/"auc_5": / { gsub(/[",]/, ""); if (!($2 > 90)) { print "AUC " $2; exit 1 } }' fountain.json || fail "fountain-P11"
