# SPDX-License-Identifier: Apache-2.0
"""Maps and poses: a textured plane seen by cameras that are known."""
import copy
import threading

import numpy as np
import pytest
from conftest import leaves, warp, write_pgm

import keybits
from keybits._library import collection_library

try:
    collection_library()
except ImportError as why:
    pytest.skip(str(why), allow_module_level=True)

K = np.array([[400.0, 0, 199.5], [0, 400.0, 149.5], [0, 0, 1]])
PIXEL = 0.01  # units of a pixel of the plane, which lies at z = 0


def pose(x, y, z, yaw):
    a = np.radians(yaw)
    rotation = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
    return rotation, -rotation @ np.array([x, y, z])


def view(plane, rotation, translation):
    to_plane = np.array([[PIXEL, 0, 0], [0, PIXEL, 0], [0, 0, 1]])
    return warp(plane, K @ np.column_stack([rotation[:, 0], rotation[:, 1], translation]) @ to_plane, 400, 300)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    plane = leaves(900, 700, 5)
    images, points = [], "".join(f"{i + 1} 3 3 0 0 0 0 1\n" for i in range(30))
    for i in range(5):
        rotation, translation = pose(2.5 + 0.8 * i, 3 + 0.3 * (i % 2), -6, 8 * (i - 2))
        write_pgm(folder / f"{i}.pgm", view(plane, rotation, translation))
        w = np.sqrt(1 + np.trace(rotation)) / 2
        q = [w, (rotation[2, 1] - rotation[1, 2]) / (4 * w), (rotation[0, 2] - rotation[2, 0]) / (4 * w),
             (rotation[1, 0] - rotation[0, 1]) / (4 * w)]
        images.append(f"{i + 1} {' '.join(map(repr, map(float, [*q, *translation])))} 1 {i}.pgm\n"
                      + " ".join(f"{k} {k} {k + 1}" for k in range(30)) + "\n")
    (folder / "cameras.txt").write_text("1 PINHOLE 400 300 400 400 200 150\n")
    (folder / "images.txt").write_text("".join(images))
    (folder / "points3D.txt").write_text(points)
    return folder, plane


def test_a_new_photograph(place, tmp_path):
    folder, plane = place
    counts = keybits.build_map(folder, folder, tmp_path / "map.kbl")
    assert counts["images"] == 5 and counts["failed"] == 0 and counts["points"] > 200 and counts["rms"] < 1
    localizer = keybits.Localizer(tmp_path / "map.kbl")
    assert localizer.names == [f"{i}.pgm" for i in range(5)]
    rotation, translation = pose(3.6, 3.1, -5.5, 3)
    write_pgm(tmp_path / "new.pgm", view(plane, rotation, translation))
    for camera in (keybits.Camera(400, 400, 199.5, 149.5), None):  # None: the map's, whose size it has
        found = localizer.find(tmp_path / "new.pgm", camera)
        assert found.found and found.inliers > 50 and found.nearest in localizer.names
        assert np.abs(found.position - [3.6, 3.1, -5.5]).max() < 0.03
        assert np.abs(found.rotation - rotation).max() < 0.01 and 0 < found.sigma_position < 0.03
    again = []
    threads = [threading.Thread(target=lambda: again.append(localizer.find(tmp_path / "new.pgm"))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [other.inliers for other in again] == [found.inliers] * 3
    with pytest.raises(TypeError, match="neither be copied nor pickled"):
        copy.copy(localizer)
    write_pgm(tmp_path / "other.pgm", leaves(400, 300, 77))
    assert not localizer.find(tmp_path / "other.pgm").found


def test_wrong_input(place, tmp_path):
    folder, _ = place
    with pytest.raises(keybits.KeybitsError, match="nowhere"):
        keybits.Localizer(tmp_path / "nowhere.kbl")
    for taken in ("points3D.txt", "0.pgm"):
        with pytest.raises(keybits.KeybitsError, match="is an input, and would be overwritten"):
            keybits.build_map(folder, folder, folder / taken)
    with pytest.raises(keybits.KeybitsError, match="zero byte"):
        keybits.Localizer(f"{tmp_path}/map.kbl\0.jpg")
    with pytest.raises(keybits.KeybitsError, match="detector"):
        keybits.build_map(folder, folder, tmp_path / "x.kbl", detector="none")
    with pytest.raises(keybits.KeybitsError), pytest.warns(RuntimeWarning):
        keybits.build_map(folder, tmp_path, tmp_path / "x.kbl")
    assert not (tmp_path / "x.kbl").exists()
