# SPDX-License-Identifier: Apache-2.0
"""Matching and geometry: against plain numpy, against the truth, wrong input."""
import numpy as np
import pytest
from conftest import HOMOGRAPHY

import keybits


def brute_force(a, b):
    """Mutual nearest neighbours, ties to the lowest index."""
    distances = keybits.hamming(a[:, None, :], b[None, :, :])
    nearest, back = distances.argmin(axis=1), distances.argmin(axis=0)
    rows = np.flatnonzero(back[nearest] == np.arange(len(a)))
    return rows, nearest[rows], distances[rows, nearest[rows]], np.sort(distances, axis=1)[rows, 1]


def test_mutual_matches_equal_brute_force(features, view_features):
    a, b = features.descriptors, view_features.descriptors
    m = keybits.match(a, b)
    rows, nearest, distance, second = brute_force(a, b)
    assert m["a"].tolist() == rows.tolist() and m["b"].tolist() == nearest.tolist()
    assert m["distance"].tolist() == distance.tolist() and m["second"].tolist() == second.tolist()


def test_nearest_rows(features, view_features):
    a, b = features.descriptors[:60], view_features.descriptors
    index, distance = keybits.match_knn(a, b, 3)
    everything = keybits.hamming(a[:, None, :], b[None, :, :])
    expected = np.argsort(everything, axis=1, kind="stable")[:, :3]
    assert np.array_equal(index, expected) and np.array_equal(distance, np.take_along_axis(everything, expected, 1))
    assert keybits.match_knn(a, b[:1], 2)[0][:, 1].tolist() == [-1] * 60
    with pytest.raises(keybits.KeybitsValueError):
        keybits.match_knn(a, b, 0)


def test_options(features, view_features):
    a, b = features.descriptors, view_features.descriptors
    m = keybits.match(a, b)
    assert len(keybits.match(a, b, mutual=False)) == len(a)
    assert np.array_equal(keybits.match(a, b, max_distance=30), m[m["distance"] <= 30])
    assert np.array_equal(keybits.match(a, b, max_ratio=0.8), m[m["distance"] < np.float32(0.8) * m["second"]])
    out = np.empty(len(a), keybits.match_dtype)
    assert keybits.match(a, b, out=out).base is out and np.array_equal(out[:len(m)], m)
    assert len(keybits.match(a[:0], b)) == 0 and len(keybits.match(a, b[:0])) == 0


def test_rows_with_gaps(features, view_features):
    a, b = features.descriptors, view_features.descriptors
    wide = np.full((len(a), 50), 255, np.uint8)
    wide[:, 7:39] = a
    assert np.array_equal(keybits.match(wide[:, 7:39], b), keybits.match(a, b))
    assert np.array_equal(keybits.match(np.asfortranarray(a), b[::1]), keybits.match(a, b))
    assert np.array_equal(keybits.match(np.repeat(a, 2, axis=0)[::2], b), keybits.match(a, b))


def test_float_rows():
    random = np.random.RandomState(2)
    a, b = random.rand(40, 128).astype(np.float32), random.rand(50, 128).astype(np.float32)
    m = keybits.match(a, b, mutual=False)
    distance = np.linalg.norm(a[:, None] - b[None], axis=2)
    assert np.array_equal(m["b"], distance.argmin(axis=1)) and np.allclose(m["distance"], distance.min(axis=1), 1e-4)


@pytest.mark.parametrize("a, b", [
    (np.zeros((3, 32), np.uint8), np.zeros((3, 16), np.uint8)), (np.zeros(32, np.uint8), np.zeros((3, 32), np.uint8)),
    (np.zeros((3, 32), np.int32), np.zeros((3, 32), np.int32)), (None, None), ("ab", "cd"),
    (np.zeros((3, 4), np.float32), np.zeros((3, 4))), (np.zeros((3, 4), np.float32), np.zeros((3, 5), np.float32)),
    (np.zeros((2, 5000), np.uint8), np.zeros((2, 5000), np.uint8))])
def test_wrong_rows(a, b):
    with pytest.raises(keybits.KeybitsValueError):
        keybits.match(a, b)


def test_wrong_fits(features):
    points = np.random.default_rng(1).uniform(0, 100, (20, 2))
    for options, words in (({"threshold": -1}, "threshold is -1"), ({"threshold": float("nan")}, "threshold is nan"),
                           ({"confidence": 1}, "confidence is 1"), ({"max_iterations": -1}, "max_iterations is -1"),
                           ({"seed": -1}, "seed is -1"), ({"geometry": "essential"}, "essential needs a camera"),
                           ({"geometry": "rotation", "camera": keybits.Camera(0, 1, 2, 3)}, "Camera.*positive")):
        with pytest.raises(keybits.KeybitsValueError, match=words):
            keybits.fit(points, points, **options)
    with pytest.raises(keybits.KeybitsValueError, match="3 x 3"):
        keybits.project_homography(np.eye(4), points)


