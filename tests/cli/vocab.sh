# SPDX-License-Identifier: Apache-2.0
# keybits vocab: training, showing, converting; the files of other programs are read by code of their own below.
source "$(dirname "$0")/common.inc"
for i in 1 2 3 4; do render "$i.pgm" 240 180 "$i"; done

run "$KEYBITS" vocab train 1.pgm 2.pgm 3.pgm -m bad256 -w 100 -o one.kbv --threads 1
run "$KEYBITS" vocab train 1.pgm 2.pgm 3.pgm -m bad256 -w 100 -o two.kbv --threads 3
same one.kbv two.kbv
run "$KEYBITS" vocab train 1.pgm 2.pgm 3.pgm -m bad256 -w 100 -o other.kbv --seed 1
differ one.kbv other.kbv
# Descriptors from files give the same words as the images they came from.
run "$KEYBITS" describe 1.pgm 2.pgm 3.pgm -m bad256 -o '{}.npy'
run "$KEYBITS" vocab train 1.npy 2.npy 3.npy -m bad256 -w 100 -o rows.kbv
same one.kbv rows.kbv
# An image that cannot be read is named, the others count.
echo nothing >broken.jpg
ends 1 "$KEYBITS" vocab train 1.pgm broken.jpg 2.pgm 3.pgm -m bad256 -w 100 -o with.kbv
says broken.jpg
says "1 images failed"
same one.kbv with.kbv
run "$KEYBITS" vocab show one.kbv --json >show.json
python3 - <<'PY' || fail "show --json"
import json
d = json.load(open("show.json"))
assert d["model"] == "bad256" and d["row_bytes"] == 32 and 50 < d["words"] <= 100, d
assert d["branching"] ** d["levels"] >= 100 and d["weighting"] == "tf-idf", d
PY
run "$KEYBITS" vocab list >list
holds list bag256-10k
run "$KEYBITS" vocab show bag256-1k >/dev/null

# ---- conversion: to every format and back, and through all of them
before=one.kbv
for suffix in txt yml dbow3 fbow bin; do
    run "$KEYBITS" vocab convert one.kbv -o "v.$suffix"
    run "$KEYBITS" vocab convert "$before" -o "chain.$suffix"
    case $suffix in txt | yml | dbow3) same "v.$suffix" "chain.$suffix" ;; esac # FBoW has a name, and L2
    run "$KEYBITS" vocab convert "v.$suffix" -m bad256 -o "back-$suffix.kbv"
    before=chain.$suffix
done
for suffix in txt yml dbow3 bin; do same one.kbv "back-$suffix.kbv"; done # FBoW says L2 of its own
run "$KEYBITS" vocab convert one.kbv -f orbslam -o named --json >told.json
for words in '"file": "named"' '"format": "orbslam"' '"from": "keybits"' '"words"'; do holds told.json "$words"; done
same named v.txt

# The readers of the consumers, written again: from each file the same nodes.
cat >read.py <<'PY'
import re, struct, sys

def orbslam(path):  # as ORB-SLAM reads: a line is taken until the stream ends, so the end must not be a line break
    text = open(path, newline="").read()
    assert not text.endswith("\n")
    lines = text.split("\n")
    k, levels, scoring, weighting = map(int, lines[0].split())
    nodes = {}
    for i, line in enumerate(lines[1:], 1):
        t = line.split()
        assert len(t) == 35
        nodes[i] = (int(t[0]), bytes(map(int, t[2:34])), float(t[34]), t[1] == "1")
    return k, levels, nodes

def yaml(path):
    text = open(path).read()
    assert text.startswith("%YAML:1.0\n---\nvocabulary:\n")
    k, levels = int(re.search(r"\bk: (\d+)", text)[1]), int(re.search(r"\bL: (\d+)", text)[1])
    words = set(int(w) for w in re.findall(r"\{ wordId:\d+, nodeId:(\d+) \}", text))
    nodes = {}
    for i, p, w, d in re.findall(r'nodeId:(\d+), parentId:(\d+), weight:(\S+),\s+descriptor:"([^"]*)"', text):
        nodes[int(i)] = (int(p), bytes(map(int, d.split())), float(w), int(i) in words)
    return k, levels, nodes

def dbow3(path):
    data = open(path, "rb").read()
    mark, packed, count = struct.unpack_from("<QBI", data)
    assert mark == 88877711233 and packed == 0
    k, levels, scoring, weighting = struct.unpack_from("<4i", data, 13)
    at, nodes = 29, {}
    for _ in range(count - 1):
        i, p, w, columns, rows, kind = struct.unpack_from("<IIdiii", data, at)
        assert (columns, rows, kind) == (32, 1, 0)
        nodes[i] = (p, data[at + 28:at + 60], w)
        at += 60
    n, = struct.unpack_from("<I", data, at)
    words = dict(struct.unpack_from("<II", data, at + 4 + 8 * j)[::-1] for j in range(n))
    assert at + 4 + 8 * n == len(data) and sorted(words.values()) == list(range(n))
    return k, levels, {i: v + (i in words,) for i, v in nodes.items()}

