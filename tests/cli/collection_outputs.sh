# SPDX-License-Identifier: Apache-2.0
# keybits collection: files of OpenMVG, matches as text and arrays, the page, pairs by position.
source "$(dirname "$0")/common.inc"
source "$(dirname "$0")/page.inc"
mkdir photos
for i in 1 2 3 4; do
    render "photos/$i.pgm" 320 240 "$i"
    render "photos/$((i + 8)).pgm" 300 230 "$i"
done
echo nothing >photos/7.jpg
job() { "$KEYBITS" collection photos -o "$1.db" -n 300 --quiet "${@:2}"; }
ends 1 job one --matches m.npz --openmvg mvg --page page.html
ends 1 job one --matches m.txt
python3 - <<'PY' || fail "the text, the arrays or the files of OpenMVG"
import ast, json, sqlite3, struct, zipfile
db = sqlite3.connect("one.db")
names = dict(db.execute("SELECT image_id, name FROM images"))
truth = {}
for p, rows, data in db.execute("SELECT pair_id, rows, data FROM two_view_geometries"):
    a, b = divmod(p, 2147483647)
    m = struct.unpack("<%dI" % (2 * rows), data)
    truth[names[a], names[b]] = list(zip(m[::2], m[1::2]))
text = {}
for block in open("m.txt").read().split("\n\n"):
    if block.strip():
        head, *rest = block.strip().split("\n")
        text[tuple(head.split())] = [tuple(map(int, line.split())) for line in rest]
assert text == truth and truth

