# SPDX-License-Identifier: Apache-2.0
# Guided matching gives what a plain loop over a grid gives (bench/guided.cpp, which also prints the times of both).
program=${KEYBITS_BUILD:-}/bench/guided
[ -x "$program" ] || { echo "skipped: this build has no C++ programs in bench/"; exit 77; }
"$program"