def vins(path):
    data = open(path, "rb").read()
    k, levels, scoring, weighting, count, n = struct.unpack_from("<6i", data)
    assert len(data) == 24 + 48 * count + 8 * n
    nodes = {}
    for j in range(count):
        i, p, w = struct.unpack_from("<iid", data, 24 + 48 * j)
        nodes[i] = (p, data[40 + 48 * j:72 + 48 * j], w)
    words = set(struct.unpack_from("<ii", data, 24 + 48 * count + 8 * j)[0] for j in range(n))
    return k, levels, {i: v + (i in words,) for i, v in nodes.items()}

def fbow(path):  # the words by descending through the blocks
    data = open(path, "rb").read()
    mark, = struct.unpack_from("<Q", data)
    assert mark == 55824124
    align, blocks = struct.unpack_from("<II", data, 8 + 52)
    row, block, first, child, total = struct.unpack_from("<5Q", data, 8 + 64)
    kind, size, k = struct.unpack_from("<iiI", data, 8 + 104)
    assert (kind, size) == (0, 32) and total == block * blocks and len(data) == 128 + total
    leaves = {}
    def walk(b):
        at = 128 + b * block
        n, leaf = struct.unpack_from("<HH", data, at)
        for i in range(n):
            c, w = struct.unpack_from("<If", data, at + child + 8 * i)
            if c >> 31: leaves[c & 0x7fffffff] = (data[at + first + row * i:][:32], w)
            else: walk(c)
    walk(0)
    return k, leaves

k, levels, nodes = orbslam("v.txt")
assert all(0 <= v[0] < i for i, v in nodes.items()) and 50 < sum(v[3] for v in nodes.values()) <= 100
for reader, path in ((yaml, "v.yml"), (dbow3, "v.dbow3"), (vins, "v.bin")):
    assert reader(path) == (k, levels, nodes), path
leaves = [(v[1], v[2]) for i, v in sorted(nodes.items()) if v[3]]
fk, words = fbow("v.fbow")
assert fk <= k and [w for _, w in sorted(words.items())] == [(d, struct.unpack("f", struct.pack("f", w))[0]) for d, w in leaves]
PY
python3 read.py || fail "an independent reader sees another vocabulary"
# OpenCV's own reader, where it is.
if python3 -c 'import cv2' 2>/dev/null; then
    python3 - <<'PY' || fail "OpenCV reads another YAML"
import cv2
v = cv2.FileStorage("v.yml", cv2.FILE_STORAGE_READ).getNode("vocabulary")
nodes = v.getNode("nodes")
lines = open("v.txt").read().split("\n")
assert nodes.size() == len(lines) - 1
for i in range(nodes.size()):
    n, t = nodes.at(i), lines[i + 1].split()
    assert int(n.getNode("nodeId").real()) == i + 1 and int(n.getNode("parentId").real()) == int(t[0])
    assert n.getNode("descriptor").string().split() == t[2:34] and n.getNode("weight").real() == float(t[34])
PY
fi

# ---- wrong input
refuse 2 "-o with" "$KEYBITS" vocab train 1.pgm
"$KEYBITS" vocab train missing.pgm -o x.kbv 2>.err && fail "a vocabulary of nothing"
says "missing.pgm"
says "no descriptors to learn from"
refuse 1 "at least two images" "$KEYBITS" vocab train 1.pgm -o x.kbv
refuse 1 "binary descriptors" "$KEYBITS" vocab train 1.pgm -m sift -o x.kbv
run "$KEYBITS" describe 1.pgm -m bad512 -o long.npy
refuse 1 "rows of 32 bytes are expected" "$KEYBITS" vocab train long.npy -m bad256 -o x.kbv
refuse 1 "no such vocabulary or file: bag256-1kk; built-in vocabularies: bad256-1k, bag256-1k" "$KEYBITS" vocab show bag256-1kk
refuse 1 "not a vocabulary" "$KEYBITS" vocab show 1.npy
refuse 1 "no-such" "$KEYBITS" vocab show no-such
refuse 2 "does not say which format" "$KEYBITS" vocab convert one.kbv -o x.what
refuse 1 "32 bytes" "$KEYBITS" vocab convert one.kbv -m bad512 -o x.kbv
head -c 3000 one.kbv >cut.kbv
refuse 1 "ends after 3000" "$KEYBITS" vocab show cut.kbv
[ ! -e x.kbv ] || fail "a file in spite of failure"
no_leftovers
