# SPDX-License-Identifier: Apache-2.0
# Pairs by retrieval, expanded along verified ones: a chain of views whose pairs few neighbours do not find; shards, steps
# and interrupted runs give the same database.
source "$(dirname "$0")/scene.inc"
source "$(dirname "$0")/common.inc"
mkdir views
for i in 0 1 2 3 4 5; do leaves "views/$i.pgm" 640 240 5 "1 0 $((i * 60)) 0 1 0 0 0 1" 320 240; done
job() { "$KEYBITS" collection views -o "$1.db" -n 400 --quiet --pairs retrieval -k 1 "${@:2}"; }

run job plain --no-expand --json >plain.json
[ ! -e plain.db.work/expanded.txt ] || fail "expanded in spite of --no-expand"
run job whole --json >whole.json
same plain.db.work/pairs.txt whole.db.work/pairs.txt
python3 - <<'PY' || fail "the expansion"
import json, sqlite3
def verified(name):
    ids = sqlite3.connect(name).execute("SELECT pair_id FROM two_view_geometries").fetchall()
    return {tuple(image - 1 for image in divmod(i, 2147483647)) for i, in ids}
def listed(name):
    head, *lines = open("whole.db.work/" + name).read().splitlines()
    assert int(head.split()[-1]) == len(lines)
    return [tuple(map(int, line.split())) for line in lines]
chosen, expanded, before, after = listed("pairs.txt"), listed("expanded.txt"), verified("plain.db"), verified("whole.db")
both = before | {(b, a) for a, b in before}
assert expanded == sorted({(a, c) for a, b in both for d, c in both if b == d and a < c} - set(chosen)), expanded
assert before < after and after - before <= set(expanded), (before, after)
assert json.load(open("plain.json"))["pairs"] == len(chosen)
d = json.load(open("whole.json"))
assert d["pairs"] == len(chosen) + len(expanded) and d["verified_pairs"] == len(after)
PY

# Steps and shards: the same database; steps that come too early say what is missing.
for n in 1 3; do
    part() { job "shards$n" --threads 1 --step "$@"; }
    for i in $(seq $n); do run part describe --shard "$i/$n"; done
    run part pairs
    refuse 1 "not matched yet" part expand
    for i in $(seq $n); do run part match --shard "$i/$n"; done
    refuse 1 "not expanded yet" part merge
    run part expand
    refuse 1 "not matched yet" part merge
    for i in $(seq $n -1 1); do run part match --shard "$i/$n"; done
    run part expand # again, which changes nothing
    run part merge
    same whole.db "shards$n.db"
done

# Interrupted anywhere, a run goes on.
for i in $(seq 1 15); do
    job killed 2>/dev/null &
    pid=$!
    sleep "0.$((RANDOM % 30 + 10))"
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
done
run job killed
same whole.db killed.db
rm -rf killed.db.work

# Lists that are damaged or forged, and blocks that are gone, are made again.
cp whole.db.work/expanded.txt expanded.txt
chosen=$(sed -n 2p whole.db.work/pairs.txt)
for forgery in '$d' "2s/.*/$chosen/" '2s/.*/0 99/' '1s/pairs [0-9a-f]*/pairs 1234/'; do
    sed "$forgery" expanded.txt >whole.db.work/expanded.txt
    differ expanded.txt whole.db.work/expanded.txt
    run job whole
    same whole.db shards3.db
    same expanded.txt whole.db.work/expanded.txt
done
for block in 000000 000001; do
    rm "whole.db.work/blocks/$block.pairs"
    run job whole
    same whole.db shards3.db
done

# What decides which pairs are verified decides the list; other kinds of pairs are not expanded.
run job whole --min-places 100000 2>/dev/null
lines whole.db.work/expanded.txt 1
run "$KEYBITS" collection views -o sequence.db -n 400 --quiet --pairs sequential --overlap 1 --json >sequence.json
holds sequence.json '"pairs": 5'
[ ! -e sequence.db.work/expanded.txt ] || fail "a sequence is expanded"
run "$KEYBITS" collection views -o sequence.db -n 400 --quiet --pairs sequential --overlap 1 --step expand
no_leftovers
