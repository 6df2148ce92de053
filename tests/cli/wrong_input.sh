# SPDX-License-Identifier: Apache-2.0
# Wrong input: one clear line, the right exit code, and nothing half-written.
source "$(dirname "$0")/common.inc"
render a.pgm 80 60
bad_table t.txt 32
run "$KEYBITS" model import t.txt -o m.kbm
keypoints k.csv 10 80 60
describe() { "$KEYBITS" describe "$@"; }
good="-m m.kbm -k k.csv"

# images
refuse 1 "nothing.png: cannot be opened" describe nothing.png $good -o o.npy
refuse 1 "k.csv: not an image" describe k.csv $good -o o.npy
: >empty.png
refuse 1 "empty.png: the file is empty" describe empty.png $good -o o.npy
head -c 200 a.pgm >cut.pgm
refuse 1 "cut.pgm: truncated image" describe cut.pgm $good -o o.npy
printf 'P5 70000 70000 255\n' >huge.pgm
refuse 1 "huge.pgm" describe huge.pgm $good -o o.npy
printf 'P5 20000 20000 255\n' >large.pgm
refuse 1 "large.pgm: 20000 x 20000 pixels are more than the limit of" describe large.pgm $good -o o.npy
printf 'YUV4MPEG2 W65535 H65535 F25:1 C444\n' >large.y4m
render template.pgm 160 120
refuse 1 "large.y4m: frames of 65535 x 65535 pixels are more than the limit of" "$KEYBITS" track template.pgm large.y4m
printf 'a.pgm\n\0\nnothing.png\n' >binary.txt
refuse 1 "binary.txt: not a text file" describe @binary.txt $good -o '{}.npy'
{ cat a.pgm; echo; } >b.pgm # not the same file
printf 'a.pgm b.pgm\n# the same again\nb.pgm a.pgm\n' >twice.txt
for command in "export colmap" collection; do
    run "$KEYBITS" $command a.pgm b.pgm -o twice.db $([ "$command" = collection ] && echo --list || echo --pairs) twice.txt --quiet
    rm -rf twice.db*
done
for line in 'a.pgm a.pgm' 'a.pgm' 'a.pgm c.pgm'; do
    printf 'a.pgm b.pgm\n%s\n' "$line" >wrong.txt
    refuse 1 "wrong.txt:2: not the names of two of the images" "$KEYBITS" export colmap a.pgm b.pgm -o x.db --pairs wrong.txt
    refuse 1 "wrong.txt:2: not the names of two of the images" "$KEYBITS" collection a.pgm b.pgm -o x.db --list wrong.txt --quiet
    rm -rf x.db.work
done
printf 'GIF89a' >moving.png
refuse 1 "moving.png: a GIF" describe moving.png $good -o o.npy
escape=$(printf 'a\033[31m\377.png')
refuse 1 'a\x1b[31m\xff.png: cannot be opened' describe "$escape" $good -o o.npy
# an image on standard input, and a list of images
run describe a.pgm $good -o file.npy
run describe - $good -o stdin.npy <a.pgm
same file.npy stdin.npy
echo a.pgm | run describe @- $good -o list.npy
same file.npy list.npy
mkdir hollow
refuse 1 "hollow: the folder holds no image files" describe hollow $good -o o.npy
mkdir raws && touch raws/a.cr2
refuse 1 "raws: left out: 1 file of a format that is not read, such as raws/a.cr2; no image files remain" \
    describe raws $good -o o.npy
refuse 1 "none.txt: cannot be opened" describe @none.txt $good -o o.npy
printf '# nothing\n\n' >nothing.txt
refuse 1 "nothing.txt: the list names no images" describe @nothing.txt $good -o o.npy
refuse 1 "nothing.txt: the list names no images" "$KEYBITS" detect @nothing.txt
refuse 1 "@ stands alone" "$KEYBITS" detect @
refuse 1 "standard input: the list names no images" "$KEYBITS" detect @- <nothing.txt
refuse 1 "standard input: the file is empty" "$KEYBITS" detect - <empty.png
# a 16x16 picture of ours as PNG and as JPEG; whole they are read, cut they are refused
base64 -d >p.png <<'PNG'
iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAAAAAA6mKC9AAABG0lEQVR42gEQAe/+AAANGic0QU5baHWCj5yptsMAAxkvRVtxh150
iqC2zOK5zwAMK0ppSWiHZ4alxKTD4sLhABtDa1R8ZY12nsav18Do0fkAMGFThHanmYu8rt/RAvTmFwBLhYB7tbCrpuDb1hALBgE7
AGyvs7e7v8PHCg4SFhoeImUAk6CtusfU4e77CBUiLzxJVgDA1uwCGC5EGzFHXXOJn3aMAPMSMVAwT25ObYyri6rJqcgALFR8ZY12
noev18Do0fniCgBrnI6/seLUxvfpGgw9LyFSALDq5eAaFRALRUA7dXBrZqAA+z5CRkpOUlaZnaGlqa2x9ABMWWZzgI2ap7TBztvo
9QIPAKO5z+X7ESf+FCpAVmyCWW9OHX62rX+xLAAAAABJRU5ErkJggg==
PNG
base64 -d >p.jpg <<'JPG'
/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdBRkxO
UlNSMj5aYVpQYEpRUk//wAALCAAQABABAREA/8QAFQABAQAAAAAAAAAAAAAAAAAABgX/xAAYEAACAwAAAAAAAAAAAAAAAAAABAUh
Mv/aAAgBAQAAPwAnErZobRK2aIMStmhtErZo/9k=
JPG
printf 'x,y,size\n8,8,16\n' >one.csv
for file in p.png p.jpg; do
    run describe $file -m m.kbm -k one.csv >/dev/null
    size=$(wc -c <$file)
    for part in 2 30 60 90; do
        head -c $((size * part / 100)) $file >cut_$file
        refuse 1 "cut_$file: " describe cut_$file -m m.kbm -k one.csv -o o.npy
    done
