# SPDX-License-Identifier: Apache-2.0
# The same as memory.sh with every allocation.
EVERY=1 exec bash "$(dirname "$0")/memory.sh"
