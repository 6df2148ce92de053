# SPDX-License-Identifier: Apache-2.0
# Shards that are killed by SIGKILL at random, 100 times (KILLS: so many), and started again lose nothing.
source "$(dirname "$0")/common.inc"
mkdir photos
for i in $(seq 12); do render "photos/$i.pgm" 320 240 $((i / 2)); done
job() { "$KEYBITS" collection photos -o "$1.db" -n 400 --quiet --threads 1 "${@:2}"; }
run job whole

RANDOM=5
kills=0
for step in describe match; do
    half=$((kills + ${KILLS:-100} / 2))
    [ $step = describe ] || run job killed --step pairs
    for round in $(seq 1000); do
        rm -f killed.db.work/features/00000$((round % 10)).kbf killed.db.work/blocks/000000.pairs # there is always work to do
        [ $step = describe ] || run job killed --step describe
        pids=()
        for shard in 1/3 2/3 3/3; do
            job killed --step $step --shard $shard 2>/dev/null &
            pids+=($!)
        done
        sleep "0.0$(printf %02d $((RANDOM % 60)))"
        for pid in "${pids[@]}"; do if kill -9 "$pid" 2>/dev/null; then kills=$((kills + 1)); fi; done
        wait "${pids[@]}" 2>/dev/null
        [ $kills -lt $half ] || break
    done
    for shard in 1/3 2/3 3/3; do run job killed --step $step --shard $shard; done
done
run job killed --step merge
same whole.db killed.db
[ "$kills" -ge "${KILLS:-100}" ] || fail "only $kills were alive when they were killed"
