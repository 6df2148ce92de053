# SPDX-License-Identifier: Apache-2.0
# No output is an input of the same run, or another output, in any command, by whatever name: the file itself, a path to it, a
# hard link, a symbolic link. Nothing is read, written or made when it would be.
source "$(dirname "$0")/common.inc"
keybits() { "$KEYBITS" "$@"; }
has() { keybits --help | grep -q "^  $1 "; }
render a.pgm 200 160
render b.pgm 200 160 2
bad_table t.txt 32
keypoints k.csv 40 200 160
run keybits model import t.txt -o m.kbm
run keybits describe a.pgm -m m.kbm -k k.csv -o rows.npy
mkdir folder csv
cp a.pgm b.pgm folder/
cp k.csv csv/a.csv
if has train; then
    run keybits patches synth a.pgm b.pgm -o p.kbp --views 2 --max-per-image 40 --tilt 20
    run keybits patches synth a.pgm b.pgm -o o.kbp --views 2 --max-per-image 40 --tilt 20 --octaves
    run keybits patches synth a.pgm b.pgm -o q.kbp --views 2 --max-per-image 40 --tilt 20 --seed 2
fi
if has eval; then echo '{"benchmark": "sfm", "set": "s", "model": "m", "images": 2, "registered": 0, "points": 0}' >r.json; fi

state() { find . -not -name '.out' -not -name '.err' -not -name '.state*' \( -type f -exec cksum {} + -o -type l -print -o -type d -print \) | sort; }

# keeps INPUT SUFFIX COMMAND...: the command, in which OUT stands for the output, refuses INPUT there by all of its names
keeps() {
    local input=$1 suffix=$2 name names
    shift 2
    mkdir -p names
    ln "$input" "names/hard$suffix"
    ln -s "../$input" "names/soft$suffix"
    names=("names/hard$suffix" "names/soft$suffix" "./names/../names/hard$suffix")
    case $input in *"$suffix") names+=("$input" "$PWD/$input") ;; esac
    for name in "${names[@]}"; do
        state >.state
        refuse 1 "is an input, and would be overwritten" keybits "${@//OUT/$name}"
        state >.state2
        same .state .state2
    done
    rm -r names
}

keeps a.pgm .csv detect a.pgm -o OUT
keeps b.pgm .png detect a.pgm --mask b.pgm --draw OUT
keeps a.pgm .npy describe a.pgm -m m.kbm -k k.csv -o OUT
keeps k.csv .csv describe a.pgm -m m.kbm -k k.csv -o OUT
keeps m.kbm .npy describe a.pgm -m m.kbm -k k.csv -o OUT
keeps csv/a.csv .csv describe a.pgm -m m.kbm --keypoints-dir csv -o OUT
keeps a.pgm .npy describe --patches a.pgm --side 40 -m m.kbm -o OUT
keeps b.pgm .csv match a.pgm b.pgm -m m.kbm -o OUT
keeps m.kbm .png match a.pgm b.pgm -m m.kbm --draw OUT
keeps k.csv .csv match a.pgm b.pgm -m m.kbm --keypoints-b k.csv -o OUT
keeps rows.npy .csv match rows.npy rows.npy --keypoints-a k.csv --keypoints-b k.csv -o OUT
keeps a.pgm .csv track a.pgm b.pgm -m m.kbm -o OUT
keeps folder/b.pgm .y4m track a.pgm folder -m m.kbm --y4m OUT
keeps t.txt .kbm model import t.txt -o OUT
keeps m.kbm .txt model export m.kbm -o OUT
keeps m.kbm .svg model show m.kbm --svg OUT
run keybits describe b.pgm -m m.kbm -k k.csv -o more.npy
run keybits vocab train rows.npy more.npy -m m.kbm -w 64 -o v.kbv
keeps rows.npy .kbv vocab train rows.npy more.npy -m m.kbm -w 64 -o OUT
keeps v.kbv .kbv vocab convert v.kbv -o OUT
run keybits index build a.pgm -m m.kbm --vocab v.kbv -o i.kbi
keeps b.pgm .kbi index build a.pgm b.pgm -m m.kbm --vocab v.kbv -o OUT
keeps b.pgm .kbi index add i.kbi b.pgm -m m.kbm -o OUT
if has train; then
    keeps p.kbp .kbm train bad p.kbp -o OUT --bits 8 --triplets 64 --candidates 4
    keeps o.kbp .csv train bag o.kbp -o new.kbm --log OUT --bits 32
    keeps p.kbp .html train hashsift p.kbp -o new.kbm --page OUT --bits 8 --steps 1
    keeps q.kbp .kbm train hashsift p.kbp --validate q.kbp -o OUT --bits 8 --steps 1
    keeps p.kbp .png patches show p.kbp -o OUT
    keeps a.pgm .kbp patches synth a.pgm b.pgm -o OUT
    keeps folder/a.pgm .kbp patches synth folder -o OUT
    # files whose names are derived from the model's
    cp p.kbp new.csv
    refuse 1 "new.csv is an input" keybits train bad new.csv -o new.kbm --bits 8
    cp p.kbp new.checkpoint
    refuse 1 "new.checkpoint is an input" keybits train hashsift new.checkpoint -o new.kbm --log l.csv --bits 8 --steps 1
    same p.kbp new.csv
    same p.kbp new.checkpoint
    [ ! -e new.kbm ] && [ ! -e l.csv ] || fail "output in spite of refusal"
