#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A thousand targets in one index, and 2,000 frames with 200 targets, in node and in the page: what is found, and memory that
# does not grow.
set -euo pipefail
source "$KEYBITS_SOURCE/tests/web/common.inc"
need_web_build
need_tool node
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp -r "$KEYBITS_BUILD/web/package" "$scratch/package"
cp "$KEYBITS_SOURCE/tests/web/many_targets.mjs" "$KEYBITS_SOURCE/bindings/web/pages/scene.js" "$scratch/"
cd "$scratch"
node many_targets.mjs
KEYBITS_PAGES=steady bash "$KEYBITS_SOURCE/tests/web/pages.sh"
