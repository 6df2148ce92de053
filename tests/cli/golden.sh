# SPDX-License-Identifier: Apache-2.0
# The published tables give the authors' own answers: BAD to the bit, HashSIFT in at least 97 % of the bits.
source "$(dirname "$0")/common.inc"
golden=${KEYBITS_SHARED:-}/published/golden
[ -d "$golden" ] || { echo "skipped: no data folder with published/golden"; exit 77; }

# agreement A B: per cent of equal bits of two files of hexadecimal rows
agreement() {
    paste -d' ' "$1" "$2" | awk 'BEGIN {
        d = "0123456789abcdef"
        for (i = 0; i < 16; i++) for (j = 0; j < 16; j++) {
            n = 0; a = i; b = j
            for (k = 0; k < 4; k++) { n += a % 2 == b % 2; a = int(a / 2); b = int(b / 2) }
            equal[substr(d, i + 1, 1) substr(d, j + 1, 1)] = n
        }
    }
    length($1) != length($2) { exit 1 }
    { for (i = 1; i <= length($1); i++) { same += equal[substr($1, i, 1) substr($2, i, 1)]; all += 4 } }
    END { printf "%.3f\n", 100 * same / all }'
}

for bits in 256 512; do
    run "$KEYBITS" model import "$golden/../bad$bits.txt" -o bad$bits.kbm
    run "$KEYBITS" model import "$golden/../hashsift$bits.txt" -o hashsift$bits.kbm
    for image in graf1 bikes3; do
        for detector in orb sift; do
            csv=$golden/$image.$detector.keypoints.csv
            run "$KEYBITS" describe "$golden/$image.png" -m bad$bits.kbm -k "$csv" --preset $detector -o bad.hex
            same bad.hex "$golden/$image.$detector.bad$bits.hex"
            run "$KEYBITS" describe "$golden/$image.png" -m hashsift$bits.kbm -k "$csv" --preset $detector -o hash.hex
            lines hash.hex $(($(wc -l <"$csv") - 1))
            percent=$(agreement hash.hex "$golden/$image.$detector.hashsift$bits.hex")
            echo "$image $detector: BAD-$bits exact, HashSIFT-$bits $percent % of the bits"
            awk -v p="$percent" 'BEGIN { exit !(p >= 97) }' || fail "HashSIFT-$bits: only $percent % of the bits agree"
        done
    done
done
