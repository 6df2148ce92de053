"""In place of cv2.ORB: the same calls, the same types; conversions without loss."""
import numpy as np
import pytest

import keybits

cv2 = pytest.importorskip("cv2")
kcv2 = pytest.importorskip("keybits.cv2")


def fields(keypoint):
    return (*keypoint.pt, keypoint.size, keypoint.angle, keypoint.response, keypoint.octave, keypoint.class_id)


@pytest.fixture(params=["blocks", "fields"])
def way(request, monkeypatch):
    """Both ways of converting, the fast one where this OpenCV has the layout for it."""
    if request.param == "blocks" and not kcv2._BLOCKS:
        pytest.skip("another layout of cv2.KeyPoint")
    monkeypatch.setattr(kcv2, "_BLOCKS", request.param == "blocks")


def test_the_fast_way_is_used_on_cpython():
    assert kcv2._BLOCKS


def test_keypoints_there_and_back(way, features):
    objects = kcv2.to_keypoints(features.keypoints)
    assert isinstance(objects, list) and type(objects[0]) is cv2.KeyPoint
    assert [fields(k) for k in objects] == features.keypoints.tolist()
    assert np.array_equal(kcv2.from_keypoints(objects), features.keypoints)
    assert np.array_equal(kcv2.from_keypoints(tuple(objects)), features.keypoints)
    assert kcv2.to_keypoints(features.keypoints[:0]) == [] and len(kcv2.from_keypoints(())) == 0
    reused = [objects[3], objects[3], objects[0]]
    assert np.array_equal(kcv2.from_keypoints(reused), features.keypoints[[3, 3, 0]])
    with pytest.raises(keybits.KeybitsValueError, match="cv2.KeyPoint"):
        kcv2.from_keypoints([objects[0], "keypoint"])


def test_objects_are_ordinary_ones(way, features):
    objects = kcv2.to_keypoints(features.keypoints)
    objects[0].pt = (1, 2)
    objects[0].angle = 3
    assert kcv2.from_keypoints(objects[:1])[["x", "y", "angle"]].tolist() == [(1, 2, 3)]
    gray = np.zeros((240, 320), np.uint8)
    assert cv2.drawKeypoints(gray, objects, None).any()
    assert len(cv2.KeyPoint_convert(objects)) == len(objects)


def test_matches_there_and_back(way, features, view_features):
    m = keybits.match(features.descriptors, view_features.descriptors)
    objects = kcv2.to_matches(m)
    assert [(d.queryIdx, d.trainIdx, d.imgIdx, d.distance) for d in objects] == \
        [(a, b, 0, distance) for a, b, distance, _ in m.tolist()]
    back = kcv2.from_matches(objects)
    assert np.array_equal(back[["a", "b", "distance"]], m[["a", "b", "distance"]]) and np.isinf(back["second"]).all()
    pairs = cv2.BFMatcher(cv2.NORM_HAMMING).knnMatch(features.descriptors, view_features.descriptors, k=2)
    assert np.array_equal(kcv2.from_matches(pairs),
                          keybits.match(features.descriptors, view_features.descriptors, mutual=False))
    with pytest.raises(keybits.KeybitsValueError, match="cv2.DMatch"):
        kcv2.from_matches([1, 2])


def test_matching_is_that_of_opencv(features, view_features):
    theirs = cv2.BFMatcher(cv2.NORM_HAMMING, crossCheck=True).match(features.descriptors, view_features.descriptors)
    ours = keybits.match(features.descriptors, view_features.descriptors)
    assert np.array_equal(np.sort(kcv2.from_matches(theirs)[["a", "b", "distance"]]), ours[["a", "b", "distance"]])


