# SPDX-License-Identifier: Apache-2.0
# scripts/sfm: a collection beside COLMAP's SIFT on one scene; refinement lowers the reprojection error.
source "$(dirname "$0")/common.inc"
sfm() { "$KEYBITS_SOURCE/scripts/sfm" --keybits "$KEYBITS" -w work "$@"; }
command -v colmap >/dev/null || { echo "skipped: COLMAP is not installed"; exit 77; }
scene=$KEYBITS_SHARED/data/train/relief
[ -d "$scene" ] || { echo "skipped: $scene is not there"; exit 77; }

refuse 1 "nowhere: no folder of images" sfm nowhere
run sfm --json -n 1000 "$scene" >sfm.json
python3 - <<'PY' || fail "the comparison"
import json
colmap, ours, plain = json.load(open("sfm.json"))["scenes"]
assert (colmap["method"], ours["method"], plain["method"]) == ("COLMAP's SIFT", "keybits", "keybits --no-refine")
assert ours["registered"] == plain["registered"] == 5 and ours["pairs_contradicted"] == 0, ours
assert ours["error_px"] < 0.75 * plain["error_px"] and ours["error_px"] < 0.9 * colmap["error_px"], (colmap, ours, plain)
assert ours["points_3"] >= max(0.9 * plain["points_3"], 1.05 * colmap["points_3"]) and ours["seconds"] < colmap["seconds"] / 20, (colmap, ours)
PY
rm -r work
no_leftovers
