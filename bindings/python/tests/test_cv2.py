# SPDX-License-Identifier: Apache-2.0
"""In place of cv2.ORB: the same calls, the same types; conversions without loss."""
import pickle
import warnings

import numpy as np
import pytest

import keybits

cv2 = pytest.importorskip("cv2")
kcv2 = pytest.importorskip("keybits.cv2")


def fields(keypoint):
    return (*keypoint.pt, keypoint.size, keypoint.angle, keypoint.response, keypoint.octave, keypoint.class_id)


@pytest.fixture(autouse=True)
def nothing_was_said(monkeypatch):
    monkeypatch.setattr(kcv2, "_said", set())


def test_keypoints_there_and_back(features):
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


def test_objects_are_ordinary_ones(features):
    objects = kcv2.to_keypoints(features.keypoints)
    objects[0].pt = (1, 2)
    objects[0].angle = 3
    assert kcv2.from_keypoints(objects[:1])[["x", "y", "angle"]].tolist() == [(1, 2, 3)]
    gray = np.zeros((240, 320), np.uint8)
    assert cv2.drawKeypoints(gray, objects, None).any()
    assert len(cv2.KeyPoint_convert(objects)) == len(objects)


def test_matches_there_and_back(features, view_features):
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


def told(call):
    """What a matcher returns, down to the numbers; or that OpenCV refuses it."""
    def values(result):
        if isinstance(result, (tuple, list)):
            return type(result).__name__, [values(each) for each in result]
        if isinstance(result, cv2.DMatch):
            return result.queryIdx, result.trainIdx, result.imgIdx, result.distance
        return result
    try:
        return values(call())
    except cv2.error:
        return "refused"


ROWS = np.random.RandomState(1).randint(1, 5, (90, 3)).astype(np.uint8)  # short rows: many distances are equal
ZEROS = np.where(np.arange(40)[:, np.newaxis] % 7, ROWS[:40], 0)
MASK = (np.random.RandomState(2).rand(40, 50) < 0.1).astype(np.uint8)


@pytest.mark.parametrize("norm, cross", [(cv2.NORM_HAMMING, False), (cv2.NORM_HAMMING, True), (cv2.NORM_L2, False),
                                         (cv2.NORM_L1, True), (cv2.NORM_HAMMING2, False), (99, False)])
def test_matcher_in_place_of_bfmatcher(norm, cross):
    """Every call gives what cv2.BFMatcher gives: values, order, types, refusals."""
    a, b, none = ROWS[:40], ROWS[40:], np.zeros((0, 3), np.uint8)
    calls = []
    for query in (a, b, none, None, ZEROS, a.astype(np.float32), a[:, :2].copy(), np.asfortranarray(a), a[::2]):
        for train in (b, a, none, None, ZEROS, b.astype(np.float32)):
            calls += [lambda m, q=query, t=train: m.match(q, t), lambda m, q=query, t=train: m.knnMatch(q, t, k=2),
                      lambda m, q=query, t=train: m.radiusMatch(q, t, 3.0)]
    calls += [lambda m: m.match(a), lambda m: m.knnMatch(a, 2), lambda m: m.knnMatch(a, k=2),
              lambda m: m.knnMatch(a, b, 1), lambda m: m.knnMatch(a, b, 0), lambda m: m.knnMatch(a, b, 99),
              lambda m: m.knnMatch(a, b, 3, MASK), lambda m: m.knnMatch(a, b, k=3, mask=MASK, compactResult=True),
              lambda m: m.match(a, b, MASK), lambda m: m.match(a, b, mask=MASK), lambda m: m.match(a, b, MASK[:3]),
              lambda m: m.radiusMatch(a, b, 2.5, mask=MASK), lambda m: m.radiusMatch(a, b, maxDistance=0),
              lambda m: m.radiusMatch(a, b, 3.0, None, True), lambda m: m.knnMatch(a, b, 1, None, True),
              lambda m: m.empty(), lambda m: m.isMaskSupported(), lambda m: m.getDefaultName(),
              lambda m: m.match(cv2.UMat(a), cv2.UMat(b)), lambda m: m.knnMatch(cv2.UMat(a), b, 2)]
    ours, theirs = kcv2.Matcher(norm, crossCheck=cross), cv2.BFMatcher(norm, crossCheck=cross)
    answers = [told(lambda: call(theirs)) for call in calls]
    assert [told(lambda: call(ours)) for call in calls] == answers
    assert norm == 99 or len([each for each in answers if each != "refused"]) > 40
    # With rows that were added.
    for matcher in (ours, theirs):
        matcher.add([b[:20], b[20:]])
        matcher.train()
    masks = [MASK[:, :20].copy(), MASK[:, 20:].copy()]
    calls = [lambda m: m.match(a), lambda m: m.knnMatch(a, 3), lambda m: m.radiusMatch(a, 2.5), lambda m: m.empty(),
             lambda m: m.match(a, masks=masks), lambda m: m.knnMatch(a, k=2, masks=masks), lambda m: m.match(a, a),
             lambda m: m.clone(True).empty(), lambda m: [rows.tolist() for rows in m.getTrainDescriptors()],
             lambda m: m.match(None), lambda m: m.match(a[:, :2].copy())]
    assert [told(lambda: call(ours)) for call in calls] == [told(lambda: call(theirs)) for call in calls]
    kept = pickle.loads(pickle.dumps(ours))
    assert told(lambda: kept.knnMatch(a, 2)) == told(lambda: theirs.knnMatch(a, 2))
    assert told(lambda: ours.clone().match(a)) == told(lambda: theirs.match(a))
    for matcher in (ours, theirs):
        matcher.clear()
    assert ours.empty() and told(lambda: ours.match(a)) == told(lambda: theirs.match(a))


