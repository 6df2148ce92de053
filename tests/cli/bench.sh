# SPDX-License-Identifier: Apache-2.0
# keybits bench: the rows, as a table, as JSON and as a page of plots; wrong usage.
source "$(dirname "$0")/page.inc"
source "$(dirname "$0")/common.inc"
render a.pgm 200 160 1
render b.pgm 200 160 1

run "$KEYBITS" bench a.pgm b.pgm --repeats 1 -n 100 --rows describe-bad256,match-256,pipeline >out.txt
holds out.txt "+- %"
! grep -q " 0\.000 " out.txt || fail "a spread of one repeat"
lines out.txt 7 # the machine, the run, an empty line, the heads, three rows
for words in "keybits $("$KEYBITS" --version | cut -d' ' -f2)" "instruction sets" "2 of 2 images" "describe-bad256"; do
    holds out.txt "$words"
done
run "$KEYBITS" bench a.pgm b.pgm --repeats 1 -n 100 --rows describe --no-peers >describe.txt
[ "$(grep -c '^describe-' describe.txt)" = 6 ] || fail "describe does not mean all that begin so"
! grep -q OpenCV\ ms describe.txt || fail "a column of peers without peers"
run "$KEYBITS" bench a.pgm b.pgm --repeats 1 -n 100 --json --quiet >out.json
for name in detect-hessian detect-orb detect-sift detect-upright detect-6mp describe-bad256 describe-bad512 describe-bag256 describe-bag512 describe-hashsift256 \
    describe-hashsift512 match-256 match-512 knn-3 filter refine fit-homography pipeline looks; do
    holds out.json "\"name\": \"$name\""
done
holds out.json '"benchmark": "bench"'
holds out.json '"processor"'
for field in ms peer peer_ms ratio step; do
    [ "$(grep -o "\"$field\":" out.json | wc -l)" = 19 ] || fail "not every row has $field"
done
run "$KEYBITS" bench a.pgm b.pgm --repeats 1 -n 100 --threads 2 --rows match-256 >threads.txt
holds threads.txt "x one thread"

run "$KEYBITS" bench a.pgm b.pgm --repeats 1 -n 50 --rows match-256 --no-peers --json >alone.json
holds alone.json '"peer": null'

# instructions, by the system or by callgrind, which cannot run a program with sanitizers
if command -v valgrind >/dev/null && ! grep -qE '__(a|t)san_init' "$KEYBITS"; then
    run "$KEYBITS" bench a.pgm b.pgm --repeats 1 -n 50 --rows pipeline --no-peers --instructions --json >count.json
    grep -qE '"instructions": [1-9]' count.json || fail "instructions were not counted"
fi
if grep -q '"instructions": null' alone.json; then
    refuse 1 "needs valgrind" env PATH=. "$KEYBITS" bench a.pgm b.pgm --repeats 1 -n 50 --instructions
fi

# a model of one's own in the place of a built-in one
bad_table t.txt 256
run "$KEYBITS" model import t.txt --sampler patch -o m.kbm
run "$KEYBITS" bench a.pgm b.pgm --repeats 1 -n 50 --rows describe-m --model m.kbm,bad512 --no-peers >own.txt
holds own.txt "describe-m "

# a limit of time leaves images out, but never all; without one all take part, the last of an odd number too
for i in $(seq 7); do cp a.pgm many$i.pgm; done
run "$KEYBITS" bench many*.pgm --repeats 50 -n 100 --seconds 0.000001 --rows detect-orb --no-peers >short.txt
holds short.txt "2 of 7 images, at most 100 keypoints per image, 1 repeats"
run "$KEYBITS" bench many*.pgm --repeats 1 -n 100 --seconds 0 --rows detect-orb --no-peers >all.txt
holds all.txt "7 of 7 images"

# energy: counters that are not there are no counters; the processor time is always there
mkdir -p sys/class/powercap
run env KEYBITS_SYSFS="$scratch/sys" "$KEYBITS" bench a.pgm b.pgm -m sift,bad256 -n 100 --rows detect-orb --no-peers \
    --repeats 1 --energy 0.1 --json >energy.json
[ "$(grep -c '"millijoules": null' energy.json)" = 2 ] || fail "energy from nowhere"
grep -qE '"cpu_ms": [0-9.]+' energy.json || fail "no processor time per frame"
run "$KEYBITS" bench a.pgm b.pgm -m bad256 -n 100 --rows detect-orb --no-peers --repeats 1 --energy 0.1 >energy.txt
holds energy.txt "frames/s"

# peers among the descriptors, where there are any; and a word where there are none
if [ -e "${KEYBITS_BUILD:-}/keybits-peers.so" ]; then
    run "$KEYBITS" bench a.pgm b.pgm -m bad256,cv:brisk -n 100 --rows describe --repeats 1 --energy 0.1 >peers.txt
    holds peers.txt "describe-cv:brisk"
    holds peers.txt "cv::ORB compute"
fi
run env KEYBITS_PEERS=nowhere.so "$KEYBITS" bench a.pgm b.pgm -n 50 --repeats 1 --rows match-256 >alone.txt
says "nothing to compare with: nowhere.so"

run "$KEYBITS" bench a.pgm b.pgm --repeats 1 -n 50 --rows detect-orb,match-256 --no-peers --growth --plots page.html \
    >growth.txt
for what in keypoints megapixels rows words images; do grep -q "^$what " growth.txt || fail "no growth with $what"; done
holds page.html "megapixels"
sound_page page.html

refuse 2 "takes images" "$KEYBITS" bench
refuse 1 "two images" "$KEYBITS" bench a.pgm
refuse 2 "no row is called" "$KEYBITS" bench a.pgm b.pgm --rows nothing
refuse 2 "1 to 1000" "$KEYBITS" bench a.pgm b.pgm --repeats 0
refuse 1 "nothing.kbm" "$KEYBITS" bench a.pgm b.pgm --model nothing.kbm
refuse 1 "a.pgm" "$KEYBITS" bench a.pgm b.pgm --plots a.pgm
refuse 1 "none.pgm" "$KEYBITS" bench a.pgm none.pgm
no_leftovers
