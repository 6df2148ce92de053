# SPDX-License-Identifier: Apache-2.0
# keybits eval hpatches: rendered sequences, task files, export, wrong input; a real sequence when it is there.
source "$(dirname "$0")/eval.inc"
source "$(dirname "$0")/common.inc"

# column FILE FIRST DISTURBANCE: twelve patches of 65 x 65, windows of one picture; the disturbance moves the windows
column() {
    local i
    printf 'P2\n65 %d\n255\n' $((65 * 12)) >"$1"
    for i in $(seq 0 11); do
        noise .patch 65 65 $(((i * 7 + $2) * 40 + $3 * (i % 3))) $((30 + $2 + $3 * (i % 2)))
        tail -n +4 .patch >>"$1"
    done
}
for s in i_one v_two; do
    mkdir -p set/$s
    n=$([ $s = i_one ] && echo 1 || echo 90)
    column $s.ref.pgm $n 0
    column $s.e.pgm $n 1
    column $s.h.pgm $n 4
    column $s.t.pgm $n 12
    cp $s.ref.pgm set/$s/ref.png # the content decides, not the name
    for i in 1 2 3 4 5; do for t in e h t; do cp $s.$t.pgm set/$s/$t$i.png; done; done
done

run "$KEYBITS" eval hpatches set -m sift --pairs 2000 --json --export-csv csv --cache cache >out.json
if command -v python3 >/dev/null; then python3 -m json.tool out.json >/dev/null || fail "not JSON"; fi
between out.json sequences 2 2
between out.json verification 0.3 1
between out.json matching 0.2 0.999
between out.json retrieval 0.2 1
says "drawn again"
[ "$(ls csv/sift/i_one | wc -l)" = 16 ] || fail "16 files a sequence"
lines csv/sift/v_two/t3.csv 12
[ "$(head -1 csv/sift/v_two/t3.csv | tr ',' '\n' | wc -l)" = 128 ] || fail "128 columns"
run "$KEYBITS" eval hpatches set -m sift --pairs 2000 --json --cache cache --threads 1 >again.json
same out.json again.json

# one task, one sequence, another split, files of tasks
run "$KEYBITS" eval hpatches set/i_one -m sift --task matching --json >matching.json
holds matching.json '"verification": null'
between matching.json sequences 1 1
refuse 1 "no sequence of split view" "$KEYBITS" eval hpatches set -m sift --split view
mkdir tasks
printf 's,idx\ni_one,0\nv_two,3\n' >tasks/retr_queries_split-full.csv
printf 's,idx\ni_one,5\nv_two,6\nnobody,6\n' >tasks/retr_distractors_split-full.csv
run "$KEYBITS" eval hpatches set -m sift --task retrieval --tasks tasks --json >retrieval.json
between retrieval.json task_rows_skipped 1 1
holds retrieval.json '"retrieval_task": "files"'
run "$KEYBITS" eval hpatches set --export-patches patches.npy
head -c 128 patches.npy | grep -aqF "'shape': (384, 65, 65), }" || fail "the shape of the patches"

refuse 2 "one folder" "$KEYBITS" eval hpatches -m sift
refuse 2 "--split" "$KEYBITS" eval hpatches set -m sift --split z
refuse 2 "--task" "$KEYBITS" eval hpatches set -m sift --task swimming
refuse 1 "nowhere" "$KEYBITS" eval hpatches nowhere -m sift
rm set/v_two/h4.png
refuse 1 "h4.png" "$KEYBITS" eval hpatches set -m sift --task matching
no_leftovers

# The published BAD-256 on 600 patches of a sequence: about what the benchmark's own Python gives (0.356, 0.754).
patches=${KEYBITS_SHARED:-}/data/eval/hpatches-patches
[ -d "$patches" ] || exit 0
run "$KEYBITS" model import "$KEYBITS_SHARED/published/bad256.txt" --sampler patch -o patch.kbm
run "$KEYBITS" eval hpatches "$patches" -m patch.kbm --pairs 100000 --json >contruction.json
between contruction.json sequences 1 1
between contruction.json matching 0.34 0.38
between contruction.json verification 0.74 0.77
