# SPDX-License-Identifier: Apache-2.0
# Training, evaluation, export, index, vocabulary and collection ended at random moments by SIGINT, SIGTERM and SIGKILL,
# 8 times each (KILLS: so many), and started again. What a run writes is whole or as it was; a run that is killed again
# and again ends with the same bytes as one that never was.
source "$(dirname "$0")/common.inc"
for i in 1 2 3; do render "p$i.pgm" 320 240 "$i.7"; done
run "$KEYBITS" patches synth p1.pgm p2.pgm p3.pgm -o set.kbp --views 4 --max-per-image 80
run "$KEYBITS" patches synth p1.pgm p2.pgm p3.pgm -o octaves.kbp --views 4 --max-per-image 80 --octaves --support 4
mkdir -p set/still
for i in 1 2 3; do cp "p$i.pgm" "set/still/img$i.pgm"; done
signals=(INT TERM KILL)
RANDOM=11
total=0

# from_the_start RESULT: takes away what runs wrote, and puts back what was there before them
from_the_start() {
    rm -rf -- kept "${1%.*}".*
    [ ! -e before ] || cp before "$1"
}

# killed RESULT COMMAND...: the command writes the file RESULT, or prints it when that is "-"; what it needs to go on is
# beside it or in the folder "kept". RESULT may be there before.
killed() {
    local result=$1 kills=0 round begin span pid signal
    shift
    rm -f before
    [ ! -e "$result" ] || cp "$result" before
    begin=${EPOCHREALTIME/[.,]/}
    run "$@" >printed
    span=$((${EPOCHREALTIME/[.,]/} - begin)) # microseconds
    if [ "$result" = - ]; then cp printed whole; else cp "$result" whole; fi
    from_the_start "$result"
    for round in $(seq 500); do
        signal=${signals[RANDOM % 3]}
        env --default-signal=INT "$@" >/dev/null 2>&1 & # background jobs of a shell ignore SIGINT
        pid=$!
        sleep "$(awk -v r=$RANDOM -v span=$span 'BEGIN { printf "%.4f", r / 32768 * span / 1e6 }')"
        kill -s $signal $pid 2>/dev/null
        wait $pid 2>/dev/null
        local code=$?
        [ $signal = KILL ] || no_leftovers
        find . -name '*.part-*' -delete
        [ ! -e "$result" ] || cmp -s "$result" whole || cmp -s "$result" before || fail "half a file after SIG$signal: $*"
        [ $code -le 128 ] || kills=$((kills + 1))
        # Killed after its last step: adding to an index once more would give another one.
        if [ $code -le 128 ] || { [ -e "$result" ] && cmp -s "$result" whole; }; then from_the_start "$result"; fi
        [ $kills -lt "${KILLS:-8}" ] || break
    done
    [ $kills -ge "${KILLS:-8}" ] || fail "only $kills kills of: $*"
    [ ! -e before ] || cp before "$result"
    run "$@" >printed
    [ "$result" != - ] || result=printed
    cmp -s "$result" whole || fail "another result after kills: $*"
    total=$((total + kills))
    echo "${*:2:2}: $kills kills"
}
killed boxes.kbm "$KEYBITS" train bag octaves.kbp -o boxes.kbm --name job --bits 32 --triplets 300 \
    --candidates 2000 --threads 1 --quiet --resume
killed hash.kbm "$KEYBITS" train hashsift set.kbp -o hash.kbm --name job --bits 32 --steps 200 --quiet --resume
killed - "$KEYBITS" eval oxford set -m sift,bad256,bag256 --json --quiet --cache kept
killed job.db "$KEYBITS" export colmap p1.pgm p2.pgm p3.pgm -o job.db --quiet
killed photos.db "$KEYBITS" collection p1.pgm p2.pgm p3.pgm -o photos.db --quiet
killed words.kbv "$KEYBITS" vocab train p1.pgm p2.pgm p3.pgm -o words.kbv --tree-levels 3 --quiet
run "$KEYBITS" index build p1.pgm p2.pgm -o places.kbi --quiet
killed places.kbi "$KEYBITS" index add places.kbi p3.pgm --quiet
echo "$total kills"
