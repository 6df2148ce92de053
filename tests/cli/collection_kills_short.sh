# SPDX-License-Identifier: Apache-2.0
# The same as collection_kills.sh with fewer kills, for every run of the tests.
KILLS=12 exec bash "$(dirname "$0")/collection_kills.sh"
