# SPDX-License-Identifier: Apache-2.0
# keybits model: tables in, tables out, what is in a model.
source "$(dirname "$0")/common.inc"
bad_table bad.txt 64
sed -i '1i # a comment\n' bad.txt
sed 's/$/ # why not/' bad.txt >commented.txt
awk 'BEGIN { srand(3); for (i = 0; i < 32; i++) {
    r = 1 + int(rand() * 8); q = 1 + int(rand() * 8)
    print 1 + int(rand() * 8), r + 2 * int(rand() * (9 - r)), r + 2 * int(rand() * (9 - r)), r, \
          1 + int(rand() * 8), q + 2 * int(rand() * (9 - q)), q + 2 * int(rand() * (9 - q)), q, rand() * 2 - 1
} }' >bag.txt
awk 'BEGIN { srand(4); for (i = 0; i < 16; i++) { for (j = 0; j < 129; j++) printf "%s%.6f", j ? " " : "", (rand() - 0.5) * (i + 1); print "" } }' >hash.txt

# every kind survives import, export, import
for kind in bad bag hash; do
    run "$KEYBITS" model import $kind.txt -o $kind.kbm
    run "$KEYBITS" model export $kind.kbm -o $kind.again.txt
    run "$KEYBITS" model import $kind.again.txt -o $kind.again.kbm
    same $kind.kbm $kind.again.kbm
    run "$KEYBITS" model export $kind.kbm >$kind.stdout.txt
    same $kind.again.txt $kind.stdout.txt
done
holds bag.again.txt "#: sampler octaves"
run "$KEYBITS" model import bag.txt --sampler octaves -o named.kbm --name bag
same bag.kbm named.kbm
# a built-in model, whose texts, supports and distances a table keeps
run "$KEYBITS" model export bag256 -o built.txt
run "$KEYBITS" model import built.txt -o built.kbm
run "$KEYBITS" model export built.kbm -o built.again.txt
same built.txt built.again.txt
same built.kbm "$KEYBITS_SOURCE/models/bag256.kbm"
run "$KEYBITS" model import commented.txt --name bad -o commented.kbm
same bad.kbm commented.kbm
run "$KEYBITS" model import - --name bad -o piped.kbm <bad.txt
same bad.kbm piped.kbm

# what show says
run "$KEYBITS" model show bad.kbm >show.txt
for words in "name      bad" "kind      bad" "bits      64" "sampler   image" "support   1" "channels  gray"; do holds show.txt "$words"; done
run "$KEYBITS" model show bag.kbm --json >show.json
for words in '"name": "bag"' '"kind": "bag"' '"bits": 32' '"sampler": "octaves"' '"support": 1' '"row_bytes": 4'; do holds show.json "$words"; done
run "$KEYBITS" model import bag.txt -o told.kbm --json >told.json
for words in '"file": "told.kbm"' '"kind": "bag"' '"bits": 32'; do holds told.json "$words"; done
run "$KEYBITS" model export bag.kbm -o told.txt --json >told.json
for words in '"file": "told.txt"' '"name": "bag"'; do holds told.json "$words"; done
refuse 2 "--json needs -o" "$KEYBITS" model export bag.kbm --json
run "$KEYBITS" model show hash.kbm --json >show.json
for words in '"kind": "hashsift"' '"bits": 16'; do holds show.json "$words"; done
run "$KEYBITS" model show sift >show.txt
holds show.txt "128 floats"

