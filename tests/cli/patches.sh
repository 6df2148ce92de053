#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# keybits patches: sets from photographs and from the Brown format, looking into them, wrong input.
. "$(dirname "$0")/common.inc"
"$KEYBITS" patches --help >/dev/null 2>&1 || { echo "this build has no patches"; exit 77; }

mkdir photos
for i in 1 2 3; do render "photos/$i.pgm" 360 280 "$i"; done

# ---- synth: the same file on any number of threads, another one with another seed
run "$KEYBITS" patches synth photos -o one.kbp --views 3 --max-per-image 60 --threads 1
says "points from 3 images; 0 images could not be read, 0 gave no points"
run "$KEYBITS" patches synth photos -o two.kbp --views 3 --max-per-image 60 --threads 3 --quiet
[ ! -s .err ] || fail "words in spite of --quiet"
same one.kbp two.kbp
run "$KEYBITS" patches synth photos -o other.kbp --views 3 --max-per-image 60 --seed 2
differ one.kbp other.kbp

# ---- several supports: as many sets, of the same points; the first is the set that one support gives
run "$KEYBITS" patches synth photos -o 'set-{}.kbp' --support 1,1.5 --views 3 --max-per-image 60 --json >made.json
run "$KEYBITS" patches info --json set-1.kbp set-1.5.kbp >info.json
same made.json info.json
same one.kbp set-1.kbp
run "$KEYBITS" patches info one.kbp set-1.5.kbp >info.txt
lines info.txt 2
holds info.txt "side 32, support 1, "
holds info.txt "side 32, support 1.5, "
[ "$(sed 's/.*support [0-9.]*, //' info.txt | sort -u | wc -l)" = 1 ] || fail "supports have different points: $(cat info.txt)"
run "$KEYBITS" patches info --json one.kbp >info.json
python3 -c 'import json; s = json.load(open("info.json"))[0]
assert s["side"] == 32 and s["support"] == 1 and s["singletons"] == 0 and s["points"] > 30 and s["views"] == 9 and s["most"] <= 3, s
assert s["patches"] >= 2 * s["points"], s' || fail "info --json"

# ---- octaves: the same points, records of 4 x 16 x 16
run "$KEYBITS" patches synth photos -o 'octaves-{}.kbp' --support 3,4 --octaves --views 3 --max-per-image 60
run "$KEYBITS" patches synth photos -o octaves1.kbp --support 4 --octaves --views 3 --max-per-image 60 --threads 1
same octaves-4.kbp octaves1.kbp
differ octaves-3.kbp octaves-4.kbp
run "$KEYBITS" patches info one.kbp octaves-4.kbp >info.txt
holds info.txt "side 16 in four octaves, support 4, "
[ "$(sed 's/.*support [0-9.]*, //' info.txt | sort -u | wc -l)" = 1 ] || fail "octaves have different points: $(cat info.txt)"
run "$KEYBITS" patches info --json octaves-4.kbp >info.json
python3 - <<'PY' || fail "a set of octaves is not as it should be"
import json, struct, zlib
s = json.load(open("info.json"))[0]
assert s["side"] == 16 and s["support"] == 4, s
b, p = open("octaves-4.kbp", "rb").read(), open("one.kbp", "rb").read()
n, size = s["patches"], 12 + 4 * 256
assert struct.unpack("<IIQf", b[8:28]) == (1, 16, n, 4.0) and len(b) == 48 + n * size == len(p)
for i in range(n):
    r, q = b[48 + i * size:48 + (i + 1) * size], p[48 + i * size:48 + (i + 1) * size]
    assert struct.unpack("<I", r[:4])[0] == zlib.crc32(r[4:]) and r[4:12] == q[4:12]
PY
run "$KEYBITS" patches show octaves-4.kbp -o octaves.png --points 20 --columns 2
head -c 9000 octaves-4.kbp >cut.kbp
refuse 1 "truncated" "$KEYBITS" patches info cut.kbp

# ---- one unreadable image among others is skipped and counted
cp photos/1.pgm mixed.pgm && head -c 5000 photos/2.pgm >cut.pgm
run "$KEYBITS" patches synth mixed.pgm cut.pgm -o mixed.kbp --views 3
says "skipped: cut.pgm"
says "1 images could not be read"

