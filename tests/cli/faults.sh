# SPDX-License-Identifier: Apache-2.0
# Every write, rename and synchronisation made to fail in turn: exit code 1 and words, or the whole result. The target is
# what it was before or what it should be, nothing is left beside it, and what was kept to go on with is whole.
source "$(dirname "$0")/common.inc"
echo before >before # to compare with: memory.sh says why not <(echo before)
export ASAN_OPTIONS=detect_leaks=0 # it traces, too
strace -o /dev/null -e trace=write true 2>/dev/null || { echo "skipped: strace cannot trace here"; exit 77; }
for i in 1 2; do render "p$i.pgm" 120 90 "$i"; done
run "$KEYBITS" patches synth p1.pgm p2.pgm -o set.kbp --views 3 --max-per-image 20

calls=(write writev pwrite64 rename fsync fdatasync ftruncate)

# faults COMMAND...: each of its calls that write fails in turn, in some of its runs when they are many: calls "check
# CALL NUMBER CODE" after each. "prepare" makes the folder ready for the next run.
most=${KEYBITS_SANITIZED:+3} # of a call, where they are many
faults() {
    local call count at step runs=0
    for call in "${calls[@]}"; do
        prepare
        strace -f -o traced -e trace=$call "$@" >/dev/null 2>&1
        count=$(grep -c "$call(" traced)
        step=$((count / ${most:-12} + 1))
        for ((at = 1; at <= count; at += step)); do
            prepare
            strace -f -o /dev/null -e trace=$call -e inject=$call:error=ENOSPC:when=$at "$@" >.out 2>.err
            local code=$?
            [ $code -le 1 ] || fail "exit code $code when $call $at fails: $* ($(cat .err))"
            check "$call $at fails: $*" $code
            no_leftovers
            runs=$((runs + 1))
        done
    done
    [ $runs -gt 0 ] || fail "nothing was made to fail: $*"
    echo "${*:2:2}: $runs faults"
}

# every_fault TARGET COMMAND...: the command writes TARGET, which is there with other content before.
every_fault() {
    local target=$1
    shift
    rm -rf "$target"*
    run "$@"
    mv "$target" whole
    prepare() { rm -rf "$target"*; echo before >"$target"; }
    check() { # WHEN CODE
        [ "$2" = 1 ] || cmp -s "$target" whole || fail "no error, but another file when $1"
        [ "$2" = 0 ] || [ -s .err ] || fail "no words when $1"
        [ "$2" = 0 ] || cmp -s "$target" before || cmp -s "$target" whole || fail "half a file when $1"
    }
    faults "$@"
    rm -rf "$target"*
}

# on_disc TARGET COMMAND...: what it writes is synchronised before it is renamed, and the folder after that.
on_disc() {
    local target=$1
    shift
    run strace -f -o traced -e trace=rename,fsync "$@" >/dev/null
    tr '\n' ' ' <traced | grep -qE "fsync\([0-9]+\) += 0 [0-9]+ +rename\(\"$target.part-[^ ]+ \"$target\"\) += 0 [0-9]+ +fsync" ||
        fail "not on the disc before $target is there: $*: $(cat traced)"
    rm -rf "$target"*
}
on_disc d.kbm "$KEYBITS" train bad set.kbp -o d.kbm --name d --bits 8 --triplets 64 --candidates 10 --quiet
on_disc d.csv "$KEYBITS" train bad set.kbp -o d.kbm --name d --bits 8 --triplets 64 --candidates 10 --quiet
on_disc d.checkpoint "$KEYBITS" train hashsift set.kbp -o d.kbm --name d --bits 8 --steps 20 --quiet
on_disc d.db "$KEYBITS" export colmap p1.pgm p2.pgm -o d.db --quiet
on_disc d.db "$KEYBITS" collection p1.pgm p2.pgm -o d.db -n 200 --quiet
on_disc d.kbi "$KEYBITS" index build p1.pgm p2.pgm -o d.kbi --quiet
on_disc d.kbv "$KEYBITS" vocab train p1.pgm p2.pgm -o d.kbv --branching 10 --tree-levels 3 --quiet
on_disc d.npy "$KEYBITS" describe p1.pgm --detector orb -o d.npy --quiet
on_disc d.png "$KEYBITS" detect p1.pgm --draw d.png --quiet
on_disc d.kbp "$KEYBITS" patches synth p1.pgm -o d.kbp --views 2 --max-per-image 10 --quiet

every_fault a.kbm "$KEYBITS" train bad set.kbp -o a.kbm --name a --bits 8 --triplets 64 --candidates 10 --quiet
every_fault b.kbm "$KEYBITS" train hashsift set.kbp -o b.kbm --name b --bits 8 --steps 20 --quiet
every_fault a.db "$KEYBITS" export colmap p1.pgm p2.pgm -o a.db --quiet
every_fault b.db "$KEYBITS" collection p1.pgm p2.pgm -o b.db -n 200 --quiet
every_fault a.kbi "$KEYBITS" index build p1.pgm p2.pgm -o a.kbi --quiet
every_fault a.kbv "$KEYBITS" vocab train p1.pgm p2.pgm -o a.kbv --branching 10 --tree-levels 3 --quiet
every_fault a.kbp "$KEYBITS" patches synth p1.pgm -o a.kbp --views 2 --max-per-image 10 --quiet
every_fault a.npy "$KEYBITS" describe p1.pgm --detector orb -o a.npy --quiet
every_fault a.png "$KEYBITS" detect p1.pgm --draw a.png --quiet

# An index that is added to in place is the old one or the new one.
run "$KEYBITS" index build p1.pgm -o one.kbi --quiet
run "$KEYBITS" index add one.kbi p2.pgm -o two.kbi --quiet
prepare() { cp one.kbi own.kbi; }
check() { # WHEN CODE
    if [ "$2" = 0 ]; then cmp -s own.kbi two.kbi || fail "no error, but another index when $1"; return; fi
    cmp -s own.kbi one.kbi || cmp -s own.kbi two.kbi || fail "half an index when $1"
}
faults "$KEYBITS" index add own.kbi p2.pgm --quiet

# A collection or an evaluation that failed goes on where it was: what it had kept is whole.
mkdir -p set/still
for i in 1 2; do cp p1.pgm set/still/img$i.pgm; done
measure() { "$KEYBITS" eval oxford set -m sift -n 100 --json "$@"; }
run measure >whole.json
prepare() { rm -rf cache; }
check() { # WHEN CODE
    run measure --cache cache >again.json
    cmp -s again.json whole.json || fail "another result with what was kept when $1"
}
faults "$KEYBITS" eval oxford set -m sift -n 100 --json --cache cache
run "$KEYBITS" collection p1.pgm p2.pgm -o whole.db -n 200 --quiet
prepare() { rm -rf kept.db*; }
check() { # WHEN CODE
    run "$KEYBITS" collection p1.pgm p2.pgm -o kept.db -n 200 --quiet
    cmp -s kept.db whole.db || fail "another database with what was kept when $1"
}
faults "$KEYBITS" collection p1.pgm p2.pgm -o kept.db -n 200 --quiet

# The check itself can fail: a program that writes its target in place loses what was there.
if (every_fault plain.txt bash -c 'echo one >plain.txt; echo two >>plain.txt') >/dev/null 2>&1; then
    fail "a program that writes in place was not noticed"
fi
