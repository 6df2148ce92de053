# SPDX-License-Identifier: Apache-2.0
# keybits index and search: building, adding, asking; the JSON that others rely on; wrong input.
source "$(dirname "$0")/common.inc"
for i in 1 2 3 4 5 6; do
    render "$i.pgm" 320 240 "$i"
    render "again$i.pgm" 300 230 "$i" # the same picture, cut at two sides
done

run "$KEYBITS" index build 1.pgm 2.pgm 3.pgm 4.pgm 5.pgm 6.pgm -o all.kbi --json >build.json
run "$KEYBITS" index build 1.pgm 2.pgm 3.pgm -o grown.kbi --threads 1
run "$KEYBITS" index add grown.kbi 4.pgm
run "$KEYBITS" index add grown.kbi 5.pgm 6.pgm
same all.kbi grown.kbi # however it came about
run "$KEYBITS" index query all.kbi again1.pgm again2.pgm again3.pgm -k 3 --verify --json >query.json
run "$KEYBITS" index query all.kbi again1.pgm --scoring exact -k 2 --json >exact.json
run "$KEYBITS" index info all.kbi --json >info.json
python3 - <<'PY' || fail "the JSON of build, query or info"
import json
b, q, i = (json.load(open(f)) for f in ("build.json", "query.json", "info.json"))
assert b["images"] == b["added"] == 6 and b["failed"] == 0, b
assert isinstance(q, list) and [x["query"] for x in q] == ["again1.pgm", "again2.pgm", "again3.pgm"], q
for n, x in enumerate(q, 1):
    r = x["results"]
    assert 1 <= len(r) <= 3 and r[0]["image"] == "%d.pgm" % n and r[0]["inliers"] > 50 and x["ms"] > 0, x
    assert all((a["inliers"] > 0, a["score"]) >= (b["inliers"] > 0, b["score"]) for a, b in zip(r, r[1:])), r
assert json.load(open("exact.json"))[0]["results"][0]["image"] == "1.pgm"
assert i["images"] == 6 and i["features"] and i["signatures"] and i["model"] and i["bytes_per_image"] > 0, i
PY

# An index knows how its keypoints were found, uses that for queries, and refuses others.
run "$KEYBITS" index build 1.pgm 2.pgm 3.pgm -o orb.kbi --detector orb --orientation none --max-size 280
run "$KEYBITS" index info orb.kbi >info.txt
grep -q "^keypoints   orb, revision [0-9]*, upright, images up to 280 px$" info.txt || fail "$(cat info.txt)"
run "$KEYBITS" index query orb.kbi again1.pgm -k 1 --verify --json >query.json
python3 -c 'import json; r = json.load(open("query.json"))[0]["results"][0]; assert r["image"] == "1.pgm" and r["inliers"] > 50, r' || fail "a query of upright orb keypoints"
refuse 1 "the index has keypoints of orb, not of sift" "$KEYBITS" index query orb.kbi again1.pgm --detector sift
refuse 1 "the index has upright rows" "$KEYBITS" search orb.kbi again1.pgm --orientation gradient
refuse 1 "the index has images up to 280 px (0: of any size), not up to 0" "$KEYBITS" index add orb.kbi 4.pgm --max-size 0
refuse 1 "the index has oriented rows" "$KEYBITS" index query all.kbi again1.pgm --orientation none
cp orb.kbi old.kbi
printf '\143' | dd of=old.kbi bs=1 seek=84 conv=notrunc 2>/dev/null
refuse 1 "the index has keypoints of revision 99 of orb" "$KEYBITS" search old.kbi again1.pgm

