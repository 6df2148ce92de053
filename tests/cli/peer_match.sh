# SPDX-License-Identifier: Apache-2.0
# Matches are those of OpenCV's BFMatcher, where the build has found OpenCV.
peer=${KEYBITS_BUILD:-}/bench/peer_match
[ -x "$peer" ] || { echo "skipped: this build has no OpenCV to compare with"; exit 77; }
"$peer"