def test_features_in_place_of_arrays(image, features, view_features):
    m = keybits.match(features, view_features)
    assert np.array_equal(m, keybits.match(features.descriptors, view_features.descriptors))
    assert np.array_equal(m, keybits.match(features, view_features.descriptors))
    assert np.array_equal(keybits.match_knn(features, view_features)[0],
                          keybits.match_knn(features.descriptors, view_features.descriptors)[0])
    r = keybits.find_homography(features, view_features, m)
    assert r.geometry == "homography"
    assert np.array_equal(r.H, keybits.find_homography(features.keypoints, view_features.keypoints, m).H)
    other = keybits.detect_and_compute(image, model="bad256", max_keypoints=20)
    for call in (keybits.match, keybits.match_knn):
        with pytest.raises(keybits.KeybitsValueError, match="bag256 cannot be compared with rows of bad256"):
            call(features, other)


def test_wrong_options(features):
    rows = features.descriptors
    read_only = np.empty(len(rows), keybits.match_dtype)
    read_only.flags.writeable = False
    for options, words in (({"max_ratio": 2}, "max_ratio is 2"), ({"max_ratio": float("nan")}, "max_ratio is nan"),
                           ({"max_distance": -1}, "max_distance is -1"),
                           ({"out": np.empty(3, keybits.match_dtype)}, "out must be"),
                           ({"out": read_only}, "out must be")):
        with pytest.raises(keybits.KeybitsValueError, match=words):
            keybits.match(rows, rows, **options)


def test_homography(features, view_features):
    m = keybits.match(features.descriptors, view_features.descriptors)
    r = keybits.find_homography(features.keypoints, view_features.keypoints, m)
    assert r.found and r.inliers.dtype == bool and len(r.inliers) == len(m) and r.inliers.sum() > 100
    corners = np.array([[0, 0], [319, 0], [319, 239], [0, 239]])
    error = keybits.project_homography(r.H, corners) - keybits.project_homography(HOMOGRAPHY, corners)
    assert np.abs(error).max() < 2
    again = keybits.find_homography(features.keypoints, view_features.keypoints, m)
    assert np.array_equal(r.H, again.H)


def test_nothing_to_find(features):
    nothing = np.zeros(0, keybits.match_dtype)
    r = keybits.find_homography(features.keypoints, features.keypoints, nothing)
    assert r.H is None and not r.found and r.result == "too few pairs" and len(r.inliers) == 0


def test_filter_keeps_the_right_ones(features, view_features):
    m = keybits.match(features.descriptors, view_features.descriptors, mutual=False)
    kept = keybits.filter_matches(features.keypoints, view_features.keypoints, m)

    def precision(matches):
        a, b = keybits.match_points(features.keypoints, view_features.keypoints, matches)
        return (np.linalg.norm(keybits.project_homography(HOMOGRAPHY, a) - b, axis=1) < 4).mean()
    assert 50 < len(kept) < len(m) and precision(kept) > precision(m) + 0.05
    assert np.isin(kept, m).all()


def test_refinement(image, view, features, view_features):
    m = keybits.match(features.descriptors, view_features.descriptors)
    a, b, correlation = keybits.refine_matches(image, view, features.keypoints, view_features.keypoints, m)
    assert a.shape == b.shape == (len(m), 2) and correlation.shape == (len(m),)
    raw_a, raw_b = keybits.match_points(features.keypoints, view_features.keypoints, m)
    assert np.array_equal(a, raw_a) and np.array_equal(b[correlation == 0], raw_b[correlation == 0])
    seen = keybits.project_homography(HOMOGRAPHY, a)
    good = (correlation > 0) & (np.hypot(*(raw_b - seen).T) < 3)
    assert good.sum() > 50
    before, after = (np.median(np.hypot(*(points - seen)[good].T)) for points in (raw_b, b))
    assert after < before / 2
    with pytest.raises(keybits.KeybitsValueError):
        keybits.refine_matches(image, view, features.keypoints[:1], view_features.keypoints, m)


def test_matches_out_of_range(features):
    wrong = np.zeros(5, keybits.match_dtype)
    wrong["b"] = 100000
    for call in (keybits.find_homography, keybits.filter_matches, keybits.match_points):
        with pytest.raises(keybits.KeybitsValueError):
            call(features.keypoints, features.keypoints, wrong)
    with pytest.raises(keybits.KeybitsValueError, match="match_dtype"):
        keybits.find_homography(features.keypoints, features.keypoints, np.zeros((3, 2)))


