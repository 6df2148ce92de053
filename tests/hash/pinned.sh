# pinned.sh HASH-PROGRAM [--renew]: compares what the library computes with tests/hash/expected.txt, with every
# instruction set that was found and with plain C.
set -euo pipefail
program=${1:?"usage: pinned.sh HASH-PROGRAM [--renew]"}
expected=$(dirname "$0")/expected.txt

# The built-in models may be learned anew, and "everything" has them in it.
hashes() { "$program" "$@" | grep -v -e ' built-in models$' -e ' everything$'; }

if [ "${2:-}" = --renew ]; then
    hashes >"$expected"
    exit
fi
for features in "" c; do
    if ! diff "$expected" <(hashes ${features:+"$features"}); then
        echo "What the library computes has changed (< expected, > now${features:+, instruction sets: $features})."
        echo "Bits are promised to stay: find out why. If the change is meant, write a line in NEWS.md (other bits of a"
        echo "descriptor need another model id too) and renew the numbers: bash tests/hash/pinned.sh $program --renew"
        exit 1
    fi
done
echo "as expected"
