# SPDX-License-Identifier: Apache-2.0
# keybits train: models, logs and pages; the same result on any number of threads and after a kill; wrong input.
source "$(dirname "$0")/page.inc"
source "$(dirname "$0")/common.inc"
for i in 1 2 3; do render "p$i.pgm" 320 240 "$i.7"; done
run "$KEYBITS" patches synth p1.pgm p2.pgm p3.pgm -o set.kbp --views 4 --max-per-image 80
run "$KEYBITS" patches synth p1.pgm p2.pgm p3.pgm -o octaves.kbp --views 4 --max-per-image 80 --octaves --support 4
set_of() { if [ "$1" = bag ]; then echo octaves.kbp; else echo set.kbp; fi; }
many=${KEYBITS_SANITIZED:-4000} # candidates: such a training takes long enough to be killed
small="--bits 32 --triplets 200 --candidates 40 --local-search 2 --hold-back 0.3"

# bad and bag: a model that can be used, with the settings in it, a log with one row per bit, a page
for kind in bad bag; do
    run "$KEYBITS" train $kind "$(set_of $kind)" -o $kind.kbm $small --page $kind.html
    says "mAP"
    says "wrote $kind.kbm ($kind, $kind, 32 bits), $kind.csv, $kind.html in "
    lines $kind.csv 34
    holds $kind.html "$(sed -n 's/.* mAP \([0-9.]*\),.*/mAP <b>\1</p' .err)"
    holds $kind.html "Distances of right and wrong pairs"
    holds $kind.html "ROC"
    holds $kind.html "<svg"
    holds $kind.html "Correlation"
    sound_page $kind.html
    "$KEYBITS" model show $kind.kbm >shown.txt
    holds shown.txt "keybits train $kind: bits 32, loss triplet, seed 1, triplets 200"
    holds shown.txt "learned from"
    if [ $kind = bag ]; then
        holds shown.txt ", on octaves"
        holds shown.txt "support   4"
    fi
    run "$KEYBITS" describe p1.pgm -m $kind.kbm --detector orb -o rows.hex
    run "$KEYBITS" train $kind "$(set_of $kind)" -o one.kbm --name $kind $small --threads 1
    same $kind.kbm one.kbm
    run "$KEYBITS" train $kind "$(set_of $kind)" -o other.kbm --name $kind $small --seed 2
    differ $kind.kbm other.kbm
done

# a training that is killed goes on to the same model; so does one whose log ends within a line
for _ in $(seq 50); do # once more when the training was faster than this script
    rm -f killed.*
    "$KEYBITS" train bag octaves.kbp -o killed.kbm --name bag $small --candidates $many >/dev/null 2>&1 &
    pid=$!
    until [ "$(cat killed.csv 2>/dev/null | wc -l)" -gt 6 ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    [ -e killed.kbm ] || break
done
[ ! -e killed.kbm ] || fail "it could not be killed before the end"
run "$KEYBITS" train bag octaves.kbp -o whole.kbm --name bag $small --candidates $many
run "$KEYBITS" train bag octaves.kbp -o killed.kbm --name bag $small --candidates $many --resume
says "going on after bit"
same killed.kbm whole.kbm
cut -d, -f1,6- whole.csv >a; cut -d, -f1,6- killed.csv >b
same a b
head -c 900 whole.csv >killed.csv
run "$KEYBITS" train bag octaves.kbp -o killed.kbm --name bag $small --candidates $many --resume
same killed.kbm whole.kbm

# JSON: what was written, and how good it is, as the words say it
for kind in bad bag hashsift; do
    options=$small
    [ $kind = hashsift ] && options="--bits 32 --steps 20 --hold-back 0.3"
    run "$KEYBITS" train $kind "$(set_of $kind)" -o j.kbm $options --json >train.json
    python3 - $kind .err <<'PY' || fail "$kind: $(cat train.json)"
import json, re, sys
told, words = json.load(open("train.json")), open(sys.argv[2]).read()
assert (told["model"], told["log"], told["page"], told["kind"], told["bits"]) == ("j.kbm", "j.csv", None, sys.argv[1], 32)
assert told["points"] > 10 and told["seconds"] > 0 and told["loss"] > 0
assert f"mAP {told['held_back']['map']:.2f}," in words, words
PY
done

# the paper's recipe: boxes of one size on samples, thresholds of tenths, augmentation; other options change it
run "$KEYBITS" train bad set.kbp -o paper.kbm --paper --bits 32 --triplets 200 --candidates 40
"$KEYBITS" model show paper.kbm >shown.txt
holds shown.txt "keybits train bad --paper: bits 32, loss triplet, seed 1, triplets 200"
holds shown.txt "candidates 40, local search 0, margin 0.2, keep 1, channels 0, radius 1-7, augment on"
holds shown.txt "sampler   patch"
run "$KEYBITS" model export paper.kbm -o paper.txt
awk '!/^#/ { n++; r1 = NF == 6 ? $5 : $4; r2 = NF == 6 ? $5 : $8; t = 10 * $NF
             if (r1 != r2 || t - int(t) > 1e-4 && t - int(t) < 1 - 1e-4 || int(t) - t > 1e-4 && int(t) - t < 1 - 1e-4) bad = 1 }
     END { exit bad || n != 32 }' paper.txt || fail "not the paper's form: $(cat paper.txt)"