def test_fit_geometries():
    random = np.random.RandomState(4)
    a = random.rand(60, 2) * 300
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    b = 1.5 * a @ turn.T + [10, 20]
    b[::3] += random.rand(20, 2) * 100 + 30
    for geometry in ("similarity", "affine", "homography"):
        r = keybits.fit(a, b, geometry, prosac=False)
        assert r.found and r.inliers.sum() == 40
        assert np.allclose(keybits.project_homography(r.model, a[1::3]), b[1::3], atol=1e-3)
    with pytest.raises(keybits.KeybitsValueError, match="no geometry"):
        keybits.fit(a, b, "circle")
    with pytest.raises(keybits.KeybitsValueError):
        keybits.fit(a, b, "essential")
    with pytest.raises(keybits.KeybitsValueError):
        keybits.fit(a, b[:-1])
    with pytest.raises(keybits.KeybitsValueError, match="quality"):
        keybits.fit(a, b, quality=[1, 2])


def test_fit_deviations():
    random = np.random.RandomState(6)
    a = random.rand(120, 2) * 300
    noise = np.where(np.arange(120) % 3, 0.2, 1.6)
    b = a @ np.array([[0.9, 0.2], [-0.2, 0.9]]) + [10, 20] + noise[:, None] * random.standard_normal((120, 2))
    plain, weighted = (keybits.fit(a, b, "affine", threshold=1, deviations=d) for d in (None, noise))
    assert weighted.inliers.sum() > plain.inliers.sum() + 10
    in_any_unit = keybits.fit(a, b, "affine", threshold=1, deviations=64 * noise)
    assert np.array_equal(in_any_unit.model, weighted.model)
    for alike in (np.full(120, 0.7), np.zeros(120), np.full(120, np.nan)):
        assert np.array_equal(keybits.fit(a, b, "affine", threshold=1, deviations=alike).model, plain.model)

    keypoints = [np.zeros(120, keybits.keypoint_dtype) for _ in range(2)]
    for k, points in zip(keypoints, (a, b)):
        k["x"], k["y"], k["size"] = points[:, 0], points[:, 1], 7
    matches = np.zeros(120, keybits.match_dtype)
    matches["a"] = matches["b"] = np.arange(120)
    camera = keybits.Camera(400, 400, 150, 150)
    for find, options in ((keybits.find_homography, {"threshold": 1}), (keybits.find_fundamental, {}),
                          (lambda *given, **o: keybits.find_essential(*given, camera, **o), {})):
        ones, none = (find(*keypoints, matches, deviations=d, **options) for d in (np.ones(120), None))
        if not options: # the thresholds of kb_fit
            usual = keybits.fit(a, b, none.geometry, quality=np.zeros(120), camera=camera)
            assert np.array_equal(usual.inliers, none.inliers)
        assert ones.result == none.result and np.array_equal(ones.inliers, none.inliers)
        for wrong, words in ((noise[1:], "one number per match, 120"), (-noise, "not negative"),
                             (np.full(120, np.inf), "finite"), ("x" * 120, None)):
            with pytest.raises(ValueError, match=words):
                find(*keypoints, matches, deviations=wrong, **options)
    assert find_more(keybits.find_homography, keypoints, matches, noise) > 10


def find_more(find, keypoints, matches, noise):
    return np.subtract(*(find(*keypoints, matches, 1, deviations=d).inliers.sum() for d in (noise, None)))


def rotation(axis, angle):
    axis = np.asarray(axis, float) / np.linalg.norm(axis)
    k = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def test_poses():
    random = np.random.RandomState(5)
    camera = keybits.Camera(500, 500, 320, 240)
    points = random.rand(80, 3) * [4, 3, 3] + [-2, -1.5, 4]
    r_true, t_true = rotation([1, 2, 0.5], 0.15), np.array([0.4, -0.1, 0.05])

    def project(scene):
        return scene[:, :2] / scene[:, 2:] * 500 + [320, 240]
    moved = project(points @ r_true.T + t_true)
    r = keybits.fit_pose(points, moved, camera)
    assert r.found and np.allclose(r.rotation, r_true, atol=1e-4) and np.allclose(r.translation, t_true, atol=1e-3)
    noise = np.where(np.arange(80) % 3, 0.1, 1.5)
    noisy = moved + noise[:, None] * random.standard_normal((80, 2))
    plain, weighted = (keybits.fit_pose(points, noisy, camera, threshold=1, deviations=d) for d in (None, noise))
    assert np.abs(weighted.translation - t_true).sum() < np.abs(plain.translation - t_true).sum()
    e = keybits.fit(project(points), moved, "essential", camera=camera, threshold=1)
    assert np.allclose(e.rotation, r_true, atol=1e-3)
    assert np.allclose(e.translation, t_true / np.linalg.norm(t_true), atol=1e-2)


