# A training that is killed again and again, at any moment, goes on to the same bytes as one that never was.
source "$(dirname "$0")/common.inc"
for i in 1 2 3; do render "p$i.pgm" 320 240 "$i.7"; done
run "$KEYBITS" patches synth p1.pgm p2.pgm p3.pgm -o set.kbp --views 4 --max-per-image 80
job() { "$KEYBITS" train bag set.kbp -o "$1.kbm" --name job --bits 64 --triplets 400 --batch 100 --candidates 3000 --threads 1 "${@:2}"; }
run job whole --quiet

RANDOM=11
kills=0
for round in $(seq 60); do
    "$KEYBITS" train bag set.kbp -o killed.kbm --name job --bits 64 --triplets 400 --batch 100 --candidates 3000 \
        --threads 1 --quiet --resume >/dev/null 2>&1 &
    pid=$!
    sleep "0.$(printf %03d $((RANDOM % 400)))"
    if kill -9 $pid 2>/dev/null; then kills=$((kills + 1)); fi
    wait $pid 2>/dev/null
    [ ! -e killed.kbm ] || same killed.kbm whole.kbm # whole, or not there
    [ ! -e killed.kbm ] || rm killed.kbm
    [ $kills -lt 20 ] || break
done
[ $kills -ge 20 ] || fail "only $kills kills"
run job killed --quiet --resume
same killed.kbm whole.kbm