# sampler, support and name of the command line, which win over the table's own
run "$KEYBITS" model import bad.again.txt --sampler patch --support 1.3 --name other -o o.kbm
run "$KEYBITS" model show o.kbm --json >show.json
for words in '"name": "other"' '"sampler": "patch"' '"support": 1.3'; do holds show.json "$words"; done
id() { "$KEYBITS" model show "$1" --json | grep '"id"'; }
[ "$(id o.kbm)" != "$(id bad.kbm)" ] || fail "another sampler has another id"
refuse 1 "on the cells of a patch" "$KEYBITS" model import bad.again.txt --sampler cells -o x
seq 8 | awk '{ print 0, 2 * $1 + 1, 9, 1 + 2 * ($1 % 2), 0, 24, 24, 8, 7 - $1 }' >cells.txt
run "$KEYBITS" model import cells.txt --sampler cells -o cells.kbm
run "$KEYBITS" model export cells.kbm -o cells.again.txt
run "$KEYBITS" model import cells.again.txt -o cells.again.kbm
run "$KEYBITS" model show cells.again.kbm --json >show.json
holds show.json '"sampler": "cells"'
[ "$(id cells.kbm)" = "$(id cells.again.kbm)" ] || fail "a table keeps its sampler"
run "$KEYBITS" model show cells.kbm --svg cells.svg
holds cells.svg '<rect x="4" y="8" width="2" height="2"'
refuse 1 "radius 8 is not 0 to 7" "$KEYBITS" model import cells.txt --sampler patch -o x
run "$KEYBITS" model export o.kbm -o o.txt
run "$KEYBITS" model import o.txt -o o.again.kbm
same o.kbm o.again.kbm
run "$KEYBITS" model import hash.txt --root --name r -o r.kbm
[ "$(id r.kbm)" != "$(id hash.kbm)" ] || fail "RootSIFT has another id"
{ echo "#: text learned on"; echo "#: text rendered data"; echo "#: text "; cat bad.txt; } >text.txt
run "$KEYBITS" model import text.txt -o text.kbm
run "$KEYBITS" model show text.kbm >show.txt
holds show.txt "rendered data"
run "$KEYBITS" model export text.kbm -o text.again.txt
run "$KEYBITS" model import text.again.txt -o text.again.kbm
same text.kbm text.again.kbm

# only the sign of a HashSIFT row counts: a factor for each row changes nothing
awk '{ for (i = 1; i <= NF; i++) $i *= NR; print }' CONVFMT=%.12g OFMT=%.12g hash.txt >scaled.txt
run "$KEYBITS" model import scaled.txt --name hash -o scaled.kbm
[ "$(id scaled.kbm)" = "$(id hash.kbm)" ] || fail "a scaled HashSIFT row gives other weights"

# pictures: one patch a bit
run "$KEYBITS" model show bag.kbm --svg bag.svg >/dev/null
[ "$(grep -c '<title>bit' bag.svg)" = 32 ] || fail "32 bits in the picture"
for k in 0 1 2 3; do # a quarter of them on each octave
    [ "$(grep -c "<title>bit [0-9]*, octave $k: " bag.svg)" = 8 ] || fail "8 bits of octave $k in the picture"
    [ "$(grep -c ">octave $k: " bag.svg)" = 2 ] || fail "two captions of octave $k"
done
grep -q '</svg>' bag.svg || fail "the picture has an end"
if command -v python3 >/dev/null; then
    python3 -c 'import sys, xml.dom.minidom as d; d.parse(sys.argv[1])' bag.svg || fail "the picture is not XML"
fi

run "$KEYBITS" model list >list.txt
for name in bad256 bad512 bag128 bag256 bag512 hashsift256 hashsift512 sift rootsift; do holds list.txt $name; done
run "$KEYBITS" model list --json >list.json
holds list.json '"name": "rootsift"'