done

# keypoints
refuse 1 "none.csv: cannot be opened" describe a.pgm -m m.kbm -k none.csv -o o.npy
printf 'x,y,size,angle\n1,2,3,4\n5,six,7,8\n' >bad.csv
refuse 1 'bad.csv:3: y is "six"' describe a.pgm -m m.kbm -k bad.csv -o o.npy
printf 'x,y\n1,2\n' >bad.csv
refuse 1 "bad.csv:1: the header has no column size" describe a.pgm -m m.kbm -k bad.csv -o o.npy
printf 'x,y,size\n1,2,3\n\n1,2\n' >bad.csv
refuse 1 "bad.csv:4: 2 values, but the header has 3 columns" describe a.pgm -m m.kbm -k bad.csv -o o.npy
refuse 1 "a.pgm" describe a.pgm -m m.kbm -k a.pgm -o o.npy
refuse 1 "hollow/a.csv: cannot be opened" describe a.pgm -m m.kbm --keypoints-dir hollow -o o.npy

# models
refuse 1 "no such model or file: nobody" describe a.pgm -m nobody -k k.csv -o o.npy
refuse 1 "k.csv: this is not a keybits model file" describe a.pgm -m k.csv -k k.csv -o o.npy
refuse 1 "--float needs sift or rootsift" describe a.pgm $good --float -o o.npy

# outputs
refuse 1 "no/where/o.npy: cannot be written" describe a.pgm $good -o no/where/o.npy
refuse 1 "a.csv would be written twice" describe a.pgm ./a.pgm -m m.kbm -o 'x/{}.csv'
refuse 1 "a.csv would be written twice" "$KEYBITS" detect a.pgm ./a.pgm -o new/
[ ! -e x ] && [ ! -e new ] || fail "a folder was made for nothing"
refuse 1 "hollow: cannot be written: it is a folder" "$KEYBITS" collection a.pgm -o hollow
[ ! -e hollow.work ] || fail "a work folder was made for nothing"
refuse 1 "output is a folder, or a pattern" describe a.pgm a.pgm -m m.kbm -o o.npy
refuse 2 "must end in .npy" describe a.pgm $good -o o.png
refuse 2 "must end in .npy" describe a.pgm -m sift -k k.csv --float -o o.hex
if [ -w /dev/full ]; then
    "$KEYBITS" describe a.pgm $good >/dev/full 2>.err
    [ $? = 1 ] || fail "a full disc is exit code 1"
    says "standard output: cannot be written"
fi
if [ "$(id -u)" != 0 ]; then
    echo old >locked.npy
    chmod a-w locked.npy
    refuse 1 "locked.npy: cannot be written" describe a.pgm $good -o locked.npy
fi
echo old >kept.npy
refuse 1 "nothing.png" describe nothing.png $good -o kept.npy
[ "$(cat kept.npy)" = old ] || fail "a failure touched the old output"

# usage
refuse 2 "name at least one image" describe
refuse 2 "argument 2 is empty" describe a.pgm "" $good -o o.npy
refuse 2 "the value of -o is empty" describe a.pgm $good -o ""
refuse 2 "the value of --model is empty" describe a.pgm --model "" -k k.csv
refuse 2 "--fast-threshold-min is 20, above fast_threshold, which is 10" \
    describe a.pgm --detector orb --fast-threshold 10 --fast-threshold-min 20
refuse 2 "--fast-threshold-min is 21, above" "$KEYBITS" detect a.pgm --detector orb --fast-threshold-min 21
refuse 2 "--contrast belongs to detector sift, but the detector is hessian" "$KEYBITS" detect a.pgm --contrast 0.02
refuse 2 "--fast-threshold belongs to detector orb, but the detector is hessian" "$KEYBITS" detect a.pgm --fast-threshold 9
refuse 2 "--hessian-threshold belongs to detector hessian, but the detector is orb" \
    "$KEYBITS" detect a.pgm --detector orb --hessian-threshold 0.01
