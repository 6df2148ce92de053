# SPDX-License-Identifier: Apache-2.0
# The same as kills.sh with fewer kills, for every run of the tests.
KILLS=1 exec bash "$(dirname "$0")/kills.sh"
