# SPDX-License-Identifier: Apache-2.0
# Memory that is out, for the program as a whole: allocations fail one after the other, in libraries that it uses too.
# Exit code 1 and words, or the whole result; a target is what it was before, and nothing is left beside it. Of every
# command some allocations are tried, spread over its run; EVERY=1 tries all of them.
source "$(dirname "$0")/common.inc"
[ -n "${KEYBITS_NO_MEMORY:-}" ] || { echo "skipped: a sanitizer has the allocations, or the C library is not glibc"; exit 77; }
for i in 1 2 3 4; do render "p$i.pgm" 160 120 "$i"; done
run "$KEYBITS" patches synth p1.pgm p2.pgm -o set.kbp --views 3 --max-per-image 20
run "$KEYBITS" patches synth p1.pgm p2.pgm -o octaves.kbp --views 3 --max-per-image 20 --octaves

without_memory() { # AT COMMAND...
    LD_PRELOAD=$KEYBITS_NO_MEMORY KEYBITS_FAIL_AT=$1 "${@:2}" >.out 2>.err </dev/null
}

# No process substitutions here: after them bash 5.2 gives a later command, whose number in the system is that of one of
# them, their status instead of its own. Tens of thousands of commands come round to such a number.
echo before >before
whole_result() { # times differ from run to run
    grep -av '"ms"' "$result" >one.txt || true
    grep -av '"ms"' whole >two.txt || true
    cmp -s one.txt two.txt
}

# every_allocation TARGET COMMAND...: the command writes TARGET, which is there with other content before. "-": what it
# prints.
every_allocation() {
    local target=$1 result=$1 count at step code runs=0 refused=0
    shift
    [ "$target" != - ] || result=.out
    rm -rf "$result"*
    KEYBITS_FAIL_COUNT=$scratch/count without_memory 0 "$@" || fail "exit code $? of: $* ($(cat .err))"
    mv "$result" whole
    read -r count <count
    step=$((${EVERY:-0} ? 1 : count / 20 + 1))
    for ((at = 1; at <= count; at += step)); do
        rm -rf "$result"*
        [ "$target" = - ] || echo before >"$target"
        # Every third time memory stays out.
        if [ $((runs % 3)) = 2 ]; then KEYBITS_FAIL_ON=1 without_memory $at "$@"; else without_memory $at "$@"; fi
        code=$?
        case $code in
        0) grep -q "no memory for .* pixels" .err || # an image too large is named and left out
               { whole_result && [ ! -s .err ]; } ||
               fail "no error, but words or another result when allocation $at fails: $* ($(cat .err))" ;;
        1) [ -s .err ] || fail "no words when allocation $at fails: $*"
           [ "$target" = - ] || cmp -s "$target" before || cmp -s "$target" whole ||
               grep -q "no memory for .* pixels" .err || # written without the image, and said so
               fail "half a file when allocation $at fails: $* ($(cat .err))"
           refused=$((refused + 1)) ;;
        *) fail "exit code $code when allocation $at fails: $* ($(cat .err))" ;;
        esac
        no_leftovers
        runs=$((runs + 1))
    done
    [ $refused -gt 0 ] || fail "no allocation was missed: $*"
    echo "${1##*/} ${*:2:2}: $runs of $count allocations, $refused errors"
}
keybits() { every_allocation "$1" "$KEYBITS" "${@:2}" --threads 1 --quiet; }
keybits a.csv detect p1.pgm -o a.csv
keybits a.png detect p1.pgm --detector sift -n 50 --draw a.png
keybits a.npy describe p1.pgm -m hashsift256 -o a.npy
keybits b.csv match p1.pgm p2.pgm -o b.csv
keybits a.kbi index build p1.pgm p2.pgm -o a.kbi
run "$KEYBITS" index build p1.pgm p2.pgm -o c.kbi --quiet
keybits - index query c.kbi p1.pgm --verify --json
keybits a.kbv vocab train p1.pgm p2.pgm p3.pgm -o a.kbv --branching 10 --tree-levels 3
keybits a.db export colmap p1.pgm p2.pgm -o a.db
keybits b.db collection p1.pgm p2.pgm p3.pgm -o b.db -n 300
keybits c.db collection p1.pgm p2.pgm p3.pgm p4.pgm -o c.db -n 300 --pairs retrieval -k 1
keybits a.kbp patches synth p1.pgm -o a.kbp --views 2 --max-per-image 10
keybits a.kbm train bad set.kbp -o a.kbm --name a --bits 8 --triplets 64 --candidates 10
keybits g.kbm train bag octaves.kbp -o g.kbm --name g --bits 32 --triplets 64 --candidates 10
mkdir -p set/still
for i in 1 2; do cp p1.pgm set/still/img$i.pgm; done
keybits - eval oxford set -m sift -n 100 --json