for list in "" , orb,fast; do refuse 2 "--detectors" "$KEYBITS" patches synth a.pgm -o o.kbp --detectors "$list"; done
refuse 2 "--levels belongs to detector hessian or orb, but the detector is sift" describe a.pgm --detector sift --levels 3
refuse 2 "--whole-pixels belongs to detector hessian or orb, but the detector is sift" \
    "$KEYBITS" export colmap a.pgm -o e.db --whole-pixels
refuse 2 "--preset and --scale exclude each other" describe a.pgm $good --preset sift --scale 2
refuse 2 "--reach takes a number of 0 or more" "$KEYBITS" collection a.pgm -o c.db --reach -1
refuse 2 "--camera: " "$KEYBITS" collection a.pgm -o c.db --camera PINHOLE,1
refuse 2 "unknown option --colour" describe a.pgm --colour
refuse 2 "unknown option -z" describe a.pgm -z
refuse 2 "no value for -o" describe a.pgm -o
refuse 2 "--quiet takes no value" describe a.pgm --quiet=1
refuse 2 "no value for --model" describe a.pgm --model
refuse 2 "-n takes a whole number from 1 to 1000000" describe a.pgm -n 0
refuse 2 "-n takes a whole number" describe a.pgm -n 3.5
refuse 2 "--scale takes a number from 0.01 to 100" describe a.pgm --scale nan
refuse 2 "--scale takes a number" describe a.pgm --scale wide
refuse 2 "--preset is one of orb" describe a.pgm --preset lens
refuse 2 "--detector is one of orb, sift" describe a.pgm --detector eye
refuse 2 "--orientation is one of" describe a.pgm --orientation up
refuse 2 "--white takes" describe a.pgm --white 65536
refuse 2 "--side takes" describe --patches a.pgm --side 31
refuse 2 "--format is one of" describe a.pgm --format xml
refuse 2 "exclude each other" describe a.pgm -k k.csv --keypoints-dir hollow
refuse 2 "--detector has nothing to do" describe a.pgm -k k.csv --detector orb
refuse 2 "--keypoints is for one image" describe a.pgm a.pgm $good
refuse 2 "takes no images beside it" describe a.pgm --patches a.pgm
refuse 2 "--json needs -o" describe a.pgm $good --json
refuse 1 "not whole patches" describe --patches a.pgm --side 32 -m m.kbm
printf 'P2 32 32 255\n' >short.npy
refuse 1 "short.npy: not a .npy file" describe --patches short.npy -m m.kbm

# interrupted: nothing is left behind
render big.pgm 300 300
keypoints many.csv 4000 300 300
for signal in INT TERM; do
    (trap - INT; exec "$KEYBITS" describe big.pgm -m sift -k many.csv -o late.csv 2>/dev/null) &
    child=$!
    for wait in $(seq 1000); do
        compgen -G 'late.csv.part-*' >/dev/null && break
        kill -0 $child 2>/dev/null || break
        sleep 0.01
    done
    kill -s $signal $child 2>/dev/null
    wait $child
    code=$?
    [ $code = 0 ] || [ ! -e late.csv ] || fail "an interrupted run left its output"
    rm -f late.csv
done
[ ! -e o.npy ] || fail "output in spite of failure"
# What has no end, or waits for ever, is not read from a folder, and from elsewhere up to a limit.
mkdir stuck
render stuck/1.pgm 200 160
mkfifo stuck/0.pgm
ln -s /dev/zero stuck/2.pgm
run timeout 60 "$KEYBITS" detect stuck -o 'stuck/{}.csv' --quiet
[ -s stuck/1.csv ] && [ ! -e stuck/0.csv ] && [ ! -e stuck/2.csv ] || fail "not the files of a folder alone"
refuse 1 "larger than 64 MiB" timeout 60 "$KEYBITS" detect /dev/zero
run timeout 60 "$KEYBITS" detect <(cat stuck/1.pgm) -o piped.csv # a pipe that is named is read
same piped.csv stuck/1.csv
# Nor when a model names it.
mkdir sparse
printf '1 PINHOLE 200 160 300 300 100 80\n' >sparse/cameras.txt
printf '1 1 0 0 0 0 0 0 1 1.pgm\n10 10 1\n2 1 0 0 0 1 0 0 1 0.pgm\n10 10 1\n' >sparse/images.txt
printf '1 0 0 5 0 0 0 1\n' >sparse/points3D.txt
refuse 1 "stuck/0.pgm: not a regular file" timeout 60 "$KEYBITS" localize build sparse stuck -o x.kbl
if "$KEYBITS" --help | grep -q '^  patches '; then
    ends 1 timeout 60 "$KEYBITS" patches colmap sparse stuck -o x.kbp --support 2
    says "stuck/0.pgm: not a regular file"
fi
no_leftovers
