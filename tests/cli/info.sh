# SPDX-License-Identifier: Apache-2.0
# keybits info, help, usage and version.
source "$(dirname "$0")/common.inc"
version=$(sed -n 's/^#define KB_VERSION_STRING "\(.*\)"/\1/p' "${KEYBITS_SOURCE:-$(dirname "$0")/../..}/include/keybits/keybits.h")
run "$KEYBITS" info >info.txt
for words in "keybits    $version" "cpu " "threads" "kernels" "bag256" "rootsift" "JPEG, PNG, PGM, PPM, BMP"; do holds info.txt "$words"; done
run "$KEYBITS" info --json --threads 3 >info.json
for words in "\"version\": \"$version\"" '"threads": 3' '"kernels"' '"name": "sift"'; do holds info.json "$words"; done
if command -v python3 >/dev/null; then python3 -m json.tool info.json >/dev/null || fail "info --json is not JSON"; fi
echo "a text" >text.png # whose refusal names the same formats
refuse 1 "($(sed -n 's/^formats *//p' info.txt))" "$KEYBITS" detect text.png -o -
run "$KEYBITS" info --cpu c >plain.txt
[ -z "$(sed -n '/^kernels/,/^$/p' plain.txt | awk 'NF == 2 && $2 != "c"')" ] || fail "--cpu c leaves other kernels than plain C"
if grep -q '^cpu .*avx2' info.txt; then
    run "$KEYBITS" info --cpu avx2 >avx2.txt
    grep -q '^  hamming  *avx2$' avx2.txt || fail "--cpu avx2 does not run the kernels for AVX2"
fi
refuse 2 "no such instruction set" "$KEYBITS" info --cpu abacus
refuse 2 "takes no arguments" "$KEYBITS" info more
refuse 2 "0 to 256" "$KEYBITS" info --threads 257

# usage: on standard output when asked for, on standard error when it was missing
run "$KEYBITS" --help >help.txt
holds help.txt "describe"
"$KEYBITS" >out.txt 2>err.txt
[ $? = 2 ] || fail "no arguments are exit code 2"
same help.txt err.txt
[ ! -s out.txt ] || fail "usage on standard output without being asked"
[ "$("$KEYBITS" --version)" = "keybits $version" ] || fail "--version"

# every command has a help of its own, by both ways, with the common options
for command in $(sed -n '/^usage/,$ s/^  \([a-z]\{1,\}\)  *[a-z].*/\1/p' help.txt); do
    run "$KEYBITS" help "$command" >a.txt
    run "$KEYBITS" "$command" --help >b.txt
    same a.txt b.txt
    holds a.txt "usage: keybits $command"
done
# the help of subcommands, too; no line of any help is longer than 100 columns, and every default is a value of its option
for command in $(sed -n '/^usage/,$ s/^  \([a-z]\{1,\}\)  *[a-z].*/\1/p' help.txt); do
    "$KEYBITS" help "$command" >a.txt
    for sub in $(sed -n '/^Subcommands/,$ s/^  \([a-z]*\)  .*/\1/p' a.txt); do
        run "$KEYBITS" help "$command" "$sub" >b.txt
        run "$KEYBITS" "$command" "$sub" --help >c.txt
        same b.txt c.txt
        holds b.txt "usage: keybits $command $sub"
        cat b.txt >>a.txt
    done
    awk -v name="$command" 'length($0) > 100 {print name ": " $0; bad = 1} END {exit bad}' a.txt || fail "a long line"
done
run "$KEYBITS" help --man >man.txt
holds man.txt "keybits\-match"
run "$KEYBITS" help --man match >man.txt
holds man.txt ".SH EXAMPLES"
holds man.txt ".SH OPTIONS"
grep -A2 -F 'find a poster' man.txt | grep -qxF 'keybits match poster.jpg photo.jpg \-\-draw match.png' || fail "an example of the man page"
holds man.txt "max\-keypoints"

# help begins with examples, whose options exist; every option states its default once
check_help() {
    run "$KEYBITS" "$@" --help >a.txt
    head -1 a.txt | grep -q "^  keybits $1 .* # " || fail "keybits $* --help does not begin with an example"
    run "$KEYBITS" "$@" --help-all | sed -n '/^usage/,$p' >b.txt
    for option in $(sed '/^usage/,$d; s/ # .*//' a.txt | grep -o -- ' --[a-z-]*'); do
        grep -qe "^  .*$option" b.txt || fail "an example of keybits $* has $option, which does not exist"
    done
    awk '/^  -/ {n = 0} {n += gsub(/default/, "&")} n > 1 {print; bad = 1} END {exit bad}' b.txt ||
        fail "keybits $* --help-all states two defaults"
}
for command in $(sed -n '/^usage/,$ s/^  \([a-z]\{1,\}\)  *[a-z].*/\1/p' help.txt); do
    "$KEYBITS" help "$command" >subs.txt
    subs=$(sed -n '/^Subcommands/,$ s/^  \([a-z]*\)  .*/\1/p' subs.txt)
    [ -n "$subs" ] || check_help "$command"
    for sub in $subs; do check_help "$command" "$sub"; done
done
"$KEYBITS" match --help >a.txt
"$KEYBITS" match --help-all >b.txt
! grep -q -- --fast-threshold a.txt || fail "match --help shows thresholds of detectors"
holds b.txt "--fast-threshold"
run "$KEYBITS" help --completion >completion.txt
grep -q "'match --model'|'match -m') words='.*bag256" completion.txt || fail "model names are not completed"
# completed WORD... is EXPECTED: what bash offers for the last word
completed() { (source ./completion.txt; COMP_WORDS=(keybits "$@"); COMP_CWORD=$#; _keybits; echo "${COMPREPLY[*]}"); }
[ "$(completed eval oxford d -m bag256,hashsift5)" = bag256,hashsift512 ] || fail "a list of models is not completed"
[ "$(completed model show bag1)" = bag128 ] || fail "the model of an argument is not completed"
[ "$(completed loops frames --vocab bag)" = bag256-1k ] || fail "names of vocabularies are not completed"
[ -z "$(completed match photo)" ] || fail "files are not left to bash"
refuse 2 "unknown option --raito; did you mean --ratio?" "$KEYBITS" match a.png b.png --raito 0.8
refuse 2 "did you mean oxford?" "$KEYBITS" eval oxfrod
refuse 2 "did you mean describe?" "$KEYBITS" descirbe
refuse 2 'no command "photosynthesis"' "$KEYBITS" photosynthesis
refuse 2 'no command "nothing"' "$KEYBITS" help nothing