def test_matcher_in_place_of_opencvs(features, view_features):
    a, b = features.descriptors, view_features.descriptors

    def values(matches):
        return [(m.queryIdx, m.trainIdx, m.distance) for m in matches]
    for mutual in (False, True):
        theirs = cv2.BFMatcher(cv2.NORM_HAMMING, crossCheck=mutual).match(a, b)
        ours = kcv2.Matcher(crossCheck=mutual).match(a, b)
        assert type(ours) is type(theirs) and sorted(values(ours)) == sorted(values(theirs))
    theirs, ours = cv2.BFMatcher(cv2.NORM_HAMMING).knnMatch(a, b, 3), kcv2.Matcher().knnMatch(a, b, 3)
    assert type(ours[0]) is type(theirs[0]) and len(ours) == len(theirs)
    assert [[m.distance for m in each] for each in ours] == [[m.distance for m in each] for each in theirs]
    assert [len(each) for each in kcv2.Matcher().knnMatch(a[:2], b[:1], 3)] == [1, 1]
    with pytest.raises(keybits.KeybitsValueError):
        kcv2.Matcher(True).knnMatch(a, b, 2)


def homography(orb, image, view):
    """A program that was written for cv2.ORB."""
    k1, d1 = orb.detectAndCompute(image, None)
    k2, d2 = orb.detectAndCompute(view, None)
    matches = cv2.BFMatcher(orb.defaultNorm(), crossCheck=True).match(d1, d2)
    matches = sorted(matches, key=lambda m: m.distance)
    source = np.float32([k1[m.queryIdx].pt for m in matches]).reshape(-1, 1, 2)
    target = np.float32([k2[m.trainIdx].pt for m in matches]).reshape(-1, 1, 2)
    return cv2.findHomography(source, target, cv2.RANSAC, 3)


def test_in_place_of_orb(image, view):
    from conftest import HOMOGRAPHY
    theirs, ours = cv2.ORB_create(500), kcv2.create(500)
    for orb in (theirs, ours):
        h, inliers = homography(orb, image, view)
        assert inliers.sum() > 50
        places = np.array([[20, 20], [300, 220]])
        assert np.abs(keybits.project_homography(h, places)
                      - keybits.project_homography(HOMOGRAPHY, places)).max() < 4
    for method in ("descriptorSize", "descriptorType", "defaultNorm", "empty", "getMaxFeatures"):
        assert getattr(ours, method)() == getattr(theirs, method)(), method
    assert ours.getDefaultName() == "Feature2D.keybits.bag256" and theirs.getDefaultName().startswith("Feature2D.")


def test_types_are_those_of_orb(image):
    theirs, ours = cv2.ORB_create(), kcv2.create()
    for made in (lambda orb: orb.detect(image), lambda orb: orb.detectAndCompute(image, None)[0]):
        assert type(made(ours)) is type(made(theirs)) is tuple
    keypoints = theirs.detect(image)
    same, rows = ours.compute(image, keypoints)
    assert type(same) is tuple and len(same) == len(rows) == len(keypoints) and rows.shape[1] == 32
    assert np.array_equal(rows, keybits.describe(image, kcv2.from_keypoints(keypoints)))
    nothing = np.full((100, 100), 7, np.uint8)
    for orb in (theirs, ours):
        keypoints, rows = orb.detectAndCompute(nothing, None)
        assert len(keypoints) == 0 and rows is None


def test_colour_masks_and_lists(image):
    random = np.random.RandomState(1)
    bgr = np.dstack([image, np.roll(image, 3), random.randint(0, 256, image.shape)]).astype(np.uint8)
    ours = kcv2.create(200, "bad256", selection="grid")
    keypoints, rows = ours.detectAndCompute(bgr, None)
    gray = cv2.cvtColor(bgr, cv2.COLOR_BGR2GRAY)
    assert np.array_equal(rows, ours.detectAndCompute(gray, None)[1])
    mask = np.zeros_like(image)
    mask[:, :100] = 1
    assert all(k.pt[0] < 100 for k in ours.detect(image, mask))
    several = ours.detect([image, gray])
    assert len(several) == 2 and fields(several[1][0]) == fields(keypoints[0])
    both = ours.compute([image, gray], several)
    assert np.array_equal(both[1][1], rows)


def test_other_keypoints_by_preset(image):
    akaze = cv2.AKAZE_create()
    keypoints = akaze.detect(image)
    rows = kcv2.create(scale="akaze").compute(image, keypoints)[1]
    assert np.array_equal(rows, keybits.describe(image, kcv2.from_keypoints(keypoints), scale="akaze"))