run "$KEYBITS" train bad set.kbp -o plain.kbm --name paper --paper --augment off --bits 32 --triplets 200 --candidates 40
"$KEYBITS" model show plain.kbm >shown.txt
holds shown.txt "augment off"
differ paper.kbm plain.kbm
run "$KEYBITS" train hashsift set.kbp -o paper.kbm --paper --bits 32 --steps 20
"$KEYBITS" model show paper.kbm >shown.txt
holds shown.txt "keybits train hashsift --paper: bits 32, loss triplet, SIFT as it is"
holds shown.txt "rate 0.0002 constant, augment anew for every batch"
run "$KEYBITS" train ablation set.kbp --paper --bits 32 --triplets 200 --candidates 20 --steps 20 --models rows >table.txt
lines table.txt 10
holds table.txt "32.24"
[ "$(ls rows | wc -l)" = 9 ] || fail "models of the ablation: $(ls rows)"
refuse 2 "unknown option --paper" "$KEYBITS" train bag octaves.kbp -o x.kbm --paper

# settings of the ablation, channels
# the sampler: cells for BAD unless another is asked for
sampler() { "$KEYBITS" model show x.kbm | grep -qx "sampler   $1" || fail "the sampler is not $1"; }
run "$KEYBITS" train bad set.kbp -o x.kbm $small --loss orb --radius 2
sampler cells
run "$KEYBITS" train bad set.kbp -o x.kbm $small --loss orb --radius 2 --sampler patch
sampler patch
run "$KEYBITS" train bad set.kbp -o x.kbm $small --loss binary --fixed-threshold --radius 2
run "$KEYBITS" train bag octaves.kbp -o x.kbm $small --channels 1-4,7 --two-radii --support 1.5
sampler octaves
"$KEYBITS" model show x.kbm >shown.txt
holds shown.txt "1.5"
run "$KEYBITS" train ablation set.kbp --bits 32 --triplets 200 --candidates 20 --steps 0 --json >table.json
[ "$(grep -c '"paper"' table.json)" = 6 ] || fail "$(cat table.json)"

# HashSIFT
run "$KEYBITS" train hashsift set.kbp -o hash.kbm --bits 32 --steps 60 --page hash.html
lines hash.csv 61
holds hash.html "<svg"
run "$KEYBITS" describe p1.pgm -m hash.kbm --detector orb -o rows.hex
[ ! -e hash.checkpoint ] || fail "the checkpoint of a finished training is left"
no_leftovers

