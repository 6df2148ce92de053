# SPDX-License-Identifier: Apache-2.0
# keybits collection: the database, shards, resuming after SIGKILL, unreadable photographs, lists of pairs.
source "$(dirname "$0")/common.inc"
mkdir -p photos/a photos/b
for i in 1 2 3 4 5; do
    render "photos/a/$i.pgm" 320 240 "$i"
    render "photos/b/$((i + 8)).pgm" 300 230 "$i"
done
echo nothing >photos/b/11x.jpg
job() { "$KEYBITS" collection photos/a photos/b -o "$1.db" -n 300 "${@:2}"; }

ends 1 job whole --json >whole.json
says 11x.jpg
ends 1 job threads --threads 1 --quiet
same whole.db threads.db
ends 1 "$KEYBITS" collection photos -o folders.db -n 300 --quiet # a folder of folders
same whole.db folders.db
python3 - <<'PY' || fail "the database or the JSON"
import json, sqlite3, struct
d = json.load(open("whole.json"))
assert d["images"] == 10 and d["failed"] == 1 and d["pairs"] == 45 and d["seconds"] > 0, d
db = sqlite3.connect("whole.db")
names = dict(db.execute("SELECT image_id, name FROM images ORDER BY image_id"))
assert list(names.values()) == ["a/%d.pgm" % i for i in range(1, 6)] + ["b/%d.pgm" % i for i in range(9, 14)], names
keypoints = {i: n for i, n in db.execute("SELECT image_id, rows FROM keypoints")}
assert sum(keypoints.values()) == d["keypoints"]
matched, pairs = 0, {}
for p, rows, cols, data, config, f, h in db.execute("SELECT pair_id, rows, cols, data, config, F, H FROM two_view_geometries"):
    a, b = divmod(p, 2147483647)
    m = struct.unpack("<%dI" % (2 * rows), data)
    assert a < b and cols == 2 and rows >= 15 and config in (3, 6)
    assert all(x < keypoints[a] for x in m[::2]) and all(x < keypoints[b] for x in m[1::2])
    model = struct.unpack("<9d", f if config == 3 else h)
    def at(image):
        row = db.execute("SELECT data FROM keypoints WHERE image_id = ?", (image,)).fetchone()[0]
        return [struct.unpack_from("<2f", row, 16 * k) for k in range(keypoints[image])]
    ka, kb = at(a), at(b)
    for x, y in list(zip(m[::2], m[1::2]))[:40]:  # the geometry holds in COLMAP's pixels
        (x1, y1), (x2, y2) = ka[x], kb[y]
        v = [model[3 * r] * x1 + model[3 * r + 1] * y1 + model[3 * r + 2] for r in range(3)]
        if config == 6: assert abs(v[0] / v[2] - x2) < 4 and abs(v[1] / v[2] - y2) < 4
        else: assert abs(x2 * v[0] + y2 * v[1] + v[2]) / (v[0] ** 2 + v[1] ** 2) ** 0.5 < 6
    matched += rows
    pairs[a, b] = rows
assert len(pairs) == d["verified_pairs"] and matched == d["matches"], (len(pairs), d)
assert all((i, i + 5) in pairs for i in range(1, 6)), pairs  # the same picture twice
assert db.execute("SELECT count(*) FROM matches").fetchone()[0] == len(pairs)
PY

# Shards: any number, any order, again and at once.
shards="2 7"
[ -z "${KEYBITS_SANITIZED:-}" ] || shards=3
for n in $shards; do
    refuse 1 "not described yet" job "shards$n" --step match --shard "1/$n" --quiet
    for step in describe match; do
        for i in $(seq "$n" -1 1) 1; do job "shards$n" --step $step --shard "$i/$n" --quiet 2>/dev/null & done
        for p in $(jobs -p); do wait "$p" || fail "a shard of $n"; done
        [ $step = match ] || refuse 1 "not matched yet" job "shards$n" --step merge --quiet
    done
    ends 1 job "shards$n" --step merge --quiet
    same whole.db "shards$n.db"