# Names: listed, added once, removed.
run "$KEYBITS" index list all.kbi >list.txt
printf '%d.pgm\n' 1 2 3 4 5 6 >expected.txt
same list.txt expected.txt
run "$KEYBITS" index list all.kbi --json >list.json
python3 -c 'import json; d = json.load(open("list.json")); assert [(x["image"], x["id"], x["width"]) for x in d] == [("%d.pgm" % (i + 1), i, 320) for i in range(6)], d' || fail "the list"
cp all.kbi again.kbi
run "$KEYBITS" index add again.kbi 2.pgm
says "2.pgm is in the index already"
same again.kbi all.kbi
run "$KEYBITS" index build 1.pgm 2.pgm 1.pgm -o twice.kbi
says "1.pgm is named twice, and taken once"
run "$KEYBITS" index build 1.pgm 3.pgm 5.pgm -o odd.kbi
run "$KEYBITS" index build 1.pgm 2.pgm 3.pgm 4.pgm 5.pgm -o five.kbi
run "$KEYBITS" index remove all.kbi 6.pgm -o less.kbi
same less.kbi five.kbi
run "$KEYBITS" index remove less.kbi 2.pgm 4.pgm --json >removed.json
holds removed.json '"index": "less.kbi"'
run "$KEYBITS" index list less.kbi >list.txt
printf '%d.pgm\n' 1 3 5 >expected.txt
same list.txt expected.txt
cp less.kbi before.kbi
refuse 1 "7.pgm: no image of that name" "$KEYBITS" index remove less.kbi 1.pgm 7.pgm
same less.kbi before.kbi
# Programs that change one index at once wait for each other.
cp odd.kbi shared.kbi
for i in 2 4 6; do for k in $i again$i; do "$KEYBITS" index add shared.kbi "$k.pgm" --quiet & done; done
for p in $(jobs -p); do wait "$p" || fail "an addition"; done
run "$KEYBITS" index list shared.kbi >list.txt
sort list.txt >sorted.txt
printf '%s\n' 1.pgm 2.pgm 3.pgm 4.pgm 5.pgm 6.pgm again2.pgm again4.pgm again6.pgm >expected.txt
same sorted.txt expected.txt

# Smaller indexes.
run "$KEYBITS" index build 1.pgm 2.pgm -o small.kbi --no-features
[ "$(stat -c %s small.kbi)" -lt "$(stat -c %s all.kbi)" ] || fail "--no-features is not smaller"
run "$KEYBITS" index query small.kbi again2.pgm >small.txt
head -2 small.txt | grep -q " 2.pgm" || fail "not found in the small index"
refuse 1 "--no-features" "$KEYBITS" index query small.kbi again2.pgm --verify
run "$KEYBITS" index build 1.pgm 2.pgm -o words.kbi --no-features --no-signatures
run "$KEYBITS" index query words.kbi again2.pgm >words.txt
head -2 words.txt | grep -q " 2.pgm" || fail "not found by words"

# An image that cannot be read among others is named and counted, and costs nothing else.
echo nothing >broken.jpg
ends 1 "$KEYBITS" index build 1.pgm broken.jpg 2.pgm 3.pgm 4.pgm 5.pgm 6.pgm -o with.kbi
says broken.jpg
says "1 failed"
same all.kbi with.kbi

# ---- search
refuse 2 "the picture found.jpg must end in .png" "$KEYBITS" search all.kbi again4.pgm --draw found.jpg
run "$KEYBITS" search all.kbi again4.pgm --draw found.png --probes 20 --json >search.json
python3 - <<'PY' || fail "the JSON of search"
import json
d = json.load(open("search.json"))
assert d["found"] == "4.pgm" and d["results"][0]["inliers"] > 50 and len(d["model"]) == 9, d
# The picture has 320x240 pixels and lies where the photograph, cut at the right and below, shows it.
expected = [0, 0, 319, 0, 319, 239, 0, 239]
assert len(d["outline"]) == 8 and all(abs(a - b) < 2 for a, b in zip(d["outline"], expected)), d["outline"]
assert open("found.png", "rb").read(4) == b"\x89PNG"
PY
awk 'BEGIN { print "P2\n200 200\n255"; for (i = 0; i < 40000; i++) print 128 }' >flat.pgm
run "$KEYBITS" search all.kbi flat.pgm >none.txt
holds none.txt "not in the index"

# ---- wrong input
refuse 2 "-o with" "$KEYBITS" index build 1.pgm
refuse 1 "not a keybits index" "$KEYBITS" index query 1.pgm 2.pgm
refuse 1 "made with the model bag256" "$KEYBITS" index query all.kbi 1.pgm -m bad256
refuse 1 "made for the model bag256" "$KEYBITS" index build 1.pgm -m bad256 --vocab bag256-1k -o x.kbi
refuse 1 "bag512-10k.kbv" "$KEYBITS" index build 1.pgm -m bag512 -o x.kbi
head -c 20000 all.kbi >cut.kbi
refuse 1 "ends after 20000" "$KEYBITS" index query cut.kbi 1.pgm
size=$(stat -c %s all.kbi)
{ head -c $((size - 100)) all.kbi; printf 'x'; tail -c 99 all.kbi; } >damaged.kbi
refuse 1 "damaged" "$KEYBITS" index info damaged.kbi
refuse 1 "damaged" "$KEYBITS" index add damaged.kbi 1.pgm
refuse 2 "at least one image" "$KEYBITS" index query all.kbi
refuse 2 "probes" "$KEYBITS" search all.kbi 1.pgm --probes 65
"$KEYBITS" index build broken.jpg -o x.kbi 2>/dev/null && fail "an index without images"
[ ! -e x.kbi ] || fail "a file in spite of failure"
no_leftovers
