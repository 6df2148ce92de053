# SPDX-License-Identifier: Apache-2.0
"""Features know how their keypoints were found: saved, matched and indexed, they are not mixed."""
from dataclasses import replace

import numpy as np
import pytest

import keybits


@pytest.fixture(scope="module")
def features():
    image = np.random.default_rng(3).integers(0, 256, (160, 200), np.uint8)
    return keybits.detect_and_compute(image, max_keypoints=200, with_deviations=True)


def test_origin_and_deviations(features):
    assert features.origin == keybits.Origin("hessian", keybits.Detector("hessian").revision, False)
    assert features.deviations.shape == (len(features),) and (features.deviations > 0).all()


def test_saved_features_are_the_same(features, tmp_path):
    path = tmp_path / "f.npz"
    for given in (features, replace(features, origin=None, deviations=None),
                  replace(features, origin=features.origin._replace(upright=True, max_size=1000))):
        given.save(path)
        read = keybits.Features.load(path)
        assert read.keypoints.tobytes() == given.keypoints.tobytes()
        assert (read.descriptors == given.descriptors).all() and read.model.id == given.model.id
        assert read.size == given.size and read.origin == given.origin
        assert (read.deviations is None) == (given.deviations is None)


def test_wrong_files_are_refused(features, tmp_path):
    path = tmp_path / "f.npz"
    path.write_bytes(b"nothing")
    with pytest.raises(keybits.KeybitsFileError, match="not features"):
        keybits.Features.load(path)
    features.save(path)
    with pytest.raises(keybits.KeybitsFileError, match="rows of the model bag256"):
        keybits.Features.load(path, "bag512")
    replace(features, deviations=features.deviations[1:]).save(path)
    with pytest.raises(keybits.KeybitsFileError, match="belong together"):
        keybits.Features.load(path)


@pytest.mark.parametrize("change, says", [({"detector": "sift"}, "sift"), ({"revision": 99}, "99"),
                                          ({"upright": True}, "upright"), ({"max_size": 800}, "800")])
def test_mixing_is_refused(features, change, says):
    mine = replace(features, origin=features.origin._replace(max_size=1000))
    other = replace(features, origin=mine.origin._replace(**change))
    with pytest.raises(keybits.KeybitsValueError, match=says):
        keybits.match(mine, other)
    index = keybits.Index(keybits.Vocabulary("bag256-1k"))
    index.add(mine, 0)
    for call in (lambda: index.add(other, 1), lambda: index.query(other)):
        with pytest.raises(keybits.KeybitsError, match=f"cannot be mixed.*{says}"):
            call()
    index.query(mine)
    index.query(replace(mine, origin=None))
