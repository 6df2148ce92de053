#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The npm package: packed, installed into an empty folder, tested in node beside the program, typed, bundled, weighed.
set -euo pipefail
source "$KEYBITS_SOURCE/tests/web/common.inc"
need_web_build
need_tool node
need_tool npm

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

# Weight. The limit is that of the library with two models; vocabularies are loaded by those who need them.
limit=$((96 * 1024))
weight=$(gzip -9 -c "$KEYBITS_BUILD/web/package/keybits.wasm" | wc -c)
scripts=$(cat "$KEYBITS_BUILD"/web/package/*.js | gzip -9 -c | wc -c)
echo "keybits.wasm: $weight bytes gzipped, JavaScript: $scripts"
if command -v wasm-opt >/dev/null && [ "$weight" -gt "$limit" ]; then
    echo "more than $limit bytes"
    exit 1
fi

npm pack --silent --offline "$KEYBITS_BUILD/web/package" >packed.txt
tarball=$(tail -n 1 packed.txt)
tar -tzf "$tarball" | sort >listed.txt
diff listed.txt <(printf 'package/%s\n' LICENSE NOTICE README.md bad256-1k.kbv bag256-1k.kbv input.js keybits.d.ts \
    keybits.js keybits.wasm package.json tracker.js | sort)
mkdir empty && cd empty
echo '{"type": "module", "private": true}' >package.json
npm install --silent --offline --no-audit --no-fund "../$tarball"
cp "$KEYBITS_SOURCE"/tests/web/*.test.mjs "$KEYBITS_SOURCE"/bindings/web/pages/scene.js .
node --expose-gc --test package.test.mjs input.test.mjs >log.txt 2>&1 || { cat log.txt; exit 1; }
grep -E '^# (tests|pass|fail)' log.txt

if ! web_tools; then
    echo "not typed and bundled: the npm registry cannot be reached"
    exit 0
fi
cp "$KEYBITS_SOURCE"/tests/web/use.ts .
"$tools/.bin/tsc" --noEmit --strict --target es2022 --module nodenext --moduleResolution nodenext \
    --lib es2022,dom,esnext.disposable use.ts
"$tools/.bin/tsc" --noEmit --strict --target es2022 --module esnext --moduleResolution bundler --lib es2022,dom use.ts
"$tools/.bin/esbuild" use.ts --bundle --format=esm --platform=browser --external:node:fs/promises --log-level=error \
    --outfile=bundle/use.js
grep -q 'keybits.wasm' bundle/use.js
cp node_modules/keybits/*.wasm node_modules/keybits/*.kbv bundle/
[ "$(node bundle/use.js)" = "bundled: found" ]
echo "typed and bundled"