done

# Killed again and again, a run loses at most the file that it was at.
kills=${KEYBITS_SANITIZED:+3}
for i in $(seq 1 "${kills:-25}"); do
    job killed --threads 2 --quiet 2>/dev/null &
    pid=$!
    sleep "0.0$((RANDOM % 90 + 10))"
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
done
ends 1 job killed --quiet
same whole.db killed.db

# A damaged file of the work folder is made again; a changed option makes others.
printf 'x' | dd of=whole.db.work/features/000002.kbf bs=1 seek=200 conv=notrunc 2>/dev/null
rm whole.db.work/blocks/000000.pairs
ends 1 job whole --quiet
same whole.db killed.db
# Forged ones, whose checksum is right: numbers of images, matches and inliers that lead nowhere, rows that are too long,
# keypoints that are not a number, infinite or without a size.
for forgery in "blocks/000000.pairs 28 4294967295" "blocks/000000.pairs 36 4294967295" "blocks/000000.pairs 40 4294967295" \
    "features/000002.kbf 28 4096" "features/000002.kbf 16 0" "features/000002.kbf 20 65536" "features/000002.kbf 32 1" \
    "blocks/000000.pairs 24 1" "blocks/000000.pairs 32 9" "blocks/000000.pairs 40 0" "blocks/000000.pairs 52 2146959360" \
    "blocks/000000.pairs 216 100000" "blocks/000000.pairs 220 2147483648" "blocks/000000.pairs 124 2146959360" \
    "features/000002.kbt 16 7" "features/000002.kbf 48 2143289344" "features/000002.kbf 52 4286578688" "features/000002.kbf 56 0"; do
    python3 - $forgery <<'PY' || fail "the forgery"
