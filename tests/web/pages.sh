#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The pages in a real browser. Screenshots are kept in <build>/web-pictures.
set -euo pipefail
source "$KEYBITS_SOURCE/tests/web/common.inc"
need_web_build
need_tool node
need_tool npm
need_tool chromium
web_tools || { echo "skipped: playwright-core cannot be had, since the npm registry cannot be reached"; exit 77; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
cp "$KEYBITS_SOURCE"/tests/web/{pages,files,browser}.mjs "$KEYBITS_SOURCE"/bindings/web/pages/scene.js .
echo '{"type": "module", "private": true}' >package.json
KEYBITS_TOOLS=$tools node pages.mjs "$KEYBITS_BUILD/web" "$KEYBITS_BUILD/web-pictures"