# models side by side
run "$KEYBITS" train compare set.kbp -m bag.kbm,hash.kbm >compared.txt
lines compared.txt 3
holds compared.txt "hash.kbm"
run "$KEYBITS" train compare set.kbp -m bag.kbm --threads 1 >one.txt
run "$KEYBITS" train compare set.kbp -m bag.kbm >two.txt
same one.txt two.txt
# BAG on both kinds of sets; that of its own support comes without a warning, and so does the middle half of it
run "$KEYBITS" train compare octaves.kbp set.kbp -m bag.kbm --json >compared.json
[ "$(grep -c '"map"' compared.json)" = 2 ] || fail "two sets give other than two results"
says "set.kbp: patches of support 1, but bag.kbm describes with 2"
! grep -q octaves.kbp .err || fail "a warning about octaves of the right support: $(cat .err)"
run "$KEYBITS" patches synth p1.pgm p2.pgm p3.pgm -o half.kbp --views 4 --max-per-image 80 --support 2
run "$KEYBITS" train compare half.kbp -m bag.kbm >compared.txt
[ ! -s .err ] || fail "words about a set of the right support: $(cat .err)"
refuse 1 "octaves.kbp holds octaves, but bad.kbm describes patches" "$KEYBITS" train compare octaves.kbp -m bad.kbm --quiet
refuse 2 "needs -m" "$KEYBITS" train compare set.kbp
refuse 2 "needs a set" "$KEYBITS" train compare -m bag.kbm
refuse 1 "floats" "$KEYBITS" train compare set.kbp -m sift
refuse 1 "absent.kbm" "$KEYBITS" train compare set.kbp -m absent.kbm

