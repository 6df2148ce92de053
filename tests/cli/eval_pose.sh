# keybits eval pose: rendered scenes, a folder in Strecha's layout, wrong input, and fountain-P11 when it is there.
source "$(dirname "$0")/scene.inc"
source "$(dirname "$0")/common.inc"

run "$KEYBITS" eval pose --scenes 20 --no-peers --json >rendered.json
holds rendered.json '"solver": "keybits essential"'
holds rendered.json '"solver": "keybits pose"'
awk '/"auc_5": / { gsub(/[",]/, ""); n++; if (!($2 > 85)) { print "AUC " $2; exit 1 } } END { exit n != 2 }' rendered.json ||
    fail "rendered scenes"
# the same but for the time
run "$KEYBITS" eval pose --scenes 20 --no-peers --json >again.json
grep -v '"ms"' rendered.json >one
grep -v '"ms"' again.json >two
same one two
run "$KEYBITS" eval pose --scenes 5 --seed 3 >table.txt # with OpenCV where it is there
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
echo "200 0 99" >set/gt_dense_cameras/1.pgm.camera
refuse 1 "1.pgm.camera: number 4" "$KEYBITS" eval pose set --no-peers
rm set/gt_dense_cameras/1.pgm.camera
refuse 1 "1.pgm.camera" "$KEYBITS" eval pose set --no-peers
refuse 1 "nowhere" "$KEYBITS" eval pose nowhere --no-peers
refuse 2 "one folder, or none" "$KEYBITS" eval pose a b
no_leftovers

fountain=${KEYBITS_SHARED:-}/data/eval/strecha/fountain-P11
[ -d "$fountain" ] || exit 0
run "$KEYBITS" eval pose "$fountain" --apart 1 --no-peers --json >fountain.json
awk '/"auc_5": / { gsub(/[",]/, ""); if (!($2 > 90)) { print "AUC " $2; exit 1 } }' fountain.json || fail "fountain-P11"