def array(zf, name):  # a reader of .npy of its own
    data = zf.read(name + ".npy")
    assert data[:6] == b"\x93NUMPY"
    n = struct.unpack("<H", data[8:10])[0]
    head = ast.literal_eval(data[10:10 + n].decode())
    code = {"|u1": "B", "|b1": "?", "<i4": "i", "<i8": "q", "<f4": "f", "<f8": "d"}[head["descr"]]
    flat = struct.unpack("<%d%s" % ((len(data) - 10 - n) // struct.calcsize(code), code), data[10 + n:])
    return head["shape"], flat
with zipfile.ZipFile("m.npz") as zf:
    assert zf.testzip() is None
    (count, width), raw = array(zf, "names")
    rows = [bytes(raw[i * width:(i + 1) * width]).rstrip(b"\0").decode() for i in range(count)]
    assert "7.jpg" in rows and set(names.values()) < set(rows)
    pairs, ends, matches = array(zf, "pairs")[1], array(zf, "match_ends")[1], array(zf, "matches")[1]
    found, begin = {}, 0
    for i, end in enumerate(ends):
        m = matches[2 * begin:2 * end]
        found[rows[pairs[2 * i]], rows[pairs[2 * i + 1]]] = list(zip(m[::2], m[1::2]))
        begin = end
    assert found == truth
    shape, points = array(zf, "keypoints")
    assert shape[0] == array(zf, "keypoint_ends")[1][-1] == db.execute("SELECT sum(rows) FROM keypoints").fetchone()[0]
    x, y = struct.unpack_from("<2f", db.execute("SELECT data FROM keypoints WHERE image_id = 1").fetchone()[0])
    assert abs(points[0] + 0.5 - x) < 1e-4 and abs(points[1] + 0.5 - y) < 1e-4

scene = json.load(open("mvg/sfm_data.json"))
views = {v["key"]: v["value"]["ptr_wrapper"]["data"] for v in scene["views"]}
assert {v["filename"] for v in views.values()} == set(names.values())
assert [v["value"]["polymorphic_id"] for v in scene["intrinsics"]] == [2147483649] + [1] * (len(views) - 1)
pointers = [v["value"]["ptr_wrapper"]["id"] for v in scene["views"] + scene["intrinsics"]]
assert len(set(pointers)) == len(pointers) and all(p > 2 ** 31 for p in pointers)
assert all(abs(i["value"]["ptr_wrapper"]["data"]["focal_length"] - 1.2 * max(v["width"], v["height"])) < 1e-6
           for i, v in zip(scene["intrinsics"], views.values()))
words = open("mvg/matches.f.txt").read().split()
at, mvg = 0, {}
while at < len(words):
    a, b, n = map(int, words[at:at + 3])
    m = list(map(int, words[at + 3:at + 3 + 2 * n]))
    mvg[views[a]["filename"], views[b]["filename"]] = list(zip(m[::2], m[1::2]))
    at += 3 + 2 * n
assert mvg == truth
for image, name in names.items():
    n = db.execute("SELECT rows FROM keypoints WHERE image_id = ?", (image,)).fetchone()[0]
    assert len(open("mvg/%s.feat" % name[:-4]).readlines()) == n
assert json.load(open("mvg/image_describer.json"))["regions_type"]["polymorphic_name"] == "AKAZE_Binary_Regions"
PY
sound_page page.html
holds page.html "7.jpg"
mkdir -p twice/a twice/b
cp photos/1.pgm twice/a/
cp photos/2.pgm twice/b/1.pgm
refuse 1 "does not tell apart" "$KEYBITS" collection twice/a twice/b -o x.db --openmvg x --quiet
refuse 2 ".txt or .npz" job one --matches m.csv

# Images of one size share a guessed camera, whatever comes between them.
ends 1 job shared --one-camera
python3 - <<'PY' || fail "cameras that images share"
import sqlite3
db = sqlite3.connect("shared.db")
sizes = db.execute("SELECT width, height FROM cameras ORDER BY width").fetchall()
assert sizes == [(300, 230), (320, 240)], sizes
mixed = db.execute("SELECT count(*) FROM images JOIN cameras USING (camera_id) "
                   "WHERE (width = 320) != (length(name) = 5 AND name != '9.pgm')")
assert mixed.fetchone()[0] == 0
PY

# ---- positions
rm photos/7.jpg
refuse 1 "none of the images has a position" job none --pairs gps
source "$KEYBITS_SOURCE/scripts/python.inc"
(python=$(find_python cv2) && mkdir walk && "$python" - <<'PY'
import struct, sys
import cv2
def with_position(jpeg, latitude, longitude, order):
    def fractions(v):
        v = abs(v); d = int(v); m = int((v - d) * 60); s = (v - d - m / 60) * 3600
        return struct.pack(order + "6I", d, 1, m, 1, round(s * 10000), 10000)
    gps = 26
    at = gps + 2 + 4 * 12 + 4
    tiff = (b"II" if order == "<" else b"MM") + struct.pack(order + "HI", 42, 8)
    tiff += struct.pack(order + "HHHIII", 1, 0x8825, 4, 1, gps, 0) + struct.pack(order + "H", 4)
    for tag, letter, place in (1, b"S" if latitude < 0 else b"N", at), (3, b"W" if longitude < 0 else b"E", at + 24):
        tiff += struct.pack(order + "HHI2sH", tag, 2, 2, letter + b"\0", 0) + struct.pack(order + "HHII", tag + 1, 5, 3, place)
    tiff += struct.pack(order + "I", 0) + fractions(latitude) + fractions(longitude)
    body = b"Exif\0\0" + tiff
    return jpeg[:2] + b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body + jpeg[2:]
# four places on a line along the date line, 11 m apart, and one far away; the last has none
places = [(-10.0, 179.9999), (-10.0, -179.9999), (-10.0001, 180.0), (-10.0003, 180.0), (50.0, 8.0), None]
for i, place in enumerate(places):
    ok, jpeg = cv2.imencode(".jpg", cv2.imread("photos/%d.pgm" % (i % 4 + 1), 0))
    jpeg = jpeg.tobytes()
    open("walk/%d.jpg" % i, "wb").write(with_position(jpeg, *place, "<>"[i % 2]) if place else jpeg)
PY
) || { echo "positions are not tested: no Python with cv2"; exit 0; }
walk() { "$KEYBITS" collection walk -o "$1.db" -n 100 --pairs gps "${@:2}"; }
pairs() { tail -n +2 "$1.db.work/pairs.txt" | tr '\n' ';'; }
run walk near
says "1 of 6 images have no position"
[ "$(pairs near)" = "0 1;0 2;0 3;1 2;1 3;2 3;" ] || fail "within 100 m: $(pairs near)"
python3 -c '
import sqlite3
rows = sqlite3.connect("near.db").execute("SELECT prior_tx, prior_ty, prior_tz FROM images ORDER BY name").fetchall()
assert rows[5] == (None, None, None) and all(abs(a - b) < 1e-6 for a, b in zip(rows[1], (-10, -179.9999, 0))), rows' ||
    fail "positions as priors"
python3 - <<'PY' || fail "positions as COLMAP 3.10 and later read them"
import sqlite3, struct
db = sqlite3.connect("near.db")
old = [(i, (x, y, z)) for i, x, y, z in db.execute("SELECT image_id, prior_tx, prior_ty, prior_tz FROM images") if x is not None]
new = db.execute("SELECT image_id, position, coordinate_system, position_covariance FROM pose_priors ORDER BY 1").fetchall()
assert old and sorted(old) == [(i, struct.unpack("<3d", p)) for i, p, _, _ in new]
assert all(system == 0 and len(spread) == 72 for _, _, system, spread in new)
PY
run walk close --reach 20 --quiet
[ "$(pairs close)" = "0 2;1 2;" ] || fail "within 20 m: $(pairs close)"
run walk few -k 1 --quiet
[ "$(pairs few)" = "0 2;1 2;2 3;" ] || fail "the nearest of each: $(pairs few)"
run walk far --reach 20000000 --quiet
[ "$(pairs far | tr -cd ';' | wc -c)" = 10 ] || fail "all over the world: $(pairs far)"
no_leftovers