import struct, sys
name, at, value = "whole.db.work/" + sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
data = bytearray(open(name, "rb").read())
struct.pack_into("<I", data, at, value)
total = 0xcbf29ce484222325
for word in struct.unpack("<%dQ" % (len(data) // 8 - 1), data[:-8]):
    total = (total ^ word) * 0x100000001b3 % 2 ** 64
struct.pack_into("<Q", data, len(data) - 8, total)
open(name, "wb").write(data)
PY
    ends 1 job whole --quiet
    same whole.db killed.db
done
# Lists of pairs that are forged: a pair twice, pairs that are not in order, one too few, one of an image without features.
cp whole.db.work/pairs.txt pairs.txt
for forgery in '3s/.*/0 1/' '2s/.*/0 2/;3s/.*/0 1/' '$d' '2s/.*/0 7/' '2s/.*/1 1/' '1s/ 45/ 99999999999999999999/'; do
    sed "$forgery" pairs.txt >whole.db.work/pairs.txt
    differ pairs.txt whole.db.work/pairs.txt
    ends 1 job whole --quiet
    same whole.db killed.db
    same pairs.txt whole.db.work/pairs.txt
done
ends 1 job whole --min-places 200 --quiet
differ whole.db killed.db

# What was made of other content is made again, whatever size, time and name say, and so is what depends on it.
mkdir changed
for i in 1 2 3; do render "changed/$i.pgm" 320 240 "$i"; done
turn() { "$KEYBITS" collection changed -o "$1.db" -n 300 --quiet "${@:2}"; }
run turn first
render other.pgm 320 240 9
size=$(stat -c %s changed/2.pgm)
{ head -n 3 other.pgm; tail -n +4 other.pgm | tr '\n' ' '; } | head -c "$size" >padded.pgm
truncate -s "$size" padded.pgm
tr '\0' ' ' <padded.pgm >new.pgm
touch -r changed/2.pgm new.pgm
cat new.pgm >changed/2.pgm # in place, and with the old time
touch -r new.pgm changed/2.pgm
run turn first
rm -rf fresh.db*
run turn fresh
same first.db fresh.db
# An old reason why there are no features is about another image: the one that is in its place now is not left out.
echo nothing >changed/0.pgm
run "$KEYBITS" collection changed -o moved.db -n 300 --quiet --step describe
says 0.pgm
rm changed/0.pgm # 1.pgm has its number now
refuse 1 "not described yet, such as changed/1.pgm" turn moved --step pairs
run turn moved
same moved.db fresh.db
# A vocabulary is known by its content.
run "$KEYBITS" vocab train changed -o words.kbv --branching 8 --tree-levels 3 --quiet
run turn words --pairs retrieval -k 1 --vocab words.kbv
cp words.db.work/pairs.txt before.txt
run "$KEYBITS" vocab train photos/a -o words.kbv --branching 7 --tree-levels 3 --quiet
run turn words --pairs retrieval -k 1 --vocab words.kbv
[ "$(head -1 before.txt)" != "$(head -1 words.db.work/pairs.txt)" ] || fail "pairs of another vocabulary"

# Links in the place of the work folder and of what is in it lead nowhere.
mkdir elsewhere
ln -s elsewhere trap.db.work
refuse 1 "trap.db.work: a link stands in place of the folder" turn trap
[ -z "$(ls elsewhere)" ] || fail "written through a link"
rm trap.db.work
mkdir trap.db.work
ln -s ../elsewhere trap.db.work/features
refuse 1 "features: a link stands in place of the folder" turn trap
rm trap.db.work/features
echo precious >precious.txt
ln -s ../precious.txt trap.db.work/pairs.txt
run turn trap
[ "$(cat precious.txt)" = precious ] || fail "written through a link"
rm -rf elsewhere changed *.kbv

# Rows: a work folder with other ones is made anew.
ends 1 job rows --rows oriented --quiet
size=$(stat -c %s rows.db.work/features/000000.kbf)
ends 1 job rows --quiet
ends 1 job afresh --quiet
same afresh.db rows.db
[ "$(stat -c %s rows.db.work/features/000000.kbf)" -gt "$size" ] || fail "the size of features with both kinds of rows"
ends 1 job rows --rows upright --quiet
ends 1 job flat --orientation none --quiet
same rows.db flat.db

# Which pairs.
printf '# two\na/1.pgm b/9.pgm\nb/10.pgm a/2.pgm\n' >list.txt
ends 1 job listed --list list.txt --json >listed.json
holds listed.json '"pairs": 2'
ends 1 job sequence --pairs sequential --overlap 2 --json >sequence.json
holds sequence.json '"pairs": 17'
ends 1 job similar --pairs retrieval -k 1 --json >similar.json
python3 -c 'import json; d = json.load(open("similar.json")); assert 5 <= d["pairs"] <= 10 and d["verified_pairs"] >= 5, d' ||
    fail "retrieval"

# GNU parallel does the scheduling where it is.
if command -v parallel >/dev/null && parallel --version 2>/dev/null | grep -q GNU; then
    PATH=$(dirname "$KEYBITS"):$PATH ends 1 "$KEYBITS_SOURCE/scripts/collection-parallel" 3 gnu.db photos/a photos/b -- -n 300
    same killed.db gnu.db
fi

# ---- wrong input
refuse 2 "oriented rows need an orientation" job x --rows oriented --orientation none
refuse 2 "upright rows have no orientation" job x --rows upright --orientation gradient
refuse 2 "rows" job x --rows neither
refuse 2 "-o with" "$KEYBITS" collection photos/a
refuse 2 "I/N" job x --step match --shard 3/2
refuse 2 "I/N" job x --step match --shard 0/2
refuse 2 "--shard is for" job x --shard 1/2
refuse 2 "camera" job sequence --camera NONE,1 --quiet
[ ! -e x.db ] || fail "a database in spite of failure"
rm -rf killed.db.work # what was killed leaves temporary files there
no_leftovers
