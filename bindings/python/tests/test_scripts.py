# SPDX-License-Identifier: Apache-2.0
"""Programs in the manner of those that are written for OpenCV's ORB: each runs with OpenCV's objects and with ours, and
ours must do at least as well. Nothing of a program changes but the line that makes the objects."""
import numpy as np
import pytest
from conftest import leaves, warp

import keybits

cv2 = pytest.importorskip("cv2")
kcv2 = pytest.importorskip("keybits.cv2")
pytestmark = pytest.mark.filterwarnings("ignore:the keypoints are smaller", "ignore:fastThreshold")


def rotation(degrees, zoom, x, y, tilt=0.0):
    c, s = np.cos(np.deg2rad(degrees)) * zoom, np.sin(np.deg2rad(degrees)) * zoom
    return np.array([[c, -s, x], [s, c, y], [tilt, -tilt / 2, 1]])


def noisy(image, seed):
    noise = np.random.RandomState(seed).normal(0, 5, image.shape)
    return np.clip(image + noise, 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def scene():
    return leaves(400, 300, 11)


@pytest.fixture(scope="module")
def views(scene):
    truth = [rotation(12, 0.9, 60, 10, 1e-4), rotation(-25, 1.1, -20, 90, -1e-4), rotation(4, 0.7, 40, 40, 3e-4)]
    return [(noisy(warp(scene, h, 420, 330), i), h) for i, h in enumerate(truth)]


def places(points, inliers):
    """Cells of 4 px with an inlier: one beside another is no second witness."""
    found = np.asarray(points).reshape(-1, 2)[np.asarray(inliers).ravel() > 0]
    return len(np.unique(np.floor(found / 4), axis=0))


MAKERS = {"orb": (cv2.ORB_create, cv2.BFMatcher), "keybits": (kcv2.create, kcv2.Matcher),
          "keybits' rows, OpenCV's matcher": (kcv2.create, cv2.BFMatcher)}


def find_object(make, matcher, one, two, count, ratio):
    """Finds a picture in another: knnMatch, ratio test, findHomography."""
    detector = make(count)
    kp1, des1 = detector.detectAndCompute(one, None)
    kp2, des2 = detector.detectAndCompute(two, None)
    pairs = matcher(detector.defaultNorm()).knnMatch(des1, trainDescriptors=des2, k=2)
    good = [m for m, n in pairs if m.distance < n.distance * ratio]
    p1 = np.float32([kp1[m.queryIdx].pt for m in good])
    p2 = np.float32([kp2[m.trainIdx].pt for m in good])
    if len(good) < 4:
        return 0, np.inf
    h, status = cv2.findHomography(p1, p2, cv2.RANSAC, 5.0)
    drawn = cv2.drawMatches(one, kp1, two, kp2, good[:10], None)
    assert drawn.shape[1] == one.shape[1] + two.shape[1]
    return places(p1, status), h


@pytest.mark.parametrize("ratio", [0.75, keybits.Model("bag256").ratio])
@pytest.mark.parametrize("count", [400, 1000, 2000])
def test_finding_an_object(scene, views, count, ratio):
    for view, truth in views:
        found = {name: find_object(*makers, scene, view, count, ratio) for name, makers in MAKERS.items()}
        corners = np.array([[20, 20], [380, 20], [380, 280], [20, 280]])
        expected = keybits.project_homography(truth, corners)
        for name, (inliers, h) in found.items():
            assert inliers >= found["orb"][0], (name, found)
            assert np.abs(keybits.project_homography(h, corners) - expected).max() < 6, name


class PlaneTracker:
    """Targets that are added to a matcher, and found again in frames by imgIdx."""

    def __init__(self, make, matcher):
        self.detector = make(nfeatures=600)
        self.matcher = matcher(cv2.NORM_HAMMING)
        self.targets = []

    def add(self, image, rectangle):
        keypoints, rows = self.detector.detectAndCompute(image, None)
        x0, y0, x1, y1 = rectangle
        inside = [i for i, k in enumerate(keypoints) if x0 <= k.pt[0] <= x1 and y0 <= k.pt[1] <= y1]
        self.matcher.add([np.uint8([rows[i] for i in inside])])
        self.targets.append([keypoints[i] for i in inside])

    def track(self, frame):
        keypoints, rows = self.detector.detectAndCompute(frame, None)
        matches = self.matcher.knnMatch(rows, k=2)
        matches = [m[0] for m in matches if len(m) == 2 and m[0].distance < m[1].distance * 0.75]
        seen = []
        for number, target in enumerate(self.targets):
            own = [m for m in matches if m.imgIdx == number]
            if len(own) < 8:
                continue
            p0 = np.float32([target[m.trainIdx].pt for m in own])
            p1 = np.float32([keypoints[m.queryIdx].pt for m in own])
            h, status = cv2.findHomography(p0, p1, cv2.RANSAC, 3.0)
            if status.sum() >= 8:
                seen.append((number, h, places(p1, status)))
        return seen


def test_tracking_planes(scene, views):
    results = {}
    for name, makers in MAKERS.items():
        tracker = PlaneTracker(*makers)
        tracker.add(scene, (0, 0, 190, 300))
        tracker.add(scene, (210, 0, 400, 300))
        inliers = 0
        for view, truth in views:
            for number, h, count in tracker.track(view):
                centre = np.array([[95 if number == 0 else 305, 150]])
                error = keybits.project_homography(h, centre) - keybits.project_homography(truth, centre)
                assert np.hypot(*error[0]) < 3, (name, number)
                inliers += count
        results[name] = inliers
    assert min(results["keybits"], results["keybits' rows, OpenCV's matcher"]) >= results["orb"] > 50, results


def odometry(make, matcher, frames):
    """The turn between frames, from matches with crossCheck sorted by distance."""
    orb = make(nfeatures=800, scaleFactor=1.2, nlevels=8)
    bf = matcher(cv2.NORM_HAMMING, crossCheck=True)
    turns, inliers, before = [], 0, None
    for frame in frames:
        current = orb.detectAndCompute(cv2.cvtColor(frame, cv2.COLOR_GRAY2BGR), None)
        if before is not None:
            matches = sorted(bf.match(before[1], current[1]), key=lambda x: x.distance)
            p = np.float32([before[0][m.queryIdx].pt for m in matches])
            q = np.float32([current[0][m.trainIdx].pt for m in matches])
            similarity, mask = cv2.estimateAffinePartial2D(p, q, ransacReprojThreshold=2)
            turns.append(np.rad2deg(np.arctan2(similarity[1, 0], similarity[0, 0])))
            inliers += places(p, mask)
        before = current
    return turns, inliers


def test_visual_odometry(scene):
    frames = [noisy(warp(scene, rotation(5 * i, 1 - 0.03 * i, 30 + 8 * i, 20 - 6 * i), 420, 330), i) for i in range(5)]
    results = {name: odometry(*makers, frames) for name, makers in MAKERS.items()}
    for name, (turns, inliers) in results.items():
        assert np.allclose(turns, 5, atol=0.5), (name, turns)
        assert inliers >= results["orb"][1], results


def corners_with_descriptors(make, matcher, one, two):
    """goodFeaturesToTrack for keypoints, and an extractor for their descriptors."""
    orb = make()
    features = []
    for image in (one, two):
        found = cv2.goodFeaturesToTrack(image, 800, qualityLevel=0.01, minDistance=4)
        keypoints = [cv2.KeyPoint(float(f[0][0]), float(f[0][1]), 20) for f in found]
        features.append(orb.compute(image, keypoints))
    (k1, d1), (k2, d2) = features
    good = [m for m, n in matcher(cv2.NORM_HAMMING).knnMatch(d1, d2, k=2) if m.distance < 0.8 * n.distance]
    p, q = (np.float32([k[i].pt for k, i in chosen]) for chosen in
            ([(k1, m.queryIdx) for m in good], [(k2, m.trainIdx) for m in good]))
    return places(p, cv2.findHomography(p, q, cv2.RANSAC, 3)[1])


def test_corners_of_other_detectors(scene):
    view = noisy(warp(scene, rotation(3, 1.05, 10, 5), 420, 330), 5)
    results = {name: corners_with_descriptors(*makers, scene, view) for name, makers in MAKERS.items()}
    assert results["orb"] > 20 and min(results.values()) >= results["orb"], results


class FeatureManager:
    """One object that sets up detectors of several kinds by setters, blocks and masks, as SLAM systems in Python do."""

    def __init__(self, make, count=600):
        self.orb = make(count, 1.2, 8)
        self.orb.setMaxFeatures(2 * count)
        self.orb.setScaleFactor(1.2)
        self.orb.setNLevels(8)
        self.orb.setFastThreshold(20)
        self.norm, self.size = self.orb.defaultNorm(), self.orb.descriptorSize()
        assert (self.orb.getScaleFactor(), self.orb.getNLevels()) == (pytest.approx(1.2), 8)

    def detect_in_blocks(self, image, rows=2, columns=2):
        keypoints = []
        height, width = image.shape[0] // rows, image.shape[1] // columns
        for y in range(0, rows * height, height):
            for x in range(0, columns * width, width):
                for k in self.orb.detect(image[y:y + height, x:x + width], mask=None):
                    k.pt = (k.pt[0] + x, k.pt[1] + y)
                    keypoints.append(k)
        return sorted(keypoints, key=lambda k: k.response, reverse=True)[:600]

    def features(self, image):
        mask = np.full(image.shape[:2], 255, np.uint8)
        mask[:, :10] = 0
        by_mask = self.orb.detect(image, mask)
        assert all(k.pt[0] >= 9 for k in by_mask)
        keypoints = self.detect_in_blocks(image)
        keypoints, rows = self.orb.compute(image, keypoints)
        assert rows.shape == (len(keypoints), self.size) and rows.dtype == np.uint8
        return keypoints, rows


def test_a_feature_manager(scene, views):
    results = {}
    for name, (make, matcher) in MAKERS.items():
        manager = FeatureManager(make)
        (k1, d1), (k2, d2) = manager.features(scene), manager.features(views[0][0])
        matches = matcher(manager.norm, crossCheck=True).match(d1, d2)
        p = np.float32([k1[m.queryIdx].pt for m in matches])
        q = np.float32([k2[m.trainIdx].pt for m in matches])
        results[name] = places(p, cv2.findHomography(p, q, cv2.RANSAC, 3)[1])
    assert min(results.values()) >= results["orb"] > 50, results
