# SPDX-License-Identifier: Apache-2.0
# new_kinds.sh, with the program too.
exec bash "$(dirname "$0")/new_kinds.sh" program