def test_matcher_of_real_rows(features, view_features):
    a, b = features.descriptors, view_features.descriptors
    for cross in (False, True):
        theirs = cv2.BFMatcher(cv2.NORM_HAMMING, cross).match(a, b)
        ours = kcv2.Matcher(cv2.NORM_HAMMING, cross).match(a, b)
        assert told(lambda: ours) == told(lambda: theirs)
    assert told(lambda: kcv2.Matcher().knnMatch(a, b, 2)) == \
        told(lambda: cv2.BFMatcher(cv2.NORM_HAMMING).knnMatch(a, b, 2))
    with pytest.raises(keybits.KeybitsValueError, match="normType"):
        kcv2.Matcher(True)


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
    ours = kcv2.create(200, model="bad256", selection="grid")
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


ORB = {"nfeatures": 300, "scaleFactor": 1.3, "nlevels": 5, "edgeThreshold": 15, "firstLevel": 0, "WTA_K": 2,
       "scoreType": cv2.ORB_FAST_SCORE, "patchSize": 31, "fastThreshold": 12}


def getters(orb):
    return [getattr(orb, f"get{name}")() for name in ("MaxFeatures", "ScaleFactor", "NLevels", "EdgeThreshold",
            "FirstLevel", "WTA_K", "ScoreType", "PatchSize", "FastThreshold")]


def test_arguments_of_orb(image):
    """By position, by name, by setters; what is set is what is read, as of cv2.ORB."""
    theirs = cv2.ORB_create(**ORB)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        by_name, by_position, by_setter = kcv2.create(**ORB), kcv2.create(*ORB.values()), kcv2.create()
        for name, value in zip(("MaxFeatures", "ScaleFactor", "NLevels", "EdgeThreshold", "FirstLevel", "WTA_K",
                                "ScoreType", "PatchSize", "FastThreshold"), ORB.values()):
            getattr(by_setter, f"set{name}")(value)
    for ours in (by_name, by_position, by_setter):
        assert getters(ours) == pytest.approx(getters(theirs))
    assert getters(kcv2.create()) == pytest.approx(getters(cv2.ORB_create()))
    sentences = sorted(str(each.message) for each in said)  # each once
    assert [sentence.split()[0] for sentence in sentences] == ["edgeThreshold", "fastThreshold", "scoreType"]
    expected = keybits.Detector("hessian", 300, level_factor=1.3, levels=5).detect(image)
    for ours in (by_name, by_position, by_setter, kcv2.create(300, 1.3, 5)):
        assert np.array_equal(kcv2.from_keypoints(ours.detect(image)), expected)
    expected = keybits.Detector("orb", 300, level_factor=1.3, levels=5, fast_threshold=12).detect(image)
    orb = kcv2.create(300, detector="orb", scaleFactor=1.3, nlevels=5)
    orb.setFastThreshold(12)
    assert np.array_equal(kcv2.from_keypoints(orb.detect(image)), expected)


