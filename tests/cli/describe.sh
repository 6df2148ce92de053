# SPDX-License-Identifier: Apache-2.0
# keybits describe: rows for keypoints, in every form of input and output.
source "$(dirname "$0")/common.inc"
render a.pgm 160 120 1
render b.pgm 140 150 2
render a16.pgm 160 120 1 65535
bad_table t.txt 256
run "$KEYBITS" model import t.txt --sampler patch -o m.kbm
keypoints k.csv 60 160 120

# hexadecimal on standard output, one row per keypoint; words on standard error
run "$KEYBITS" describe a.pgm -m m.kbm -k k.csv >out.hex
lines out.hex 60
[ "$(head -1 out.hex | tr -d '\n' | wc -c)" = 64 ] || fail "a row of 256 bits has 64 digits"
[ "$(sort -u out.hex | wc -l)" -gt 50 ] || fail "rows hardly differ"
says "160 x 120 px, 60 keypoints"
says "px wide"
run "$KEYBITS" describe a.pgm -m m.kbm -k k.csv --quiet >again.hex
same out.hex again.hex
[ ! -s .err ] || fail "--quiet speaks: $(cat .err)"

# the same rows in every format, with any number of threads, without instruction sets, from 16 bits
for suffix in hex npy csv; do run "$KEYBITS" describe a.pgm -m m.kbm -k k.csv -o "out.$suffix"; done
same out.hex again.hex
tail -c $((60 * 32)) out.npy | od -An -v -tx1 -w32 | tr -d ' ' >from_npy.hex
same out.hex from_npy.hex
awk -F, '{ for (i = 1; i <= NF; i++) printf "%02x", $i; print "" }' out.csv >from_csv.hex
same out.hex from_csv.hex
head -c 128 out.npy | grep -aqF "'shape': (60, 32), }" || fail "the shape in out.npy"
for threads in 1 3 8; do
    run "$KEYBITS" describe a.pgm -m m.kbm -k k.csv --threads $threads -o threads.hex
    same out.hex threads.hex
done
run "$KEYBITS" describe a.pgm -m m.kbm -k k.csv --cpu c -o plain.hex
same out.hex plain.hex
KEYBITS_CPU=c run "$KEYBITS" describe a.pgm -m m.kbm -k k.csv -o plain.hex
same out.hex plain.hex
run "$KEYBITS" describe a16.pgm -m m.kbm -k k.csv -o deep.hex
same out.hex deep.hex
run "$KEYBITS" describe a16.pgm -m m.kbm -k k.csv --white 20000 -o bright.hex
differ out.hex bright.hex

# scale, preset and orientation
run "$KEYBITS" describe a.pgm -m m.kbm -k k.csv --preset sift -o preset.hex
run "$KEYBITS" describe a.pgm -m m.kbm -k k.csv --scale 6.75 -o scale.hex
same preset.hex scale.hex
differ preset.hex out.hex
awk -F, -v OFS=, 'NR > 1 { $4 = -1 } { print }' k.csv >upright.csv
run "$KEYBITS" describe a.pgm -m m.kbm -k upright.csv -o upright.hex
run "$KEYBITS" describe a.pgm -m m.kbm -k k.csv --orientation none -o none.hex
same upright.hex none.hex
differ upright.hex out.hex
run "$KEYBITS" describe a.pgm -m m.kbm -k k.csv --orientation centroid -o computed.hex
differ computed.hex out.hex
differ computed.hex none.hex

# columns in another order; odd keypoints keep their rows and are counted; small ones are warned about
awk -F, -v OFS=, '{ print "q" $6, $3, $2, $1, $4 }' k.csv | sed '1s/.*/extra,size,y,x,angle/' >order.csv
run "$KEYBITS" describe a.pgm -m m.kbm -k order.csv -o order.hex
same out.hex order.hex
printf 'x,y,size\n50,50,31\n0,0,31\nnan,5,31\n500,5,31\n50,50,-1\n60,60,4\n' >odd.csv
run "$KEYBITS" describe a.pgm -m m.kbm -k odd.csv -o odd.hex
lines odd.hex 6
says "1 at the border, 1 outside, 2 invalid"
says "1 of 6 patches are narrower than 8 px"
# BAG has a wider region: limits are those of its middle quarter
run "$KEYBITS" describe a.pgm -m bag256 -k odd.csv -o odd.hex
says "1 of 6 patches are narrower than 32 px"
run "$KEYBITS" describe a.pgm -m bag256 --detector orb -o orb.hex
! grep -q warning .err || fail "a warning about patches that fit: $(cat .err)"
run "$KEYBITS" describe a.pgm -m bag256 --detector orb --preset sift -o orb.hex
says "px, which is twice the image"
printf 'x,y,size\n' >none.csv
run "$KEYBITS" describe a.pgm -m m.kbm -k none.csv -o none.npy
head -c 128 none.npy | grep -aqF "'shape': (0, 32), }" || fail "the shape without keypoints"