# wrong tables: the line and what is wrong
wrong() { printf "$1" >wrong.txt; refuse 1 "wrong.txt$2" "$KEYBITS" model import wrong.txt -o wrong.kbm; holds .err "$3"; [ ! -e wrong.kbm ] || fail "a model in spite of a wrong table"; }
row="10 10 20 20 3 1.5\n"
eight="$row$row$row$row$row$row$row$row"
wrong "" "" "no rows"
wrong "# nothing\n" "" "no rows"
wrong "1 2 3\n" ":1:" "3 numbers"
wrong "$row# comment\n10 10 20 20 3\n" ":3:" "5 numbers"
wrong "${row}10 10 x 20 3 1\n" ":2:" '"x"'
wrong "${row}10 10.5 20 20 3 1\n" ":2:" "whole numbers"
wrong "${row}10 10 20 20 -3 1\n" ":2:" "whole numbers"
wrong "${row}10 10 20 20 nan 1\n" ":2:" '"nan"'
wrong "$row" "" "multiple of 8"
wrong "# one\n${eight}1 10 20 20 3 1\n$row$row$row$row$row$row$row" ":10:" "leaves the patch"
wrong "${eight}10 10 20 20 9 1\n$row$row$row$row$row$row$row" ":9:" "radius 9"
wrong "${eight}10 10 20 20 3 300\n$row$row$row$row$row$row$row" ":9:" "threshold"
wrong "9 10 10 3 0 20 20 3 1\n$(for ((i = 1; i < 32; i++)); do printf '1 4 4 2 1 8 8 2 1\\n'; done)" ":1:" "channel"
wrong "#: sampler odd\n$eight" ":1:" "sampler is image, patch, octaves or cells"
wrong "#: weather fine\n$eight" ":1:" "weather"
for sampler in image patch cells; do
    refuse 1 "does not go with bag" "$KEYBITS" model import bag.txt --sampler $sampler -o wrong.kbm
done
refuse 1 "does not go with bad" "$KEYBITS" model import bad.txt --sampler octaves -o wrong.kbm
head -24 bag.txt >few.txt
refuse 1 "24 bits: bag has a multiple of 32" "$KEYBITS" model import few.txt -o wrong.kbm
awk 'NR == 5 { $2 += 16 } 1' bag.txt >outside.txt
refuse 1 "outside.txt:5: bit 4, box 1" "$KEYBITS" model import outside.txt -o wrong.kbm
holds .err "not on the cells of an octave"
awk 'NR == 6 { $6 += 1 } 1' bag.txt >odd.txt
refuse 1 "odd.txt:6: bit 5, box 2" "$KEYBITS" model import odd.txt -o wrong.kbm
awk 'BEGIN { for (j = 0; j < 130; j++) printf "1 "; print "" }' >long.txt
refuse 1 "more than 129 numbers" "$KEYBITS" model import long.txt -o wrong.kbm
awk 'BEGIN { printf "1e30"; for (j = 0; j < 128; j++) printf " 0.5"; print "" }' >bias.txt
refuse 1 "bias.txt:1: the bias" "$KEYBITS" model import bias.txt -o wrong.kbm

# wrong models
head -c 100 bad.kbm >cut.kbm
refuse 1 "cut.kbm: " "$KEYBITS" model show cut.kbm
{ head -c 200 bad.kbm; printf 'X'; tail -c +202 bad.kbm; } >flipped.kbm
refuse 1 "checksum" "$KEYBITS" model show flipped.kbm
refuse 1 "bad.txt: " "$KEYBITS" model show bad.txt
refuse 1 "no such model or file: none" "$KEYBITS" model show none
refuse 1 "no tables to export" "$KEYBITS" model export sift
refuse 1 "no boxes to draw" "$KEYBITS" model show hash.kbm --svg x.svg

# wrong usage
"$KEYBITS" model >out.txt 2>err.txt
[ $? = 2 ] && [ ! -s out.txt ] || fail "no subcommand is exit code 2"
holds err.txt "  import "
refuse 2 'model has no subcommand "improt"' "$KEYBITS" model improt x
refuse 2 "keybits model import: needs -o" "$KEYBITS" model import bad.txt
refuse 2 "takes one model" "$KEYBITS" model show
refuse 2 "takes one table" "$KEYBITS" model import a b -o x
refuse 2 "0.1 to 10" "$KEYBITS" model import bad.txt --support 11 -o x
refuse 2 "image, patch, octaves, cells" "$KEYBITS" model import bad.txt --sampler x -o x
no_leftovers
