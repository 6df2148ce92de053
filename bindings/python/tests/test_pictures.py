# SPDX-License-Identifier: Apache-2.0
"""Drawing, and tracking a template."""
import csv
import io

import numpy as np
import pytest
from conftest import HOMOGRAPHY, warp, write_pgm

import keybits
from keybits.draw import draw_circles, draw_lines


def test_lines():
    canvas = np.zeros((20, 30, 3), np.uint8)
    draw_lines(canvas, [[2, 5], [10, 2]], [[25, 5], [10, 18]], [[255, 0, 0], [0, 255, 0]])
    assert (canvas[5, 2:10] == [255, 0, 0]).all() and (canvas[2:19, 10] == [0, 255, 0]).all()
    assert not canvas[7:].any(axis=2)[:, 12:].any()
    before = canvas.copy()
    draw_lines(canvas, [[-50, -50], [np.nan, 1]], [[-9, -1], [5, 5]], [255, 255, 255])
    assert np.array_equal(canvas, before)
    draw_lines(canvas, [[-1e9, 10]], [[1e9, 10]], [9, 9, 9])
    assert (canvas[10, 15:] == 9).all()
    draw_circles(canvas, [[15, 10]], [6], [[0, 0, 255]])
    assert canvas[4, 15, 2] > 150 and canvas[10, 21, 2] > 150 and canvas[10, 15, 2] == 9


def test_matches(image, view, features, view_features):
    m = keybits.match(features.descriptors, view_features.descriptors)
    r = keybits.find_homography(features.keypoints, view_features.keypoints, m)
    m = np.concatenate([m, m[:5]])  # and five wrong ones
    m["b"][-5:] = m["b"][5:10]
    good = np.concatenate([r.inliers, np.zeros(5, bool)])
    picture = keybits.draw_matches(image, features, view, view_features, m, r._replace(inliers=good))
    assert picture.shape == (260, 666, 3) and picture.dtype == np.uint8
    bare = keybits.draw_matches(image, features, view, view_features, m[:0])
    assert np.array_equal(bare[10:250, :320, 0], image.astype(int) * 3 // 4)  # in the middle of the height
    assert np.array_equal(bare[:, 326:, 1], view.astype(int) * 3 // 4)
    few = keybits.draw_matches(image, features, view, view_features, m, max_lines=3)
    assert 0 < (few != bare).sum() < (picture != bare).sum()
    # Inliers are green, others red and fewer, the border of a is yellow: in b, where the homography puts it.
    red, green, blue = (picture[:, :, i].astype(int) for i in range(3))
    corner = keybits.project_homography(r.H, [[160, 0]])[0] + [326, 0]
    around = picture[int(corner[1]) - 2:int(corner[1]) + 3, int(corner[0])].astype(int)
    assert (around[:, 0] + around[:, 1] - 2 * around[:, 2]).max() > 250
    marked = keybits.draw_matches(image, features, view, view_features, m, good)
    yellow = (red > 200) & (green > 150) & (blue < 100)
    assert yellow[:, 326:].sum() > 200 and not yellow[:, :320].any()
    assert not ((marked[:, :, 0] > 200) & (marked[:, :, 1] > 150) & (marked[:, :, 2] < 100)).any()
    assert ((green > 180) & (red < 120)).sum() > ((red > 120) & (green < 90) & (blue < 90)).sum() > 0
    fundamental = keybits.find_fundamental(features, view_features, m)
    assert np.array_equal(keybits.draw_matches(image, features, view, view_features, m, fundamental),
                          keybits.draw_matches(image, features, view, view_features, m, fundamental.inliers))
    rgb = np.dstack([image, image // 2, image])
    assert keybits.draw_matches(rgb, features.keypoints, view, view_features.keypoints, m).shape == picture.shape
    with pytest.raises(keybits.KeybitsValueError, match="inliers"):
        keybits.draw_matches(image, features.keypoints, view, view_features.keypoints, m, [True])
    with pytest.raises(keybits.KeybitsValueError, match="keypoint"):
        keybits.draw_matches(image, features.keypoints[:3], view, view_features.keypoints, m)


def test_keypoints(image, features):
    picture = keybits.draw_keypoints(image, features.keypoints[:20])
    assert picture.shape == (240, 320, 3) and (picture != image[:, :, None]).any()
    assert keybits.draw_keypoints(image.astype(np.uint16) * 257, features.keypoints[:20]).dtype == np.uint8
    with pytest.raises(keybits.KeybitsValueError):
        keybits.draw_keypoints(image.astype(float), features.keypoints)


def test_tracking(image, program, tmp_path):
    frames = [warp(image, HOMOGRAPHY, 340, 260), warp(image, np.diag([0.7, 0.7, 1]), 340, 260),
              np.random.RandomState(1).randint(0, 256, (260, 340)).astype(np.uint8)]
    tracks = list(keybits.track(image, frames))
    assert [t.found for t in tracks] == [True, True, False] and tracks[2].corners is None and tracks[2].H is None
    corners = np.array([[0, 0], [319, 0], [319, 239], [0, 239]])
    assert np.abs(tracks[0].corners - keybits.project_homography(HOMOGRAPHY, corners)).max() < 2
    write_pgm(tmp_path / "template.pgm", image)
    for number, frame in enumerate(frames):
        write_pgm(tmp_path / f"frame{number}.pgm", frame)
    rows = list(csv.DictReader(io.StringIO(program("track", tmp_path / "template.pgm",
                                                   *(tmp_path / f"frame{i}.pgm" for i in range(3))))))
    for row, track in zip(rows, tracks):
        assert row["found"] == str(int(track.found)) and row["matches"] == str(track.matches)
        if track.found:
            assert row["inliers"] == str(track.inliers)
            theirs = [[float(row[f"{axis}{i}"]) for axis in "xy"] for i in range(1, 5)]
            assert np.abs(track.corners - theirs).max() < 1e-3
    drawn = keybits.draw_outline(frames[0], tracks[0].corners)
    assert drawn.shape == (260, 340, 3) and (drawn[:, :, 0] != frames[0]).sum() > 500
    with pytest.raises(keybits.KeybitsValueError):
        keybits.Tracker(image, min_places=3)


def test_plausible_corners():
    assert keybits.plausible_corners(np.eye(3), (100, 50)) is not None
    for wrong in (np.diag([-1, 1, 1]), np.diag([0.01, 0.01, 1]), np.diag([1e5, 1e5, 1]),
                  np.array([[1, 0, 0], [0, 1, 0], [-0.02, 0, 1]])):
        assert keybits.plausible_corners(wrong, (100, 50)) is None
