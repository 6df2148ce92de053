# SPDX-License-Identifier: Apache-2.0
# Every command of README and docs: see run.py.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$root/scripts/python.inc"
python=$(find_python numpy cv2)
exec "$python" "$root/tests/docs/run.py" "$@"