# ---- show: a strip of six patches a point, octaves a little wider apart
run "$KEYBITS" patches show one.kbp -o sheet.png --points 20 --columns 2 --json >sheet.json
holds sheet.json '"picture": "sheet.png"'
[ "$(head -c 8 sheet.png | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ] || fail "no PNG"
width() { od -An -tu1 -j18 -N2 "$1" | awk '{ print 256 * $1 + $2 }'; }
[ "$(width octaves.png)" -gt "$(width sheet.png)" ] || fail "a sheet of octaves is $(width octaves.png) px wide"

# ---- Brown: two sheets of flat patches
python3 - <<'PY' || fail "writing sheets"
import os, struct
os.mkdir("brown")
def sheet(path, first):
    rows = bytearray()
    for y in range(1023, -1, -1):  # bottom up
        for x in range(1024): rows.append((first + (y // 64) * 16 + x // 64) % 251)
    palette = b"".join(bytes((i, i, i, 0)) for i in range(256))
    head = b"BM" + struct.pack("<IHHI", 14 + 40 + 1024 + len(rows), 0, 0, 14 + 40 + 1024)
    head += struct.pack("<IiiHHIIiiII", 40, 1024, 1024, 1, 8, 0, len(rows), 2835, 2835, 256, 0)
    open(path, "wb").write(head + palette + bytes(rows))
sheet("brown/patches0000.bmp", 0)
sheet("brown/patches0001.bmp", 256)
open("brown/info.txt", "w").write("".join("%d 0\n" % (i // 2) for i in range(400)))
PY
run "$KEYBITS" patches brown brown -o brown.kbp --json >made.json
run "$KEYBITS" patches info --json brown.kbp >info.json
same made.json info.json
run "$KEYBITS" patches info brown.kbp >info.txt
holds info.txt "400 patches of side 64, support 0, 200 points (0 with one patch only, up to 2 patches)"
run "$KEYBITS" patches brown brown -o brown32.kbp --side 32
# the file as its specification says: record 300 shows flat patch 300, label 150
python3 - <<'PY' || fail "the file is not as docs/patches.md says"
import struct, zlib
for name, side in (("brown.kbp", 64), ("brown32.kbp", 32)):
    b = open(name, "rb").read()
    size = 12 + side * side
    assert b[:8] == b"\x8bKBP\r\n\x1a\n" and struct.unpack("<IIQf", b[8:28]) == (1, side, 400, 0.0) and b[28:44] == bytes(16)
    assert struct.unpack("<I", b[44:48])[0] == zlib.crc32(b[:44]) and len(b) == 48 + 400 * size
    r = b[48 + 300 * size:48 + 301 * size]
    assert struct.unpack("<III", r[:12]) == (zlib.crc32(r[4:]), 150, 300) and set(r[12:]) == {300 % 251}
PY

# ---- wrong input
refuse 2 "needs -o" "$KEYBITS" patches synth photos
refuse 2 "name photographs" "$KEYBITS" patches synth -o x.kbp
refuse 2 "{}" "$KEYBITS" patches synth photos -o x.kbp --support 1,2
refuse 2 "--support takes" "$KEYBITS" patches synth photos -o x.kbp --support 1,abc
refuse 2 "--views takes" "$KEYBITS" patches synth photos -o x.kbp --views 1
refuse 2 "--detectors is one of" "$KEYBITS" patches synth photos -o x.kbp --detectors surf
refuse 2 "has no subcommand" "$KEYBITS" patches what
refuse 2 "octaves" "$KEYBITS" patches brown brown -o x.kbp --octaves
refuse 1 "nowhere" "$KEYBITS" patches synth photos -o nowhere/x.kbp
refuse 1 "plain file" "$KEYBITS" patches synth photos -o - --views 2
refuse 1 "no sparse model" "$KEYBITS" patches colmap photos photos -o x.kbp
refuse 2 "takes the folder" "$KEYBITS" patches colmap photos -o x.kbp
refuse 1 "info.txt" "$KEYBITS" patches brown photos -o x.kbp
refuse 1 "not a patch set" "$KEYBITS" patches info photos/1.pgm
head -c 9000 one.kbp >cut.kbp
refuse 1 "truncated" "$KEYBITS" patches info cut.kbp
refuse 2 "the picture sheet.jpg must end in .png" "$KEYBITS" patches show one.kbp -o sheet.jpg
refuse 1 "truncated" "$KEYBITS" patches show cut.kbp -o sheet2.png
python3 -c 'b = bytearray(open("one.kbp", "rb").read()); b[7000] ^= 1; open("bad.kbp", "wb").write(b)'
refuse 1 "is damaged" "$KEYBITS" patches info bad.kbp
printf 'P2 60 60 255\n' >flat.pgm && yes 90 | head -3600 >>flat.pgm
refuse 1 "no image gave a point" "$KEYBITS" patches synth flat.pgm -o x.kbp
[ ! -e x.kbp ] && [ ! -e sheet2.png ] || fail "something half-made is there"
no_leftovers