def test_cameras():
    camera = keybits.Camera(500, 510, 320, 240, k1=-0.2, k2=0.05, p1=1e-3, p2=-5e-4)
    rays = np.array([[0, 0], [0.3, -0.2], [-0.25, 0.1]])
    pixels = camera.project(rays)
    assert np.allclose(pixels[0], [320, 240]) and np.allclose(camera.unproject(pixels), rays, atol=1e-9)
    points = np.concatenate([rays * 4, np.full((3, 1), 4.0)], axis=1)
    assert np.allclose(camera.project(points), pixels)
    assert np.isnan(camera.project(-points)).all() and camera.project(np.zeros((0, 2))).shape == (0, 2)
    assert np.isnan(keybits.Camera(500, 500, 0, 0, k1=-0.5).unproject([[5000, 0]])).all()
    cv2 = pytest.importorskip("cv2")
    matrix = np.array([[500, 0, 320], [0, 510, 240], [0, 0, 1.0]])
    theirs, _ = cv2.projectPoints(points, np.zeros(3), np.zeros(3), matrix, np.array([-0.2, 0.05, 1e-3, -5e-4, 0]))
    assert np.allclose(pixels, theirs.reshape(-1, 2), atol=1e-9)
    with pytest.raises(keybits.KeybitsValueError):
        keybits.Camera(0, 500, 320, 240).project(rays)
    with pytest.raises(keybits.KeybitsValueError, match="n x 2"):
        camera.unproject(np.zeros((2, 4)))


def test_pose_of_a_plane():
    camera = keybits.Camera(500, 500, 320, 240)
    turn = np.array([[0.8, 0, 0.6], [0, 1, 0], [-0.6, 0, 0.8]])
    place = np.array([0.1, -0.2, 3.0])
    k = np.array([[500, 0, 320], [0, 500, 240], [0, 0, 1.0]])
    for sign in (1, -2.5):  # homographies have no scale
        rotation, translation = keybits.pose_from_homography(
            sign * k @ np.column_stack([turn[:, 0], turn[:, 1], place]), camera)
        assert np.allclose(rotation, turn) and np.allclose(translation, place)
    with pytest.raises(keybits.KeybitsValueError):
        keybits.pose_from_homography(np.zeros((3, 3)), camera)
    with pytest.raises(keybits.KeybitsValueError, match="3 x 3"):
        keybits.pose_from_homography(np.zeros(9), camera)


def test_guided(features):
    k = features.keypoints
    guides = np.zeros(len(k), keybits.guide_dtype)
    guides["x"], guides["y"], guides["radius"], guides["angle"] = k["x"] + 3, k["y"], 8, k["angle"]
    guides["max_level"] = 20
    m = keybits.match_guided(features.descriptors, guides, features.descriptors, k)
    assert len(m) > 0.9 * len(k) and (m["a"] == m["b"]).mean() > 0.95
    with pytest.raises(keybits.KeybitsValueError, match="guides"):
        keybits.match_guided(features.descriptors, guides[:3], features.descriptors, k)
    shift = np.array([[1, 0, 3], [0, 1, 0], [0, 0, 1.0]])
    sent = keybits.guides_homography(shift, k, 8)
    assert np.array_equal(sent["x"], k["x"] + 3) and not sent["line_x"].any()
    lines = keybits.guides_epipolar([[0, 0, 0], [0, 0, -1], [0, 1, 0]], k, 320, 240, 1)  # a shift along x
    assert np.allclose(lines["y"], k["y"], atol=1e-3) and not lines["line_y"].any()
    for guides in sent, lines:
        m = keybits.match_guided(features.descriptors, guides, features.descriptors, k, check_angles=False)
        assert len(m) > 0.9 * len(k) and (m["a"] == m["b"]).mean() > 0.95


def test_stereo(image):
    right = np.roll(image, -9, axis=1)
    f, g = keybits.detect_and_compute(image), keybits.detect_and_compute(right)
    for images in (None, (image, right)):
        m = keybits.match_stereo(f.descriptors, f.keypoints, g.descriptors, g.keypoints, images=images)
        assert m.dtype == keybits.stereo_dtype and len(m) > 100
        assert abs(np.median(m["disparity"]) - 9) < 0.1 and (np.abs(m["disparity"] - 9) < 1).mean() > 0.8
    with pytest.raises(keybits.KeybitsValueError):
        keybits.match_stereo(f.descriptors, f.keypoints[:-1], g.descriptors, g.keypoints)


def test_hamming():
    a = np.array([[0b10110000, 0], [255, 255]], np.uint8)
    assert keybits.hamming(a, np.zeros(2, np.uint8)).tolist() == [3, 16]
