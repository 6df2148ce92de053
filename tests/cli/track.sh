# SPDX-License-Identifier: Apache-2.0
# keybits track: a template in a folder of frames and in Y4M streams, lost and found, pictures, energy, damaged input.
source "$(dirname "$0")/scene.inc"
source "$(dirname "$0")/common.inc"
bad_table t.txt 256
run "$KEYBITS" model import t.txt --sampler patch -o m.kbm
leaves poster.pgm 200 160 3
mkdir frames
# four frames with the template, shifted and turned, and one without
leaves frames/f0.pgm 200 160 3 "1 0 -40 0 1 -30 0 0 1" 320 240
leaves frames/f1.pgm 200 160 3 "0.98 0.12 -60 -0.1 1.0 -20 0 0 1" 320 240
leaves frames/f2.pgm 320 240 55
leaves frames/f3.pgm 200 160 3 "1.1 0 -50 0 1.1 -40 0.0002 0 1" 320 240

track() { run "$KEYBITS" track poster.pgm "$@" -m m.kbm; }

track frames >rows.csv
lines rows.csv 5
holds rows.csv "frame,found,inliers,matches,x1,y1,x2,y2,x3,y3,x4,y4,ms"
[ "$(awk -F, 'NR > 1 { printf "%d", $2 }' rows.csv)" = 1101 ] || fail "found: $(cut -d, -f1,2 rows.csv | tr '\n' ' ')"
says "frames 4: template found in 3, lost in 1, not readable 0"
says "frames per second"
says "processor time"
says "energy: "
# the first frame shows the template at (40, 30)
awk -F, 'NR == 2 { split("40 30 239 30 239 189 40 189", t, " ")
    for (i = 1; i <= 8; i++) if (($(4 + i) - t[i]) ^ 2 > 1) { print "corner number " i " is " $(4 + i); exit 1 } }' rows.csv || fail "corners"
awk -F, 'NR == 4 && $5 $12 != "" { exit 1 }' rows.csv || fail "corners of a lost template"

# the same rows from a stream of every kind of chroma, through a file and a pipe
cut -d, -f1-12 rows.csv >expected.csv
for chroma in 420jpeg 420mpeg2 420paldv 422 444 mono; do
    y4m clip.y4m $chroma frames/f0.pgm frames/f1.pgm frames/f2.pgm frames/f3.pgm
    track clip.y4m >stream.csv
    cut -d, -f1-12 stream.csv >got.csv
    awk -F, 'NR == FNR { found[FNR] = $2; next } $2 != found[FNR] { exit 1 }' expected.csv got.csv || fail "rows of $chroma"
    track - <clip.y4m >stdin.csv
    cut -d, -f1-12 stdin.csv >got2.csv
    same got.csv got2.csv
done

# JSON: one object a line, the summary last
track frames --json --quiet >rows.json
lines rows.json 5
[ "$(grep -c '"corners": \[\[' rows.json)" = 3 ] || fail "corners in JSON"
tail -1 rows.json | grep -q '^{"summary": {"frames": 4, "found": 3, .*"fps": .*"cpu_ms": .*"joules": ' || fail "summary in JSON"

# frames with the outline, as files and as a video that can be read again
track frames --draw out --y4m out.y4m -o rows2.csv --fps 12
[ "$(ls out | tr '\n' ' ')" = "frame_000000.png frame_000001.png frame_000002.png frame_000003.png " ] || fail "$(ls out)"
cut -d, -f1-12 rows2.csv | cmp -s - expected.csv || fail "rows differ when drawing"
head -1 out.y4m | grep -q "^YUV4MPEG2 W320 H240 F12:1 " || fail "header of the video"
[ "$(stat -c %s out.y4m)" = $(($(head -1 out.y4m | wc -c) + 4 * (6 + 320 * 240 * 3 / 2))) ] || fail "size of the video"
track out.y4m >again.csv
[ "$(awk -F, 'NR > 1 { printf "%d", $2 }' again.csv)" = 1101 ] || fail "the video does not show what was tracked"
track frames --y4m - --quiet >pipe.y4m
[ "$(stat -c %s pipe.y4m)" = "$(stat -c %s out.y4m)" ] || fail "the video on standard output"
track frames --min-places 100000 >strict.csv
[ "$(awk -F, 'NR > 1 { s += $2 } END { print s }' strict.csv)" = 0 ] || fail "--min-places"