def test_defaults_of_orb_are_ours(image):
    """Programs write down the defaults; that changes nothing, and says nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        written = kcv2.create(nfeatures=500, scaleFactor=1.2, nlevels=8, edgeThreshold=31, firstLevel=0, WTA_K=2,
                              scoreType=cv2.ORB_HARRIS_SCORE, patchSize=31, fastThreshold=20)
    assert np.array_equal(kcv2.from_keypoints(written.detect(image)), kcv2.from_keypoints(kcv2.create().detect(image)))
    written.setMaxFeatures(40)
    assert len(written.detect(image)) == 40 and written.getMaxFeatures() == 40
    assert len(pickle.loads(pickle.dumps(written)).detect(image)) == 40


def test_a_detector_of_ones_own(image):
    ours = kcv2.create(detector=keybits.Detector("orb", 60, fast_threshold=15))
    assert len(ours.detect(image)) == 60 == ours.getMaxFeatures()
    ours.setMaxFeatures(30)
    assert np.array_equal(kcv2.from_keypoints(ours.detect(image)),
                          keybits.Detector("orb", 30, fast_threshold=15).detect(image))
    for wrong in (lambda: kcv2.create(100, detector=keybits.Detector("orb")), lambda: kcv2.create(500, "bad256"),
                  lambda: kcv2.create(detector=keybits.Detector("orb"), selection="grid"),
                  lambda: kcv2.create(nfeatures=0), lambda: kcv2.create(nlevels=40), lambda: kcv2.create(1.5),
                  lambda: kcv2.create(scaleFactor=0.5), lambda: kcv2.create(detector="orb", fastThreshold=-3)):
        with pytest.raises(keybits.KeybitsValueError):
            wrong()


def test_umat(image):
    ours = kcv2.create(100)
    keypoints, rows = ours.detectAndCompute(image, None)
    seen, other = ours.detectAndCompute(cv2.UMat(image), cv2.UMat(np.ones_like(image)))
    assert type(other) is cv2.UMat and np.array_equal(other.get(), rows) and len(seen) == len(keypoints)
    assert len(ours.detect(cv2.UMat(image))) == len(keypoints)
    assert np.array_equal(ours.compute(cv2.UMat(image), keypoints)[1].get(), rows)
    bgr = cv2.cvtColor(image, cv2.COLOR_GRAY2BGR)
    assert np.array_equal(ours.detectAndCompute(cv2.UMat(bgr), None)[1].get(), rows)


def test_keypoints_without_a_size(image, view):
    """cv2.KeyPoint(x, y, 1) after goodFeaturesToTrack, and what GFTT and FAST give."""
    from conftest import HOMOGRAPHY

    def inliers(extractor, detect):
        found = []
        for picture in (image, view):
            keypoints = detect(picture)
            kept, rows = extractor.compute(picture, keypoints)
            assert [k.size for k in kept] == [keypoints[0].size] * len(kept)
            found += [kept, rows]
        k1, d1, k2, d2 = found
        matches = cv2.BFMatcher(cv2.NORM_HAMMING, crossCheck=True).match(d1, d2)
        there = np.float64([k1[m.queryIdx].pt for m in matches])
        seen = np.float64([k2[m.trainIdx].pt for m in matches])
        distance = np.linalg.norm(keybits.project_homography(HOMOGRAPHY, there) - seen, axis=1)
        return int((distance < 3).sum())

    def corners(picture):
        return [cv2.KeyPoint(float(x), float(y), 1)
                for x, y in cv2.goodFeaturesToTrack(picture, 300, 0.01, 5).reshape(-1, 2)]
    for detect in (corners, cv2.GFTTDetector_create(300).detect, cv2.FastFeatureDetector_create(40).detect):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            assert inliers(kcv2.create(), detect) >= 1.2 * inliers(cv2.ORB_create(), detect)
            assert inliers(kcv2.create(model="bad256"), detect) >= inliers(cv2.ORB_create(), detect)
        assert len([each for each in said if "have no size" in str(each.message)]) <= 1
        assert kcv2._said
    places = np.array([[50, 60], [100, 120]], np.float32)
    ones = [cv2.KeyPoint(float(x), float(y), 1) for x, y in places]
    assert np.array_equal(kcv2.create().compute(image, ones)[1], keybits.describe(image, places))


def test_keypoints_of_another_detector_are_said(image):
    sift = cv2.BRISK_create().detect(image)
    with pytest.warns(UserWarning, match="another detector.*akaze"):
        kcv2.create().compute(image, sift)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kcv2.create(scale="brisk").compute(image, sift)
        kcv2.create().compute(image, kcv2.create().detect(image))
        kcv2.create().compute(image, cv2.ORB_create().detect(image))


def test_other_keypoints_by_preset(image):
    akaze = cv2.AKAZE_create()
    keypoints = akaze.detect(image)
    rows = kcv2.create(scale="akaze").compute(image, keypoints)[1]
    assert np.array_equal(rows, keybits.describe(image, kcv2.from_keypoints(keypoints), scale="akaze"))