fi
if has eval; then
    keeps r.json .html eval report r.json -o OUT
    refuse 2 "--export-patches: folder/a.pgm must end in .npy" keybits eval oxford folder --export-patches folder/a.pgm
    keeps a.pgm .html bench a.pgm b.pgm --no-peers -m m.kbm --rows detect --plots OUT
fi
if has export; then
    keeps a.pgm .db export colmap a.pgm b.pgm -m m.kbm -o OUT
    keeps m.kbm .db export colmap a.pgm b.pgm -m m.kbm -o OUT
    printf 'a.pgm b.pgm\n' >new.pairs.txt
    cp new.pairs.txt before.txt
    refuse 1 "new.pairs.txt is an input" keybits export colmap a.pgm b.pgm -m m.kbm --pairs new.pairs.txt -o new.db
    same new.pairs.txt before.txt
    [ ! -e new.db ] || fail "a database in spite of refusal"
fi

# files inside folders that are written, before they are there and after
printf 'a.pgm b.pgm\n' >list.txt
mkdir work mvg
for at in work/pairs.txt work/expanded.txt mvg/matches.f.txt mvg/sfm_data.json mvg/a.feat; do
    cp list.txt $at
    state >.state
    refuse 1 "$at is an input, and would be overwritten" keybits collection a.pgm b.pgm -o new.db --work work --openmvg mvg --list $at
    state >.state2
    same .state .state2
    rm $at
done
run keybits collection a.pgm b.pgm -o new.db --work work -n 100
for at in work/features/000000.kbf work/blocks/000000.pairs; do
    cp $at before.bin
    refuse 1 "$at is an input, and would be overwritten" keybits collection a.pgm b.pgm -o new.db --work work -n 100 --list $at
    same $at before.bin
done
rm -r work mvg new.db

# the map and the outputs of localize
cp list.txt vocab.kbv
refuse 1 "vocab.kbv is an input, and would be overwritten" keybits localize build . . -o vocab.kbv --vocab vocab.kbv
same list.txt vocab.kbv
mkdir model
printf '1 PINHOLE 200 160 300 300 100 80\n' >model/cameras.txt
printf '1 1 0 0 0 0 0 0 1 a.pgm\n10 10 1\n2 1 0 0 0 1 0 0 1 b.pgm\n10 10 1\n' >model/images.txt
printf '1 0 0 5 0 0 0 1\n' >model/points3D.txt
keeps model/points3D.txt .kbl localize build model . -o OUT
keeps b.pgm .kbl localize build model . -o OUT
refuse 1 "list.txt is an input, and would be overwritten" keybits localize list.txt a.pgm -o list.txt
refuse 1 "a.pgm is an input, and would be overwritten" keybits localize list.txt a.pgm -o a.pgm
rm vocab.kbv

# two outputs that are one file, also one that is not there yet
refuse 1 "./x.csv would be written twice" keybits match a.pgm b.pgm -m m.kbm -o x.csv --draw ./x.csv
ln -s nowhere.csv dangling.png
refuse 1 "dangling.png would be written twice" keybits match a.pgm b.pgm -m m.kbm -o nowhere.csv --draw dangling.png
refuse 1 "would be written twice" keybits track a.pgm b.pgm -m m.kbm -o same.y4m --y4m ./same.y4m
refuse 2 "both want standard output" keybits track a.pgm b.pgm -m m.kbm -o - --y4m -
if has train; then refuse 1 "would be written twice" keybits train bad p.kbp -o new.kbm --log new.kbm --bits 8; fi
[ ! -e nowhere.csv ] && [ ! -e same.y4m ] && [ ! -e x.csv ] || fail "output in spite of refusal"

# a list is an input; many outputs at once
printf 'a.pgm\nb.pgm\n' >list.txt
cp list.txt before.txt
ln list.txt out.csv
refuse 1 "out.csv" keybits detect @list.txt -o out.csv
same list.txt before.txt
mkdir out
ln a.pgm out/b.csv
refuse 1 "out/b.csv is an input" keybits detect a.pgm b.pgm -o 'out/{}.csv'
[ ! -e out/a.csv ] || fail "a part was written"
no_leftovers
