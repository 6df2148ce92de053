# keybits eval speed and keybits eval energy: the rows that are promised, and counters that are pretended.
source "$(dirname "$0")/eval.inc"
source "$(dirname "$0")/common.inc"
mkdir images
for i in 0 1 2; do noise images/view$i.pgm 200 160 $((20 + 8 * i)) $((20 + 5 * i)); done

run "$KEYBITS" eval speed images -m sift,rootsift -n 100 --repeats 2 --json >speed.json
if command -v python3 >/dev/null; then python3 -m json.tool speed.json >/dev/null || fail "not JSON"; fi
for words in '"step": "detect"' '"step": "describe"' '"step": "match"' '"step": "fit"' '"name": "rootsift"' \
             '"processor"'; do
    holds speed.json "$words"
done
between speed.json images 3 3
between speed.json threads 1 1
between speed.json ms 0.0001 10000
between speed.json cpu_ms 0.0001 10000
run "$KEYBITS" eval speed images/view0.pgm -m sift -n 100 --repeats 1 --threads 2 >table.txt
holds table.txt "describe"
! grep -q match table.txt || fail "one image has no pair to match"

# counters that stand still are no counters; the processor time is always there
mkdir -p sys/class/powercap
run env KEYBITS_SYSFS="$scratch/sys" "$KEYBITS" eval energy images -m sift -n 100 --seconds 0.2 --json >energy.json
between energy.json cpu_ms 0.01 10000
between energy.json fps 0.01 100000
holds energy.json '"millijoules": null'
says "not measurable here"

refuse 2 "takes images" "$KEYBITS" eval speed
refuse 2 "1 to 1000" "$KEYBITS" eval speed images --repeats 0
refuse 1 "two images" "$KEYBITS" eval energy images/view0.pgm -m sift
refuse 2 "0.1 to 3600" "$KEYBITS" eval energy images -m sift --seconds 0
refuse 1 "nowhere" "$KEYBITS" eval speed nowhere -m sift
