# SPDX-License-Identifier: Apache-2.0
# Outputs: an input is never overwritten, a full disc is noticed by every command, a name says what is in the file.
source "$(dirname "$0")/common.inc"
render a.pgm 200 160
render b.pgm 200 160 2
bad_table t.txt 32
run "$KEYBITS" model import t.txt -o m.kbm
keypoints k.csv 40 200 160
keybits() { "$KEYBITS" "$@"; }
mkdir before
cp a.pgm b.pgm t.txt m.kbm k.csv before/

# spared: the files named by the arguments are as they were
spared() { for name in "$@"; do same "$name" "before/$name"; done; }

# inputs, also by another name
ln -s a.pgm picture.png
ln b.pgm twin.csv
refuse 1 "picture.png is an input, and would be overwritten" keybits detect a.pgm --draw picture.png
refuse 1 "twin.csv is an input" keybits detect b.pgm -o twin.csv
refuse 1 "k.csv is an input" keybits describe a.pgm -k k.csv -o k.csv
refuse 1 "picture.png is an input" keybits match a.pgm b.pgm --draw picture.png
refuse 1 "twin.csv is an input" keybits match a.pgm b.pgm -o twin.csv
refuse 1 "k.csv is an input" keybits match a.pgm b.pgm --keypoints-a k.csv -o k.csv
refuse 1 "t.txt is an input" keybits model import t.txt -o t.txt
refuse 1 "m.kbm is an input" keybits model export m.kbm -o m.kbm
refuse 1 "m.kbm is an input" keybits model show m.kbm --svg ./m.kbm
refuse 1 "a.pgm is an input" keybits track a.pgm b.pgm -o a.pgm
refuse 1 "b.pgm is an input" keybits track a.pgm b.pgm --y4m b.pgm
mkdir frames
cp a.pgm frames/frame_000000.png
refuse 1 "frame_000000.png is an input" keybits track a.pgm frames --draw frames
same frames/frame_000000.png a.pgm
spared a.pgm b.pgm t.txt m.kbm k.csv

# names
refuse 2 "must end in .png" keybits match a.pgm b.pgm --draw lines.jpg
refuse 2 "must end in .csv" keybits match a.pgm b.pgm -o matches.txt
refuse 2 "a folder, new ones with / at the end" keybits detect a.pgm -o tables
refuse 2 "a folder, new ones with / at the end" keybits describe a.pgm -o tables
[ ! -e lines.jpg ] && [ ! -e matches.txt ] && [ ! -e tables ] || fail "output in spite of wrong usage"

# a picture that cannot be written keeps the table from standard output
refuse 1 "no/where.png: cannot be written" keybits detect a.pgm --draw no/where.png

# frames: one that cannot be read is nothing at all; of many it is reported, and the others go on
refuse 1 "none.png: cannot be opened" keybits track a.pgm none.png
refuse 1 "none.png: cannot be opened" keybits track a.pgm none.png -o rows.csv
[ ! -e rows.csv ] || fail "rows of no frame"
run keybits track a.pgm none.png a.pgm >rows.csv
says "warning: none.png: cannot be opened"
lines rows.csv 3

# a standard stream that is closed: what is printed does not go into a file that is written
keybits track a.pgm a.pgm b.pgm --y4m whole.y4m >/dev/null 2>&1
keybits track a.pgm a.pgm b.pgm --y4m closed.y4m >&- 2>.err
[ $? = 1 ] || fail "closed standard output is not exit code 1"
says "standard output: cannot be written"
[ ! -e closed.y4m ] || same whole.y4m closed.y4m
run keybits patches synth a.pgm b.pgm -o set.kbp --views 3 --max-per-image 20
for name in whole closed; do
    [ $name = whole ] || exec 3>&2 2>&-
    keybits train bad set.kbp -o $name.kbm --name a --bits 8 --triplets 64 --candidates 10
    code=$?
    [ $name = whole ] || exec 2>&3 3>&-
    [ $code = 0 ] || fail "exit code $code of a training, $name"
done
same whole.kbm closed.kbm
lines closed.csv "$(wc -l <whole.csv)"
! keybits detect - <&- >/dev/null 2>&1 || fail "closed standard input was read"

# a full disc, wherever the output goes
if [ -w /dev/full ]; then
    for command in "detect a.pgm" "describe a.pgm -k k.csv" "match a.pgm b.pgm" "match a.pgm b.pgm --json" \
        "track a.pgm b.pgm" "model show m.kbm" "model export m.kbm" "model list --json" info \
        help "help detect" "help --man" --version; do
        keybits $command >/dev/full 2>.err
        [ $? = 1 ] || fail "a full disc is not exit code 1 of $command"
        says "standard output: cannot be written"
    done
    refuse 1 "/dev/full: cannot be written: No space left" keybits detect a.pgm -o /dev/full
    refuse 1 "/dev/full: cannot be written: No space left" keybits match a.pgm b.pgm --draw /dev/full
    refuse 1 "/dev/full: cannot be written: No space left" keybits track a.pgm a.pgm b.pgm -o /dev/full
    refuse 1 "/dev/full: cannot be written: No space left" keybits track a.pgm a.pgm b.pgm -o rows.txt --y4m /dev/full
    [ ! -e rows.txt ] || fail "rows of a track that failed"
fi

# a reader who goes away is no error of ours to talk about
keybits detect a.pgm 2>.err | head -n 1 >/dev/null
[ ! -s .err ] || ! grep -q "cannot be written" .err || fail "words about a closed pipe"
no_leftovers
