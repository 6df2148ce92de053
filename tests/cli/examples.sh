# SPDX-License-Identifier: Apache-2.0
# The programs of examples/, as they were built: each runs on pictures of its own and on files, and says what it should.
source "$(dirname "$0")/scene.inc"
source "$(dirname "$0")/common.inc"
examples=${KEYBITS_BUILD:-}/examples
[ -x "$examples/match" ] || { echo "skipped: this build has no examples"; exit 77; }

# a text PGM as the binary one that the examples read
binary() { LC_ALL=C awk 'FNR == 1 { print "P5"; next } FNR < 4 { print; next } { printf "%c", $1 < 1 ? 1 : $1 }' "$1" >"$2"; }

run "$examples/describe" >rows.txt
[ "$(wc -l <rows.txt)" -gt 100 ] || fail "describe: $(wc -l <rows.txt) lines"
says "256 bits each"
leaves a.txt 260 200 7
leaves b.txt 260 200 7 "0.97 -0.10 14 0.08 0.95 -6 0 0 1"
binary a.txt a.pgm
binary b.txt b.pgm
run "$examples/describe" a.pgm >file.txt
differ rows.txt file.txt

run "$examples/match" >match.txt
[ "$(awk '/^inliers/ { print int($2) }' match.txt)" -gt 100 ] || fail "match: $(cat match.txt)"
run "$examples/match" a.pgm b.pgm >match.txt
[ "$(awk '/^inliers/ { print int($2) }' match.txt)" -gt 30 ] || fail "match: $(cat match.txt)"

run "$examples/track" >track.txt
[ "$(grep -c inliers track.txt)" = 5 ] || fail "track: $(cat track.txt)"
holds track.txt "frame 3: lost"
holds track.txt "frame 0:"

run "$examples/load_model" >model.txt
lines model.txt 2
[ "$(sort -u model.txt | wc -l)" = 1 ] || fail "a model changed on its way through memory: $(cat model.txt)"
bad_table t.txt 64
run "$KEYBITS" model import t.txt -o m.kbm
run "$examples/load_model" m.kbm copy.kbm >model.txt
holds model.txt "64 bits"
same m.kbm copy.kbm
printf 'junk' >junk.kbm
refuse 1 "junk.kbm" "$examples/load_model" junk.kbm

if [ -x "$examples/parallel" ]; then
    run "$examples/parallel" >parallel.txt
    holds parallel.txt "rows the same"
fi
refuse 1 "not a binary PGM" "$examples/match" a.txt b.txt
