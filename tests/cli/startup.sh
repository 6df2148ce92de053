# SPDX-License-Identifier: Apache-2.0
# Starting up: the program loads little, and little memory is enough for every plain command. (OpenBLAS starts threads
# when it is loaded, which fails and then hangs at exit where memory is limited; learning loads it when it needs it.)
source "$(dirname "$0")/common.inc"
if ldd "$KEYBITS" 2>/dev/null | grep -q libasan; then echo "skipped: a sanitizer needs memory without limit"; exit 77; fi
! readelf -d "$KEYBITS" | grep -q openblas || fail "the program is linked with OpenBLAS"
if ldd "$KEYBITS" | grep -q opencv; then echo "skipped: this program is linked with OpenCV"; exit 77; fi
! ldd "$KEYBITS" | grep -q openblas || fail "a library that the program is linked with loads OpenBLAS"
render a.pgm 200 160
for limit in 60000 100000 150000 200000; do
    for command in info "model list" "detect a.pgm -n 50" "match a.pgm a.pgm"; do
        (ulimit -v $limit && exec timeout 600 "$KEYBITS" $command) >.out 2>.err ||
            fail "exit code $? of $command with $limit kB of memory: $(cat .err)"
    done
done
# Learning says what is missing, and ends.
render b.pgm 320 240 3
run "$KEYBITS" patches synth b.pgm -o set.kbp --views 4
(ulimit -v 100000 && exec timeout 600 "$KEYBITS" train hashsift set.kbp -o h.kbm --steps 3 --bits 8) >.out 2>.err
code=$?
[ $code = 0 ] || [ $code = 1 ] || fail "exit code $code of train with little memory"
exit 0
