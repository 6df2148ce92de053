# keybits bench: the rows, as a table, as JSON and as a page of plots; wrong usage.
source "$(dirname "$0")/page.inc"
source "$(dirname "$0")/common.inc"
render a.pgm 200 160 1
render b.pgm 200 160 1

run "$KEYBITS" bench a.pgm b.pgm --repeats 1 -n 100 --rows describe-bad256,match-256,pipeline >out.txt
lines out.txt 3
holds out.txt "describe-bad256"
run "$KEYBITS" bench a.pgm b.pgm --repeats 1 -n 100 --json --quiet >out.json
for name in detect-orb detect-sift describe-bad256 describe-bad512 describe-bag256 describe-bag512 describe-hashsift256 \
    describe-hashsift512 match-256 match-512 fit-homography pipeline; do
    holds out.json "\"name\": \"$name\""
done
for field in ms peer peer_ms ratio threads; do
    [ "$(grep -o "\"$field\":" out.json | wc -l)" = 12 ] || fail "not every row has $field"
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
run "$KEYBITS" bench a.pgm b.pgm --repeats 1 -n 50 --rows describe-bad256 --model bad256=m.kbm >own.txt

run "$KEYBITS" bench a.pgm b.pgm --repeats 1 -n 50 --rows detect-orb,match-256 --no-peers --plots page.html >/dev/null
holds page.html "megapixels"
sound_page page.html

refuse 2 "takes images" "$KEYBITS" bench
refuse 1 "two images" "$KEYBITS" bench a.pgm
refuse 2 "no row is called" "$KEYBITS" bench a.pgm b.pgm --rows nothing
refuse 2 "1 to 1000" "$KEYBITS" bench a.pgm b.pgm --repeats 0
refuse 2 "NAME=FILE" "$KEYBITS" bench a.pgm b.pgm --model m.kbm
refuse 1 "256 bits" "$KEYBITS" bench a.pgm b.pgm --model bad512=m.kbm
refuse 1 "none.pgm" "$KEYBITS" bench a.pgm none.pgm
no_leftovers
