# SPDX-License-Identifier: Apache-2.0
"""The installed package matches two images; prints where it is, its version and how many places it found."""
import pathlib

import keybits
import numpy as np

blocks = np.kron(np.random.default_rng(1).integers(0, 256, (80, 80)), np.ones((6, 6))).astype(np.uint8)
result = keybits.match_images(np.ascontiguousarray(blocks[:240, :320]), np.ascontiguousarray(blocks[:240, 12:332]))
assert result.found, result
print(pathlib.Path(keybits.__file__).parent, keybits.__version__, "places", result.places)
