# keybits eval report: a page out of a tiny data set, sound by itself and in a browser when there is one.
source "$(dirname "$0")/eval.inc"
source "$(dirname "$0")/common.inc"
mkdir -p set/shift
noise set/shift/1.pgm 200 160 20 20
noise set/shift/2.pgm 200 160 29 14
echo "1 0 -9  0 1 6  0 0 1" >set/shift/H_1_2
run "$KEYBITS" eval oxford set -m sift,rootsift -n 150 --curves --json >oxford.json
run "$KEYBITS" eval speed set/shift -m sift,rootsift -n 150 --repeats 1 --json >speed.json
run "$KEYBITS" eval energy set/shift -m sift -n 150 --seconds 0.1 --json >energy.json
echo '{"benchmark": "hpatches", "model": "<b>&bad256", "split": "full", "matching": 0.25}' >hpatches.json
echo '{"benchmark": "brown", "model": "bad256", "sets": [{"set": "notredame", "fpr95": 31.5}]}' >brown.json
echo '{"benchmark": "sfm", "set": "fountain-P11", "model": "m/hashsift256.kbm", "points": 5769}' >sfm.json
echo '[{"name": "learned threshold", "paper": 19.95, "map": 44.5}]' >ablation.json
results="oxford.json speed.json energy.json hpatches.json brown.json sfm.json ablation.json"
run "$KEYBITS" eval report $results -o page.html --title 'Small & tidy'
says "8 results"
for words in "Small &amp; tidy" "Accuracy against cost" "&lt;b&gt;&amp;bad256" "22.19" "30.97" ">hashsift256<" "16086" \
             "19.95" "44.50" "The machine" "polyline"; do
    holds page.html "$words"
done
! grep -qE '<script|src=|href=|url\(|@import' page.html || fail "the page needs something from elsewhere"
[ "$(grep -o '<svg' page.html | wc -l)" = "$(grep -o '</svg>' page.html | wc -l)" ] || fail "an svg is not closed"
! grep -qiE '(nan|inf)[^a-z]' <(grep -o 'c[xy]="[^"]*"' page.html) || fail "a point that is no number"
run "$KEYBITS" eval report $results -o again.html --title 'Small & tidy'
same page.html again.html

refuse 2 "takes results" "$KEYBITS" eval report -o x.html
refuse 2 "-o REPORT.html" "$KEYBITS" eval report oxford.json
refuse 1 "nothing.json" "$KEYBITS" eval report nothing.json -o x.html
echo '{"some": "thing"}' >other.json
refuse 1 "other.json: holds no result" "$KEYBITS" eval report oxford.json other.json -o x.html
echo '{"benchmark": ' >broken.json
refuse 1 "broken.json" "$KEYBITS" eval report broken.json -o x.html
[ ! -e x.html ] || fail "a page in spite of failure"
no_leftovers

# In a browser, at the widths of a desktop and of a phone: everything is drawn, and nothing sticks out sideways.
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || exit 0
cat page.html - >probe.html <<'HTML'
<script>
const drawn = [...document.querySelectorAll("svg circle, svg polyline, table")];
const shown = drawn.filter(e => e.getBoundingClientRect().width > 0).length;
const fits = document.documentElement.scrollWidth <= innerWidth;
document.title = "probe " + (fits ? "fits" : "sticks out") + " " + shown;
</script>
HTML
for width in 1280 390; do
    "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$scratch/profile" --window-size=$width,900 \
        --dump-dom "file://$scratch/probe.html" >dom.html 2>browser.err || fail "browser: $(tail -1 browser.err)"
    grep -qE '<title>probe fits [1-9][0-9]+</title>' dom.html || fail "$width px: $(grep -o '<title>[^<]*' dom.html)"
done