# the pose: the first frame shows the template unturned, its centre at (139.5, 109.5) and 1:1, so at distance f
track frames --camera 300,300,159.5,119.5 --draw posed >pose.csv
holds pose.csv "y4,ms,rx,ry,rz,tx,ty,tz"
awk -F, 'NR == 2 { split("0 0 0 -20 -10 300", t, " "); split("0.02 0.02 0.01 1 1 3", e, " ")
    for (i = 1; i <= 6; i++) if (($(13 + i) - t[i]) ^ 2 > e[i] ^ 2) { print "pose number " i " is " $(13 + i); exit 1 } }' pose.csv ||
    fail "the pose: $(sed -n 2p pose.csv)"
awk -F, 'NR == 4 && ($14 $19 != "" || NF != 19) { exit 1 }' pose.csv || fail "the pose of a lost template"
! cmp -s posed/frame_000000.png out/frame_000000.png || fail "no cube"
track frames --camera 300,300,159.5,119.5 --template-width 0.2 --json >pose.json
sed -n 1p pose.json | awk -F'"translation": ' '{ split($2, t, /[][, ]+/); if ((t[4] - 0.3) ^ 2 > 0.000025) exit 1 }' ||
    fail "metres: $(sed -n 1p pose.json)"
holds pose.json '"rotation": null'
refuse 2 "is no camera" "$KEYBITS" track poster.pgm frames -m m.kbm --camera 300,300
refuse 2 "must be positive" "$KEYBITS" track poster.pgm frames -m m.kbm --camera=-300,300,1,1
refuse 2 "needs --camera" "$KEYBITS" track poster.pgm frames -m m.kbm --template-width 1

# --max-size: template and frames are shrunk; corners, pose, threshold and camera stay in pixels of the files
leaves large_poster.pgm 600 480 3
mkdir large
leaves large/f0.pgm 600 480 3 "1 0 -120 0 1 -90 0 0 1" 960 720
shrunk() { run "$KEYBITS" track large_poster.pgm large -m m.kbm --max-size 320 --threshold 6 "$@"; }
shrunk --camera 900,900,479.5,359.5 --draw small >shrunk.csv
awk -F, 'NR == 2 { split("120 90 719 90 719 569 120 569", t, " ")
    for (i = 1; i <= 8; i++) if (($(4 + i) - t[i]) ^ 2 > 4) { print "corner number " i " is " $(4 + i); exit 1 }
    split("0 0 0 -60 -30 900", p, " "); split("0.02 0.02 0.01 3 3 9", e, " ")
    for (i = 1; i <= 6; i++) if (($(13 + i) - p[i]) ^ 2 > e[i] ^ 2) { print "pose number " i " is " $(13 + i); exit 1 } }
    END { exit NR != 2 }' shrunk.csv || fail "--max-size: $(sed -n 2p shrunk.csv)"
shrunk --camera 900,900,479.5,359.5 --template-width 0.6 --json >metres.json
sed -n 1p metres.json | awk -F'"translation": ' '{ split($2, t, /[][, ]+/); if ((t[4] - 0.9) ^ 2 > 0.0001) exit 1 }' ||
    fail "--max-size, metres: $(sed -n 1p metres.json)"
y4m large.y4m 420jpeg large/f0.pgm
run "$KEYBITS" track large_poster.pgm large.y4m -m m.kbm --max-size 320 >stream.csv
awk -F, 'NR == 2 && !(($5 - 120) ^ 2 < 4 && ($9 - 719) ^ 2 < 4) { exit 1 }' stream.csv || fail "a stream: $(sed -n 2p stream.csv)"

