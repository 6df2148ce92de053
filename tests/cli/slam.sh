# SPDX-License-Identifier: Apache-2.0
# The SLAM example: the path through a rendered room is known, and the same frames from files give the same path.
source "$(dirname "$0")/common.inc"
program=${KEYBITS_BUILD:-}/examples/slam_frontend
[ -x "$program" ] || { echo "skipped: this build has no examples"; exit 77; }
mkdir frames
run "$program" -o path.svg -w frames >rendered.txt
awk '/^poses of/ { enough = $3 >= 80 } /^error of the path/ { near = $5 < 1.5 } /^loop: frame [78]/ { loop = 1 }
     /lost/ { lost = 1 } END { exit !(enough && near && loop && !lost) }' rendered.txt || fail "$(cat rendered.txt)"
[ "$(grep -c '<polyline' path.svg)" = 2 ] || fail "path.svg has not two lines"
run "$program" -o own.svg -c 420,420,239.5,179.5 frames/*.pgm >files.txt
differ rendered.txt files.txt
diff <(grep -v "^error" rendered.txt) files.txt || fail "frames from files give another path"
[ "$(grep -c '<polyline' own.svg)" = 1 ] || fail "own.svg has not one line"
run "$program" -v "$KEYBITS_SOURCE/models/bag256-1k.kbv" >vocabulary.txt
grep -q "^loop: frame [78]" vocabulary.txt || fail "no loop at the end: $(cat vocabulary.txt)"

# a stereo camera knows the scale; OpenCV's ORB in the same program
run "$program" -s 0.2 >stereo.txt
awk '/^poses of/ { enough = $3 == 90 } /^error of the path/ { near = $5 < 0.3 } END { exit !(enough && near) }' stereo.txt ||
    fail "$(cat stereo.txt)"
if "$program" -m orb -s 0.2 >orb.txt 2>/dev/null; then
    awk '/^error of the path/ { e[FILENAME] = $5 } END { exit !(e["stereo.txt"] <= e["orb.txt"]) }' stereo.txt orb.txt ||
        fail "ORB's path is nearer: $(cat stereo.txt orb.txt)"
fi
refuse 1 "bag512" "$program" -m bag512
refuse 2 "use:" "$program" -s 0
refuse 2 "use:" "$program" -x 1

# from the middle on, in another order of time: the path is found as well; without texture there is none
run "$program" -c 420,420,239.5,179.5 $(printf '%s\n' frames/0[3-6]*.pgm | sort -r) >back.txt
awk '/^poses of/ { ok = $3 >= 30 } END { exit !ok }' back.txt || fail "$(cat back.txt)"
{ echo "P5 64 64 255"; head -c 4096 /dev/zero; } >flat.pgm
if "$program" -c 50,50,32,32 flat.pgm flat.pgm >flat.txt; then fail "a path from nothing"; fi
holds flat.txt "poses of 0 of 2 frames"
refuse 2 "use:" "$program" frames/000.pgm
refuse 2 "use:" "$program" -c 1,2 frames/000.pgm
refuse 1 "junk" "$program" -v junk.kbv
