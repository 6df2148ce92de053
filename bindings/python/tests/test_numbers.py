# SPDX-License-Identifier: Apache-2.0
"""Numbers that do not fit into their C type are refused, wherever they go in; pickles hold values only."""
import ctypes
import subprocess
import sys

import numpy as np
import pytest

import keybits
from keybits import _abi
from keybits._library import lib, new

TOO_LARGE = (2 ** 31, 2 ** 32, 2 ** 32 + 5, -2 ** 32 + 1, 10 ** 30)


@pytest.fixture(scope="module")
def index(features):
    index = keybits.Index(keybits.Vocabulary.train(np.array_split(features.descriptors, 20), branching=8, levels=2), keep_features=True)
    index.add(features)
    return index


@pytest.mark.parametrize("wrong", TOO_LARGE)
def test_no_option_wraps(wrong, index, image, features):
    points = features.keypoints
    rows = features.descriptors
    matches = keybits.match(rows, rows)
    for call in (lambda: index.query(features, verify=wrong), lambda: index.query(features, probes=wrong),
                 lambda: keybits.Vocabulary.train(rows, branching=wrong),
                 lambda: keybits.Vocabulary.train(rows, levels=wrong),
                 lambda: keybits.Vocabulary.train(rows, iterations=wrong),
                 lambda: index.vocabulary.words_and_nodes(features, wrong),
                 lambda: keybits.LoopDetector(index.vocabulary, window=wrong),
                 lambda: keybits.LoopDetector(index.vocabulary, min_places=wrong),
                 lambda: keybits.select(points, (wrong, 240), 10),
                 lambda: index.add(rows, keypoints=points, size=(320, wrong)),
                 lambda: keybits.build_pyramid(image, wrong),
                 lambda: keybits.filter_matches(points, points, matches, min_support=wrong),
                 lambda: keybits.refine_matches(image, image, points, points, matches, iterations=wrong)):
        with pytest.raises(keybits.KeybitsValueError, match=str(wrong)):
            call()


def test_every_integer_of_every_struct():
    """The check is in the struct, so no call can forget it."""
    tried = 0
    for name, kind in vars(_abi).items():
        if not (isinstance(kind, type) and issubclass(kind, ctypes.Structure) and name.startswith("kb_")):
            continue
        for field, field_kind in kind._fields_:
            if field_kind not in (ctypes.c_int32, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t):
                continue
            for wrong in (2 ** 64, -2 ** 63 - 1, 1.5, "1", None):
                with pytest.raises(keybits.KeybitsValueError, match=field):
                    setattr(kind(), field, wrong)
            tried += 1
    assert tried > 100
    with pytest.raises(keybits.KeybitsValueError, match="height"):
        _abi.kb_image(None, 1, 2 ** 32, 1, 0, 0)
    with pytest.raises(KeyError):
        new(_abi.kb_match_options, max_rato=1)  # no such field
    with pytest.raises(keybits.KeybitsValueError, match="max_ratio"):
        new(_abi.kb_match_options, max_ratio="a tenth")


def test_arguments_of_functions(features):
    with pytest.raises(keybits.KeybitsValueError, match="index is 4294967296"):
        lib.kb_kernel_at(2 ** 32)
    with pytest.raises(keybits.KeybitsValueError, match="n is -1"):
        lib.kb_select(0, -1, None, None, None)
    assert len(keybits.select(features.keypoints, (np.int64(320), np.int32(240)), np.uint8(7))) == 7


def test_forged_pickles():
    """No state of a detector can bring a pointer with it; an interpreter of its own, since it used to die."""
    forged = bytes(new(_abi.kb_detect_options, detector=_abi.KB_DETECTOR_ORB, max_keypoints=50, mask=8))
    for state in (("orb", 50, 1.0, forged), {"name": "orb", "max_keypoints": 2 ** 40}, {"name": "orb", "parallel": 8},
                  {"_options": forged}, {"name": 5}, []):
        program = f"""
import numpy as np, keybits
detector = keybits.Detector.__new__(keybits.Detector)
try:
    detector.__setstate__({state!r})
    detector.detect(np.zeros((100, 100), np.uint8))
except (TypeError, keybits.KeybitsValueError) as error:
    print("refused")
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
        assert (done.returncode, done.stdout) == (0, "refused\n"), (state, done)
