# SPDX-License-Identifier: Apache-2.0
"""Points from frame to frame."""
import copy

import numpy as np
import pytest
from conftest import leaves, warp

import keybits

H = np.array([[1.01, -0.02, 4.3], [0.02, 1.01, -2.6], [0, 0, 1]])


@pytest.fixture(scope="module")
def frames():
    first = leaves(320, 240, 3)
    result, h = [], np.eye(3)
    for _ in range(5):
        result.append(warp(first, h, 320, 240))
        h = H @ h
    return result


def inner(frame):
    places = keybits.detect(frame, max_keypoints=400)
    places = np.stack([places["x"], places["y"]], 1)
    return places[(np.abs(places - [160, 120]) < [100, 70]).all(1)]


def errors(a, b):
    return np.linalg.norm(keybits.project_homography(H, a.astype(np.float64)) - b, axis=1)


def test_points_are_followed(frames):
    points = inner(frames[0])
    to, correlation = keybits.track_points(frames[0], frames[1], points)
    found = correlation > 0
    assert to.dtype == np.float32 and found.mean() > 0.8 and np.median(errors(points, to)[found]) < 0.1
    same, _ = keybits.track_points(frames[0], frames[1], points[:, None])  # n x 1 x 2, as cv2's
    assert np.array_equal(to, same)
    near = keybits.project_homography(H, points.astype(np.float64)) + [1, -1]
    _, correlation = keybits.track_points(frames[0], frames[1], points, guesses=near, levels=1)
    assert (correlation > 0).mean() > 0.8
    nothing, correlation = keybits.track_points(frames[0], np.zeros((240, 320), np.uint8), points)
    assert not correlation.any() and np.array_equal(nothing, points)


def test_as_exact_as_opencv(frames):
    cv2 = pytest.importorskip("cv2")
    points = inner(frames[0])
    ours, correlation = keybits.track_points(frames[0], frames[1], points)
    theirs, status, _ = cv2.calcOpticalFlowPyrLK(frames[0], frames[1], points, None)
    both = (correlation > 0) & (status[:, 0] > 0)
    assert both.mean() > 0.7
    assert np.median(errors(points, ours)[both]) <= 1.1 * np.median(errors(points, theirs)[both])


def test_tracker(frames):
    tracker = keybits.PointTracker(150)
    first = tracker.add(frames[0])
    assert first.dtype == keybits.track_dtype and 50 < len(first) <= 150 and not first["age"].any()
    assert len(set(first["id"])) == len(first)
    for frame in frames[1:]:
        tracks = tracker.add(frame)
    assert (tracks["age"] == 4).sum() > 30
    tracker.reset()
    again = tracker.add(frames[0])
    assert again["id"].min() > tracks["id"].max() and not again["age"].any()
    mask = np.zeros((240, 320), bool)
    mask[:, 160:] = True
    masked = keybits.PointTracker(150, mask_margin=10, detector=keybits.Detector("orb")).add(frames[0], mask)
    assert len(masked) > 10 and masked["x"].min() >= 169


def test_wrong_input(frames):
    for arguments in ({"levels": 9}, {"min_correlation": 2}, {"max_points": -1}, {"max_points": 2 ** 40}):
        with pytest.raises(keybits.KeybitsValueError):
            keybits.PointTracker(**arguments)
    with pytest.raises(keybits.KeybitsValueError, match="n x 2"):
        keybits.track_points(frames[0], frames[1], np.zeros((3, 3)))
    with pytest.raises(keybits.KeybitsValueError, match="3 points and 2 guesses"):
        keybits.track_points(frames[0], frames[1], np.zeros((3, 2)), guesses=np.zeros((2, 2)))
    with pytest.raises(TypeError):
        copy.copy(keybits.PointTracker())
    with pytest.raises(keybits.KeybitsValueError):
        keybits.PointTracker().add(frames[0], np.ones((2, 2), np.uint8))
    assert len(keybits.track_points(frames[0], frames[1], np.zeros((0, 2)))[0]) == 0