# many images: folders, lists, patterns, keypoints by name
mkdir pics csv
cp a.pgm b.pgm pics
cp k.csv csv/a.csv
cp k.csv csv/b.csv
run "$KEYBITS" describe pics -m m.kbm --keypoints-dir csv -o out/
run "$KEYBITS" describe pics -m m.kbm --keypoints-dir csv -o 'p-{}.hex'
run "$KEYBITS" describe pics -m m.kbm --keypoints-dir csv -o out --format hex
same out.npy out/a.npy
same out.hex p-a.hex
same out.hex out/a.hex
differ p-a.hex p-b.hex
says "120 keypoints of 2 images"
printf '# pictures\npics/b.pgm\n\na.pgm\n' >list.txt
run "$KEYBITS" describe @list.txt -m m.kbm --keypoints-dir csv >listed.hex
cat p-b.hex p-a.hex | cmp -s - listed.hex || fail "a list gives its images in order"
run "$KEYBITS" describe @- -m m.kbm --keypoints-dir csv <list.txt >piped.hex
same listed.hex piped.hex

# one bad image does not cost the others
echo "not an image" >pics/aa.png
"$KEYBITS" describe pics -m m.kbm --detector orb -o 'q-{}.npy' 2>.err
[ $? = 1 ] || fail "a bad image among good ones is exit code 1"
says "pics/aa.png"
says "1 failed"
[ -s q-a.npy ] && [ -s q-b.npy ] && [ ! -e q-aa.npy ] || fail "good images beside a bad one"

# the same deviations as detect writes
run "$KEYBITS" detect a.pgm b.pgm -n 200 -o 'd-{}.csv' --deviations 'detected-{}.npy'
run "$KEYBITS" describe a.pgm b.pgm -m m.kbm -n 200 -o 'd-{}.hex' --deviations 'sigma-{}.npy' --json >deviations.json
for image in a b; do same detected-$image.npy sigma-$image.npy; done
differ sigma-a.npy sigma-b.npy
holds deviations.json sigma-b.npy
refuse 2 "must end in .npy" "$KEYBITS" describe a.pgm -m m.kbm -o d.hex --deviations d.txt
refuse 2 "keypoints that are detected" "$KEYBITS" describe a.pgm -k k.csv -m m.kbm -o d.hex --deviations d.npy
refuse 1 "d.npy would be written twice" "$KEYBITS" describe a.pgm -m m.kbm -o d.npy --deviations d.npy

# finding keypoints
for detector in orb sift; do
    run "$KEYBITS" describe a.pgm -m m.kbm --detector $detector -n 25 -o found.hex
    found=$(wc -l <found.hex)
    [ "$found" -ge 1 ] && [ "$found" -le 25 ] || fail "$detector found $found keypoints where 25 were asked for"
done

# SIFT as bytes and as floats
run "$KEYBITS" describe a.pgm -m sift -k k.csv -o sift.csv
run "$KEYBITS" describe a.pgm -m sift -k k.csv --float -o sift_float.csv
lines sift_float.csv 60
awk -F, '{ s = 0; for (i = 1; i <= NF; i++) s += $i * $i; if (NF != 128 || s < 0.999 || s > 1.001) exit 1 }' sift_float.csv ||
    fail "float rows of unit length"
differ sift.csv sift_float.csv

# ready patches: a mosaic, the same one patch at a time, the same as an array
render mosaic.pgm 96 64 3
run "$KEYBITS" describe --patches mosaic.pgm --side 32 -m m.kbm -o mosaic.hex
lines mosaic.hex 6
says "6 patches of 32 x 32 px"
awk 'NR <= 3 { next } { v[NR - 4] = $1 } END {
    for (p = 0; p < 6; p++) for (y = 0; y < 32; y++) for (x = 0; x < 32; x++) print v[(int(p / 3) * 32 + y) * 96 + p % 3 * 32 + x]
}' mosaic.pgm >pixels
{ printf 'P2 32 192 255\n'; cat pixels; } >column.pgm
run "$KEYBITS" describe --patches column.pgm -m m.kbm -o column.hex
same mosaic.hex column.hex
{ printf "\223NUMPY\001\000\166\000%-117s\n" "{'descr': '|u1', 'fortran_order': False, 'shape': (6, 32, 32), }"
  awk '{ printf "\\%03o", $1 }' pixels | xargs -0 printf; } >patches.npy
run "$KEYBITS" describe --patches patches.npy -m m.kbm -o array.hex
same mosaic.hex array.hex
render mosaic65.pgm 65 130 4
run "$KEYBITS" describe --patches mosaic65.pgm -m m.kbm -o 65.hex
lines 65.hex 2

# the summary as JSON
run "$KEYBITS" describe a.pgm b.pgm -m m.kbm --keypoints-dir csv -o out/ --json >summary.json
holds summary.json '"image": "a.pgm"'
holds summary.json '"keypoints": 60'
holds summary.json '"failed": 0'
if command -v python3 >/dev/null; then python3 -m json.tool summary.json >/dev/null || fail "the summary is not JSON"; fi
no_leftovers