# wrong usage and wrong input
refuse 2 "needs -o" "$KEYBITS" train bad set.kbp
refuse 2 "patch, cells" "$KEYBITS" train bad set.kbp -o x.kbm --sampler image
refuse 2 "needs a set" "$KEYBITS" train bad -o x.kbm
refuse 2 "multiple of 8" "$KEYBITS" train bad set.kbp -o x.kbm --bits 20
refuse 2 "--radius" "$KEYBITS" train bad set.kbp -o x.kbm --radius 9
refuse 2 "1 to 7" "$KEYBITS" train bad set.kbp -o x.kbm --radius 8 --sampler patch
refuse 2 "--channels" "$KEYBITS" train bad set.kbp -o x.kbm --channels 1-8
refuse 2 "--channels" "$KEYBITS" train bag octaves.kbp -o x.kbm --channels 1-9
refuse 2 "--bits of bag must be a multiple of 32, not 40" "$KEYBITS" train bag octaves.kbp -o x.kbm --bits 40
refuse 2 "unknown option --sampler" "$KEYBITS" train bag octaves.kbp -o x.kbm --sampler patch
refuse 2 "unknown option --augment" "$KEYBITS" train bag octaves.kbp -o x.kbm --augment on
# what is learned from octaves and what from patches
refuse 1 "BAG is learned from octaves" "$KEYBITS" train bag set.kbp -o y.kbm --quiet
refuse 1 "BAG is learned from octaves" "$KEYBITS" train bag octaves.kbp -o y.kbm --validate set.kbp --quiet
refuse 1 "only BAG is learned from" "$KEYBITS" train bad octaves.kbp -o y.kbm --quiet
refuse 1 "only BAG is learned from" "$KEYBITS" train bad set.kbp -o y.kbm --validate octaves.kbp --quiet
refuse 1 "only BAG is learned from" "$KEYBITS" train hashsift octaves.kbp -o y.kbm --quiet
refuse 1 "only BAG is learned from" "$KEYBITS" train ablation octaves.kbp --quiet
refuse 1 "set.kbp: patches of side 32, but octaves.kbp has side 16" "$KEYBITS" train bag octaves.kbp set.kbp -o y.kbm --quiet
python3 - <<'PY'
import struct, zlib
head = b"\x8bKBP\r\n\x1a\n" + struct.pack("<IIQf", 1, 8, 4, 1) + bytes(16)
records = [struct.pack("<II", i // 2, i % 2) + bytes(range(i, i + 64)) for i in range(4)]
open("tiny.kbp", "wb").write(head + struct.pack("<I", zlib.crc32(head)) +
                             b"".join(struct.pack("<I", zlib.crc32(r)) + r for r in records))
PY
refuse 1 "patches of side 8, but 32 is the least" "$KEYBITS" train bad tiny.kbp -o y.kbm --quiet
# thresholds: the larger rate has the larger distance, and accepts no more than it may; so has the ratio its precision
rates="--rate-low 0.5 --rate-high 10 --precision 60"
run "$KEYBITS" train thresholds p1.pgm p2.pgm p3.pgm -m bag.kbm $rates >thresholds.txt
awk 'NR == 2 { ok = $1 == "bag.kbm" && $2 < $5 && $3 <= 0.5 && $6 <= 10 && $4 < $7 && $8 > 0.3 && $9 >= 60 && $10 > 30 }
     END { exit !ok }' thresholds.txt || fail "$(cat thresholds.txt)"
run "$KEYBITS" train thresholds p1.pgm p2.pgm p3.pgm -m bag.kbm $rates --threads 1 --json >thresholds.json
grep -q '"low": *'"$(awk 'NR == 2 { print $2 }' thresholds.txt)," thresholds.json || fail "$(cat thresholds.json)"
# a wrong pair of a narrow window is a nearer neighbour: the distance that accepts as few of them is not larger
run "$KEYBITS" train thresholds p1.pgm p2.pgm p3.pgm -m bag.kbm $rates --window 8 >wide.txt
awk 'FNR == 2 { high[++n] = $5 } END { exit !(high[1] <= high[2]) }' thresholds.txt wide.txt || fail "$(cat wide.txt)"
cp bag.kbm stored.kbm
run "$KEYBITS" model show stored.kbm >bare.txt
! grep -q "of ORB" bare.txt || fail "a model that nobody has measured has distances or a ratio"
run "$KEYBITS" train thresholds p1.pgm p2.pgm p3.pgm -m stored.kbm $rates --store >stored.txt
run "$KEYBITS" model show stored.kbm >shown.txt
holds shown.txt "$(awk 'NR == 2 { print $2 " low, " $5 " high" }' stored.txt)"
holds shown.txt "$(awk 'NR == 2 { print "ratio     " $8 + 0 " (as 0.75 of ORB)" }' stored.txt)"
[ "$(grep -w id bare.txt)" = "$(grep -w id shown.txt)" ] || fail "thresholds have changed the id"
run "$KEYBITS" model export stored.kbm -o table.txt
run "$KEYBITS" model import table.txt -o again.kbm
same stored.kbm again.kbm
sed 's/^#: ratio .*/#: ratio 2/' table.txt >wrong.txt
refuse 1 "ratio 2" "$KEYBITS" model import wrong.txt -o wrong.kbm
refuse 1 "is built in" "$KEYBITS" train thresholds --quiet p1.pgm -m bag256 $rates --store
refuse 2 "go together" "$KEYBITS" train thresholds p1.pgm -m bag.kbm --rate-low 0.5
refuse 1 "floats" "$KEYBITS" train thresholds --quiet p1.pgm -m sift $rates
refuse 1 "set.kbp" "$KEYBITS" train thresholds --quiet set.kbp -m bag.kbm $rates

refuse 2 "--loss" "$KEYBITS" train bag octaves.kbp -o x.kbm --loss hinge
refuse 2 "exclude" "$KEYBITS" train bag octaves.kbp -o x.kbm --validate set.kbp --hold-back 0.5
refuse 2 "has no subcommand" "$KEYBITS" train orb set.kbp
refuse 1 "absent.kbp" "$KEYBITS" train bad absent.kbp -o y.kbm
echo "no set at all" >broken.kbp
refuse 1 "broken.kbp" "$KEYBITS" train bad broken.kbp -o y.kbm
[ ! -e y.kbm ] || fail "a model from nothing"
echo "no log" >bad.csv
refuse 1 "bad.csv" "$KEYBITS" train bad set.kbp -o bad.kbm $small --quiet --resume
cp whole.csv bag.csv
refuse 1 "other settings" "$KEYBITS" train bag octaves.kbp -o bag.kbm $small --seed 5 --quiet --resume
sed 's/^9,/9;/' whole.csv >killed.csv
refuse 1 "killed.csv line 12" "$KEYBITS" train bag octaves.kbp -o killed.kbm --name bag $small --candidates $many --quiet --resume
# Every field of a row is checked: channel, radius, a box outside the patch, thresholds.
for change in '6=16' '9=30' '7=15' '14=nan' '14=inf' '14=1e20'; do
    awk -F, -v OFS=, -v at="${change%=*}" -v to="${change#*=}" '/^9,/ { $at = to } 1' whole.csv >killed.csv
    refuse 1 "killed.csv line 12" "$KEYBITS" train bag octaves.kbp -o killed.kbm --name bag $small --candidates $many --quiet --resume
done
refuse 1 "absent/x.csv" "$KEYBITS" train bad set.kbp -o absent/x.kbm --quiet
exit 0
