# SPDX-License-Identifier: Apache-2.0
# Nothing that the user gave vanishes without a word: other formats, folders beside images, empty and single images, the
# same image twice, names with spaces.
source "$(dirname "$0")/common.inc"
mkdir -p photos/day2
render photos/1.pgm 320 240 7
sed '4s/.*/0/' photos/1.pgm >photos/2.pgm # nearly the same picture, but not the same image
sed '5s/.*/0/' photos/1.pgm >photos/day2/3.pgm
: >photos/IMG_1.CR2
: >photos/IMG_2.gif
: >photos/notes.txt
ln -s nowhere.jpg photos/gone.jpg

for command in "collection -o c.db" "index build -o c.kbi" "loops" "detect -o c.csv"; do
    words=($command)
    case $command in
    detect*) mkdir c; run "$KEYBITS" detect photos -o c/ ;;
    index*) run "$KEYBITS" index build photos -o c.kbi ;;
    *) run "$KEYBITS" "${words[0]}" photos "${words[@]:1}" ;;
    esac
    says "2 files of formats that are not read, such as photos/IMG_1.CR2"
    says "1 folder in it, such as photos/day2"
    says "1 name that leads to no file, such as photos/gone.jpg"
    grep -q notes.txt "$scratch/.err" && fail "a text is no photograph"
done
mkdir -p above/a/deeper above/b
cp photos/1.pgm above/a/1.pgm
cp photos/2.pgm above/b/2.pgm
: >above/b/x.dng
run "$KEYBITS" index build above -o above.kbi # folders of a folder are taken, theirs are not
says "1 file of a format that is not read, such as above/b/x.dng"
says "1 folder in it, such as above/a/deeper"
says "2 images, 2 added"

# one image, black images, the same image twice
run "$KEYBITS" collection photos/1.pgm -o one.db
says "1 images make no pair"
head -c 76800 /dev/zero | cat <(printf 'P5 320 240 255\n') - >black.pgm
run "$KEYBITS" collection photos/1.pgm photos/2.pgm black.pgm -o black.db
says "1 images have no keypoints, such as black.pgm"
run "$KEYBITS" index build photos/1.pgm black.pgm -o black.kbi
says "black.pgm: no keypoints"
python3 -c '
import random
random.seed(3)
open("other.pgm", "wb").write(b"P5 320 240 255\n" + bytes(random.randrange(256) for _ in range(76800)))'
run "$KEYBITS" collection photos/1.pgm other.pgm -o none.db
says "none of 1 pairs is verified"
ln -s 1.pgm photos/again.pgm
run "$KEYBITS" collection photos/1.pgm photos/again.pgm photos/2.pgm photos/1.pgm -o twice.db --json >twice.json
says "photos/again.pgm is the same image as photos/1.pgm, and left out"
says "photos/1.pgm is named twice, and taken once"
python3 -c 'import json; d = json.load(open("twice.json")); assert d["images"] == 2 and d["pairs"] == 1, d' || fail "twice"
run "$KEYBITS" index build photos/1.pgm photos/again.pgm photos/2.pgm -o twice.kbi
says "2 images, 2 added"
cp photos/1.pgm copy.pgm
run "$KEYBITS" collection photos/1.pgm photos/2.pgm copy.pgm -o copies.db
says "copy.pgm is the same image as photos/1.pgm, and left out"
says "copies.db: 2 images"
refuse 1 "at least two images are needed" "$KEYBITS" vocab train photos/1.pgm copy.pgm -o words.kbv --quiet
refuse 1 "each of 2 images has all 2 words" "$KEYBITS" vocab train photos/1.pgm other.pgm --words 2 -o words.kbv
[ ! -e words.kbv ] || fail "a vocabulary without weights was written"

# photographs without keypoints are not just not found
run "$KEYBITS" search twice.kbi black.pgm >/dev/null
says "black.pgm: no keypoints, so that nothing can be found"
run "$KEYBITS" index query twice.kbi black.pgm >/dev/null
says "black.pgm: no keypoints, so that nothing can be found"

# a list of pairs on standard input is read once
run "$KEYBITS" collection photos/1.pgm photos/2.pgm -o listed.db --list - < <(echo 1.pgm 2.pgm)
says "1 pairs, 1 of them verified"

# what failed gives exit code 1, and the rest is done
echo nothing >broken.jpg
ends 1 "$KEYBITS" collection photos/1.pgm photos/2.pgm broken.jpg -o broken.db
says "left out: broken.jpg"
[ -s broken.db ] || fail "the other images have no database"
ends 1 "$KEYBITS" index build photos/1.pgm broken.jpg -o broken.kbi
[ -s broken.kbi ] || fail "the other images have no index"
ends 1 "$KEYBITS" loops photos/1.pgm broken.jpg photos/2.pgm
ends 1 "$KEYBITS" vocab train photos/1.pgm other.pgm broken.jpg --words 100 -o words.kbv
[ -s words.kbv ] || fail "the other images have no vocabulary"

# names with spaces, before anything is done
cp photos/1.pgm "with space.pgm"
refuse 1 "cannot hold names with spaces" "$KEYBITS" collection "with space.pgm" photos/2.pgm -o s.db --matches s.txt
[ ! -e s.db ] && [ ! -e s.db.work ] || fail "work was done"
run "$KEYBITS" collection "with space.pgm" photos/2.pgm -o s.db --matches s.npz
refuse 1 "cannot hold names with spaces" "$KEYBITS" export colmap "with space.pgm" photos/2.pgm -o e.db
[ ! -e e.db ] || fail "a database was left"
