# Every write, rename and file opened for writing made to fail in turn: exit code 1 and words, or the whole result. The
# target is what it was before or what it should be, and nothing is left beside it.
source "$(dirname "$0")/common.inc"
export ASAN_OPTIONS=detect_leaks=0 # it traces, too
strace -o /dev/null -e trace=write true 2>/dev/null || { echo "skipped: strace cannot trace here"; exit 77; }
for i in 1 2; do render "p$i.pgm" 120 90 "$i"; done
run "$KEYBITS" patches synth p1.pgm p2.pgm -o set.kbp --views 3 --max-per-image 20

# every_fault TARGET COMMAND...: the command writes TARGET, which is there with other content before.
every_fault() {
    local target=$1 call count at step runs=0
    shift
    rm -f "$target"
    run "$@"
    mv "$target" whole
    for call in write pwrite64 rename; do
        strace -f -o calls -e trace=$call "$@" >/dev/null 2>&1
        count=$(grep -c "$call(" calls)
        step=$((count / 12 + 1))
        for ((at = 1; at <= count; at += step)); do
            echo before >"$target"
            strace -f -o /dev/null -e trace=$call -e inject=$call:error=ENOSPC:when=$at "$@" >.out 2>.err
            local code=$?
            [ $code -le 1 ] || fail "exit code $code when $call $at fails: $*"
            [ $code = 1 ] || cmp -s "$target" whole || fail "no error, but another file when $call $at fails: $*"
            [ $code = 0 ] || cmp -s "$target" <(echo before) || cmp -s "$target" whole ||
                fail "half a file when $call $at fails: $*"
            no_leftovers
            runs=$((runs + 1))
        done
    done
    [ $runs -gt 0 ] || fail "nothing was made to fail: $*"
    echo "$target: $runs faults"
    rm -f "$target"
}
every_fault a.kbm "$KEYBITS" train bad set.kbp -o a.kbm --name a --bits 8 --triplets 64 --batch 16 --candidates 10 --quiet
every_fault a.db "$KEYBITS" export colmap p1.pgm p2.pgm -o a.db --quiet
every_fault a.kbi "$KEYBITS" index build p1.pgm p2.pgm -o a.kbi --quiet
every_fault a.npy "$KEYBITS" describe p1.pgm --detector orb -o a.npy --quiet

# The check itself can fail: a program that writes its target in place loses what was there.
if (every_fault plain.txt bash -c 'echo one >plain.txt; echo two >>plain.txt') >/dev/null 2>&1; then
    fail "a program that writes in place was not noticed"
fi
