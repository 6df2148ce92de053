# SPDX-License-Identifier: Apache-2.0
# The long runs of bench/soak, short: memory does not grow, and results stay right.
source "$(dirname "$0")/common.inc"
soak=${KEYBITS_BUILD:-}/bench/soak
[ -x "$soak" ] || { echo "skipped: this build has no bench/soak"; exit 77; }
"$soak" track "$KEYBITS" 1000 || fail "track"
"$soak" index 20000 || fail "index"
