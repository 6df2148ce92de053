# SPDX-License-Identifier: Apache-2.0
"""match_images: the look that gives the result, the truth, matches alone, wrong input."""
import json

import numpy as np
import pytest
from conftest import HOMOGRAPHY, leaves, warp, write_pgm

import keybits


def turned(degrees, width=320, height=240):
    """About the middle of the image, clockwise."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    x, y = (width - 1) / 2, (height - 1) / 2
    return np.array([[c, -s, x - c * x + s * y], [s, c, y - s * x - c * y], [0, 0, 1]])


def off(matrix, truth):
    """How far a corner of the middle of the image is from where it is."""
    corners = [[60, 50], [260, 50], [260, 190], [60, 190]]
    return np.abs(keybits.project_homography(matrix, corners) - keybits.project_homography(truth, corners)).max()


@pytest.mark.parametrize("degrees, look, looks", [(0, "upright", 1), (137, "rotated", 2)])
def test_looks(degrees, look, looks):
    image, truth = leaves(), turned(degrees)
    truth[0, 2] += 7
    view = warp(image, truth, 320, 240)
    warped = keybits.match_images(image, view)
    assert (warped.look, warped.looks) == ("warped", 2) and off(warped.fit.H, truth) < 1
    pair = keybits.match_images(image, view, looks=["upright", "oriented", "rotated"])
    assert pair.places < warped.places
    assert pair.found and pair.fit.geometry == "homography" and off(pair.fit.H, truth) < 1.5
    assert (pair.look, pair.looks) == (look, looks)
    assert abs((pair.rotation - degrees + 180) % 360 - 180) < 4
    assert len(pair.fit.inliers) == len(pair.matches) <= pair.candidates
    assert 50 < pair.places <= pair.fit.inliers.sum()
    m = pair.matches[pair.fit.inliers]
    a, b = pair.keypoints_a[m["a"]], pair.keypoints_b[m["b"]]
    seen = keybits.project_homography(pair.fit.H, np.stack([a["x"], a["y"]], 1))
    assert np.abs(seen - np.stack([b["x"], b["y"]], 1)).max() < 3.01
    upright = keybits.match_images(image, warp(image, truth, 320, 240), looks=["upright"])
    assert upright.found == (degrees == 0) and upright.looks == 1


def test_any_geometry():
    """Three walls one above the other, seen from two places, have depth; one wall has not."""
    wide = leaves()
    near, far, flat = wide[:100, 40:260], wide[100:160, 40:260], wide[160:, 40:260]
    beside = np.vstack([wide[:100, 48:268], wide[100:160, 58:278], wide[160:, 76:296]])
    scene = np.vstack([near, far, flat])
    pair = keybits.match_images(scene, beside)
    assert pair.fit.geometry == "fundamental" and pair.fit.F is not None and pair.fit.H is None and pair.fit.E is None
    pose = keybits.match_images(scene, beside, camera=keybits.Camera(300, 300, 110, 120))
    assert pose.fit.geometry == "essential" and pose.fit.E is not None and pose.fit.rotation == pytest.approx(np.eye(3), abs=0.05)
    plane = keybits.match_images(wide[:, :220], wide[:, 30:250], camera=keybits.Camera(300, 300, 110, 120))
    assert plane.fit.geometry == "homography" and plane.fit.H is not None and plane.fit.F is None and plane.fit.rotation is None
    x, y = keybits.match_points(pair.keypoints_a, pair.keypoints_b, pair.matches)
    assert keybits.fit(x, y, "any").geometry == "fundamental"
    with pytest.raises(ValueError, match="camera_b needs camera"):
        keybits.match_images(scene, beside, camera_b=keybits.Camera(300, 300, 110, 120))


def test_options():
    image = leaves()
    view = warp(image, HOMOGRAPHY, 320, 240)
    assert keybits.match_images(image, view, None, max_keypoints=100).fit is None
    assert len(keybits.match_images(image, view, None, max_keypoints=100).keypoints_a) == 100
    near = keybits.match_images(image, view, max_distance=20, filter=False)
    assert len(near.matches) == near.candidates > 0 and near.matches["distance"].max() <= 20
    camera = keybits.Camera(300, 300, 159.5, 119.5)
    still = keybits.match_images(image, image, "rotation", camera=camera)
    assert still.fit.rotation == pytest.approx(np.eye(3), abs=0.01)
    sift = keybits.match_images(image, view, model="rootsift", detector="sift")
    assert sift.found and off(sift.fit.H, HOMOGRAPHY) < 1.5
    alone = keybits.match_images(image, leaves(seed=9), "fundamental")
    assert not alone.found and alone.fit.F is None and alone.places == 0 and not alone.fit.inliers.any()
    assert len(keybits.match_images(image, np.zeros((40, 40), np.uint8)).matches) == 0


def test_threads_change_nothing():
    image = leaves()
    view = warp(image, turned(60), 320, 240)
    results = []
    for threads in (1, 3):
        keybits.set_threads(threads)
        results.append(keybits.match_images(image, view))
    keybits.set_threads(1)
    assert np.array_equal(results[0].matches, results[1].matches) and np.array_equal(results[0].fit.H, results[1].fit.H)
    assert np.array_equal(results[0].keypoints_b, results[1].keypoints_b)


@pytest.mark.parametrize("options", [{"geometry": "plane"}, {"geometry": "essential"}, {"looks": ["rotated"]},
                                     {"looks": ["upright", "sideways"]}, {"max_ratio": 2}, {"threshold": -1}])
def test_wrong_input(options):
    with pytest.raises(keybits.KeybitsValueError):
        keybits.match_images(leaves(), leaves(), **options)


@pytest.mark.parametrize("degrees", [0, 60])
@pytest.mark.parametrize("geometry", ["homography", "fundamental", None])
def test_program_finds_the_same(tmp_path, program, degrees, geometry):
    image, truth = leaves(), turned(degrees)
    view = warp(image, truth, 320, 240)
    for name, pixels in ("a.pgm", image), ("b.pgm", view):
        write_pgm(tmp_path / name, pixels)
    printed = json.loads(program("match", tmp_path / "a.pgm", tmp_path / "b.pgm", "--fit", geometry or "none",
                                 "-o", tmp_path / "matches.csv", "--json"))
    pair = keybits.match_images(image, view, geometry)
    assert (printed["look"], printed["looks"], printed["candidates"]) == (pair.look, pair.looks, pair.candidates)
    assert printed["matches"] == len(pair.matches) and printed["places"] == pair.places
    table = np.genfromtxt(tmp_path / "matches.csv", delimiter=",", names=True, dtype=np.float64)
    for name in "a", "b", "distance", "second":
        assert np.float32(table[name]).tobytes() == np.float32(pair.matches[name]).tobytes()
    a, b = pair.keypoints_a[pair.matches["a"]], pair.keypoints_b[pair.matches["b"]]
    for name, column in ("x1", a["x"]), ("y1", a["y"]), ("x2", b["x"]), ("y2", b["y"]):
        assert np.float32(table[name]).tobytes() == column.tobytes()
    if geometry:
        assert np.array_equal(table["inlier"] != 0, pair.fit.inliers)
        assert printed["result"] == ("found" if pair.found else printed["result"])
