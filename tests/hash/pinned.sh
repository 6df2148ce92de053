# SPDX-License-Identifier: Apache-2.0
# pinned.sh HASH-PROGRAM [--renew]: compares what the library computes with tests/hash/expected.txt, with every
# instruction set that was found, with fewer, and with plain C; on 1, 2, 3 and 7 threads.
set -euo pipefail
program=${1:?"usage: pinned.sh HASH-PROGRAM [--renew]"}
expected=$(dirname "$0")/expected.txt

# The built-in models may be learned anew, and "everything" has them in it.
hashes() { "$program" "$@" | grep -v -e ' built-in models$' -e ' everything$'; }

if [ "${2:-}" = --renew ]; then
    hashes >"$expected"
    exit
fi
for way in "all 3" "avx2 1" "sse4.2 2" "c 7"; do
    if ! diff "$expected" <(hashes $way); then
        echo "What the library computes has changed (< expected, > now; instruction sets and threads: $way)."
        echo "Bits are promised to stay: find out why. If the change is meant, write a line in NEWS.md (other bits of a"
        echo "descriptor need another model id too) and renew the numbers: bash tests/hash/pinned.sh $program --renew"
        exit 1
    fi
done
echo "as expected"