# a frame that cannot be read is told and counted; the others are tracked
printf 'P5\n320 240\n255\nshort' >frames/f1b.pgm
track frames >damaged.csv
lines damaged.csv 6
says "f1b.pgm"
says "not readable 1"
[ "$(awk -F, 'NR > 1 { printf "%d", $2 }' damaged.csv)" = 11001 ] || fail "frames after a damaged one"
rm frames/f1b.pgm
y4m clip.y4m 420jpeg frames/f0.pgm frames/f1.pgm
head -c 150000 clip.y4m >cut.y4m
track cut.y4m >cut.csv
says "ends in the middle of frame 1"
lines cut.csv 3

# energy counters, as Linux shows them: two packages, memory, and parts that must not count twice
zone() { mkdir -p "sys/class/powercap/$1"; echo "$2" >"sys/class/powercap/$1/name"; echo "$3" >"sys/class/powercap/$1/energy_uj"; echo 1000 >"sys/class/powercap/$1/max_energy_range_uj"; }
zone intel-rapl:0 package-0 100
zone intel-rapl:0:0 core 100
zone intel-rapl:0:1 dram 100
zone intel-rapl-mmio:0 package-0 100
mkdir -p sys/class/powercap/intel-rapl
KEYBITS_SYSFS=$PWD/sys track frames --json --quiet >energy.json
holds energy.json '"joules": 0.000000, "energy": "powercap"'
rm -r sys/class/powercap
KEYBITS_SYSFS=$PWD/sys track frames --quiet --json >energy.json
holds energy.json '"joules": null, "energy": "not measurable here'
mkdir -p sys/class/power_supply/BAT0 sys/class/power_supply/AC
echo Mains >sys/class/power_supply/AC/type
for pair in type:Battery status:Discharging current_now:2000000 voltage_now:10000000; do
    echo "${pair#*:}" >"sys/class/power_supply/BAT0/${pair%:*}"
done
KEYBITS_SYSFS=$PWD/sys track frames >.out
says "20.00 W (battery, whole machine)"
echo Charging >sys/class/power_supply/BAT0/status
KEYBITS_SYSFS=$PWD/sys track frames >.out
says "not measurable here"

# wrong usage, wrong input
printf 'hello\n' >no.y4m
printf 'YUV4MPEG2 W320 F25:1\n' >no_height.y4m
printf 'YUV4MPEG2 W320 H0 F25:1\n' >zero.y4m
printf 'YUV4MPEG2 W32 H32 C999\n' >chroma.y4m
printf 'YUV4MPEG2 W32 H32\n' >none.y4m
printf 'YUV4MPEG2 W32 H32\nFRAMX\n' >junk.y4m
printf 'P2\n40 40\n255\n' >plain.pgm
awk 'BEGIN { for (i = 0; i < 1600; i++) print 9 }' >>plain.pgm
mkdir nothing
refuse 2 "name a template and frames" "$KEYBITS" track poster.pgm
refuse 2 "--min-places takes" "$KEYBITS" track poster.pgm frames --min-places 0
refuse 2 "both want standard output" "$KEYBITS" track poster.pgm frames --y4m - -o -
refuse 1 "nothing" "$KEYBITS" track poster.pgm nothing -m m.kbm
refuse 1 "not a Y4M stream" "$KEYBITS" track poster.pgm no.y4m -m m.kbm
refuse 1 "tells no height" "$KEYBITS" track poster.pgm no_height.y4m -m m.kbm
refuse 1 "side of 0" "$KEYBITS" track poster.pgm zero.y4m -m m.kbm
refuse 1 "chroma \"999\"" "$KEYBITS" track poster.pgm chroma.y4m -m m.kbm
refuse 1 "0 keypoints in the template" "$KEYBITS" track plain.pgm frames -m m.kbm
for broken in none.y4m junk.y4m; do
    "$KEYBITS" track poster.pgm $broken -m m.kbm >.out 2>.err
    [ $? = 1 ] || fail "$broken is no failure"
done
no_leftovers
