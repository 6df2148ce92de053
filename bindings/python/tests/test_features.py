# SPDX-License-Identifier: Apache-2.0
"""Detecting and describing: the program's results, views without copies, wrong input."""
from pathlib import Path

import warnings

import numpy as np
import pytest
from conftest import leaves, read_keypoints, write_pgm

import keybits


def test_rows_equal_the_programs(image, program, tmp_path):
    write_pgm(tmp_path / "image.pgm", image)
    for model in ("bad256", "bag256", "hashsift256"):
        program("detect", tmp_path / "image.pgm", "-n", 300, "-o", tmp_path / "keypoints.csv")
        program("describe", tmp_path / "image.pgm", "-m", model, "-n", 300, "-o", tmp_path / "rows.npy")
        f = keybits.detect_and_compute(image, model=model, max_keypoints=300)
        assert np.array_equal(f.descriptors, np.load(tmp_path / "rows.npy"))
        assert np.array_equal(f.keypoints, read_keypoints(tmp_path / "keypoints.csv"))
        assert len(f) == 300 and f.size == (320, 240) and f.model.name == model


def test_sift_detector_equals_the_programs(image, program, tmp_path):
    write_pgm(tmp_path / "image.pgm", image)
    program("describe", tmp_path / "image.pgm", "-m", "bag512", "--detector", "sift", "-n", 200, "-o",
            tmp_path / "rows.npy")
    f = keybits.detect_and_compute(image, "sift", "bag512", 200)
    assert np.array_equal(f.descriptors, np.load(tmp_path / "rows.npy"))


def test_sixteen_bits(image):
    deep = image.astype(np.uint16) * 257
    f, g = keybits.detect_and_compute(image), keybits.detect_and_compute(deep)
    assert np.array_equal(f.descriptors, g.descriptors)
    twelve = image.astype(np.uint16) * 16
    h = keybits.detect_and_compute(twelve, white=255 * 16)
    assert np.array_equal(f.descriptors, h.descriptors)
    swapped = deep.astype(">u2")
    assert np.array_equal(keybits.detect_and_compute(swapped).descriptors, f.descriptors)


def test_views_are_not_copied(image):
    from keybits._arrays import image_view
    wide = np.zeros((240, 500), np.uint8)
    wide[:, 100:420] = image
    part = wide[:, 100:420]
    view, alive = image_view(part)
    assert view.data == part.ctypes.data and view.stride == 500 and np.shares_memory(alive, wide)
    expected = keybits.detect_and_compute(image)
    assert np.array_equal(keybits.detect_and_compute(part).descriptors, expected.descriptors)
    every_second_row = np.repeat(image, 2, axis=0)[::2]
    assert image_view(every_second_row)[0].stride == 640
    assert np.array_equal(keybits.detect_and_compute(every_second_row).descriptors, expected.descriptors)


@pytest.mark.parametrize("change", [np.asfortranarray, lambda a: np.repeat(a, 2, axis=1)[:, ::2],
                                    lambda a: a[::-1][::-1].copy()[:, ::-1][:, ::-1], lambda a: a[::-1].copy()[::-1]])
def test_other_layouts_give_the_same(image, change):
    other = change(image)
    assert np.array_equal(other, image)
    assert np.array_equal(keybits.detect_and_compute(other).descriptors, keybits.detect_and_compute(image).descriptors)


def test_colour_becomes_gray_by_the_documented_rule(image):
    random = np.random.RandomState(3)
    for dtype, top in ((np.uint8, 256), (np.uint16, 65536)):
        rgb = random.randint(0, top, (40, 50, 3)).astype(dtype)
        r, g, b = (rgb[:, :, i].astype(np.int64) for i in range(3))
        expected = (9798 * r + 19235 * g + 3735 * b + 16384) >> 15
        assert np.array_equal(keybits.to_gray(rgb), expected)
        assert np.array_equal(keybits.to_gray(rgb[:, :, ::-1], "BGR"), expected)
        assert np.array_equal(keybits.to_gray(np.dstack([rgb, rgb[:, :, :1]])), expected)
    same = np.dstack([image] * 3)
    assert np.array_equal(keybits.detect_and_compute(same).descriptors, keybits.detect_and_compute(image).descriptors)
    cv2 = pytest.importorskip("cv2")
    bgr = random.randint(0, 256, (64, 64, 3)).astype(np.uint8)
    assert np.array_equal(keybits.to_gray(bgr, "BGR"), cv2.cvtColor(bgr, cv2.COLOR_BGR2GRAY))


def test_features_as_an_object(image, features):
    assert repr(features) == "<keybits.Features: 500 of bag256, image of 320 x 240>"
    assert features == features and features != keybits.detect_and_compute(image) and len({features}) == 1


def test_out_and_flags(image, features):
    rows = np.full((len(features), 32), 7, np.uint8)
    flags = np.full(len(features), 99, np.uint8)
    assert keybits.describe(image, features.keypoints, out=rows, flags=flags) is rows
    assert np.array_equal(rows, features.descriptors) and set(flags) <= {0, 1}
    broken = features.keypoints[:3].copy()
    broken["x"] = [np.nan, -50, 10]
    flags = np.zeros(3, np.uint8)
    rows = keybits.describe(image, broken, flags=flags)
    assert list(flags[:2]) == [8, 4] and not rows[:2].any()


def test_mask(image):
    mask = np.zeros_like(image)
    mask[:, :160] = 255
    found = keybits.detect(image, mask=mask)
    assert len(found) > 50 and (found["x"] - found["size"] / 62).max() < 160  # half a pixel of a level
    assert np.array_equal(keybits.detect(image, mask=mask > 0), found)
    with pytest.raises(keybits.KeybitsValueError, match="the mask is 320 x 100, the image 320 x 240"):
        keybits.detect(image, mask=mask[:100])


def test_detector_options(image):
    few = keybits.Detector("orb", 100)
    assert len(few.detect(image)) == 100
    assert len(keybits.Detector("orb", 2000, fast_threshold=80).detect(image)) < len(keybits.detect(image))
    assert keybits.Detector("orb", levels=1).detect(image)["octave"].max() == 0
    spread = keybits.Detector("orb", 100, "quadtree").detect(image)
    assert not np.array_equal(spread, few.detect(image))
    for options in ({"name": "surf"}, {"selection": "worst"}, {"max_keypoints": 0}):
        with pytest.raises(keybits.KeybitsValueError):
            keybits.Detector(**options)
    with pytest.raises(keybits.KeybitsValueError):
        keybits.Detector(levels=99).detect(image)


def test_orientation(image):
    upright = keybits.Detector("orb", 300, orientation="none").detect(image)
    assert (upright["angle"] == -1).all()
    turned = keybits.Detector("orb", 300).detect(image)
    assert (turned["angle"] >= 0).all()
    again, confidence = keybits.orient(image, upright)
    assert (upright["angle"] == -1).all()  # a copy
    assert confidence.shape == (300,) and 0 <= confidence.min() <= confidence.max() <= 1
    other, _ = keybits.orient(image, upright, "centroid")
    assert not np.array_equal(again["angle"], other["angle"])
    assert (keybits.orient(image, turned, "none")[0]["angle"] == -1).all()
    twice = keybits.Detector("orb", 300, second_angle=True).detect(image)
    assert len(np.unique(twice[["x", "y", "size"]])) < len(np.unique(turned[["x", "y", "size"]]))
    between = keybits.Detector("orb", 300, levels=1).detect(image)
    assert (between["x"] != np.rint(between["x"])).mean() > 0.5
    assert (keybits.Detector("orb", 300, whole_pixels=True, levels=1).detect(image)["x"] % 1 == 0).all()
    with pytest.raises(keybits.KeybitsValueError, match="no orientation"):
        keybits.orient(image, turned, "north")


def test_deviations(image):
    for name in ("hessian", "orb", "sift"):
        keypoints = keybits.detect(image, name, 300)
        sigma = keybits.deviations(image, keypoints, name)
        assert sigma.shape == (len(keypoints),) and sigma.dtype == np.float32
        assert (sigma > 0).all() and (sigma < keypoints["size"]).all()
    keypoints["x"][0] = -10
    assert np.isnan(keybits.deviations(image, keypoints, "sift")[0])
    with pytest.raises(keybits.KeybitsValueError):
        keybits.deviations(image, keypoints, "north")


def test_select(image):
    found = keybits.detect(image)
    best = keybits.select(found, (320, 240), 50, "best")
    assert np.array_equal(best, found[:50])
    assert len(keybits.select(found, (320, 240), 50, "grid")) == 50
    with pytest.raises(keybits.KeybitsValueError):
        keybits.select(found, (320, 240), 50, "worst")


@pytest.mark.parametrize("options, words", [
    ({"max_keypoints": 10.5}, "max_keypoints is 10.5, but must be a whole number"),
    ({"max_keypoints": "many"}, "max_keypoints is 'many'"), ({"levels": 99}, "levels is 99, but must be 1 to 32"),
    ({"level_factor": 3}, "level_factor is 3, but must be 1.05 to 2"),
    ({"name": "sift", "sigma": float("nan")}, "sigma is nan"),
    ({"name": "sift", "fast_threshold": 20}, "fast_threshold belongs to detector orb, but the detector is sift"),
    ({"name": "hessian", "cell_size": 32}, "cell_size belongs to detector orb, but the detector is hessian"),
    ({"name": "orb", "upsampling": False}, "no_upsampling belongs to detector sift, but the detector is orb"),
    ({"name": "hessian", "layers": 3}, "layers belongs to detector sift"),
    ({"hessian_threshold": 0.1}, "to detector hessian, but the detector is orb"),
    ({"name": "sift", "levels": 8}, "levels belongs to detector hessian or orb, but the detector is sift"),
    ({"fast_threshold": 10, "fast_threshold_min": 20}, "fast_threshold_min is 20, above fast_threshold, which is 10"),
    ({"fast_threshold_min": 21}, "above fast_threshold, which is 20")])
def test_wrong_detector_options(options, words):
    with pytest.raises(keybits.KeybitsValueError, match=words):
        keybits.Detector(**{"name": "orb", **options})


def test_a_detector_has_its_own_number_of_keypoints(image):
    detector = keybits.Detector("orb", 30)
    assert len(keybits.detect(image, detector)) == 30 == len(keybits.detect_and_compute(image, detector))
    for call in (lambda: keybits.detect(image, detector, 50), lambda: keybits.Tracker(image, detector=detector,
                                                                                    max_keypoints=50),
                 lambda: keybits.detect_and_compute(image, detector, max_keypoints=50)):
        with pytest.raises(keybits.KeybitsValueError, match="max_keypoints is 50, but a Detector has its own"):
            call()


def test_keypoints_of_opencv(image):
    cv2 = pytest.importorskip("cv2")
    objects = cv2.ORB_create(50).detect(image)
    rows = keybits.describe(image, objects)
    array = np.array([(*k.pt, k.size, k.angle, k.response, k.octave, k.class_id) for k in objects],
                     keybits.keypoint_dtype)
    assert np.array_equal(rows, keybits.describe(image, array))
    assert np.array_equal(keybits.sample_patches(image, list(objects)), keybits.sample_patches(image, array))
    assert keybits.describe(image, []).shape == (0, 32)
    with pytest.raises(keybits.KeybitsValueError, match="cv2.KeyPoint"):
        keybits.describe(image, [objects[0], "keypoint"])


def test_regions_that_do_not_fit_are_said(image, features):
    points = features.keypoints.copy()
    for size, words in ((2, "500 of 500 regions are narrower than 32 px.*akaze"), (600, "are wider than 480 px")):
        points["size"] = size
        with pytest.warns(UserWarning, match=words):
            keybits.describe(image, points)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        keybits.describe(image, features.keypoints)


def test_wrong_scales_models_and_sides(image, features):
    for scale in (-1, float("nan"), 101, None):
        with pytest.raises(keybits.KeybitsValueError, match="scale is"):
            keybits.describe(image, features.keypoints, scale=scale)
    with pytest.raises(keybits.KeybitsValueError, match="bag256 has no rows of floats"):
        keybits.describe_float(image, features.keypoints, "bag256")
    with pytest.raises(keybits.KeybitsValueError, match="the side of patches is 31"):
        keybits.describe_patches(np.zeros((2, 31, 31), np.uint8))
    with pytest.raises(keybits.KeybitsValueError, match="not the name of a file"):
        keybits.detect(image, mask="mask.png")
    with pytest.raises(keybits.KeybitsValueError, match="threads is 'x'"):
        keybits.set_threads("x")
    with pytest.raises(keybits.KeybitsValueError, match="0 keypoints in the template"):
        keybits.Tracker(np.zeros((50, 50), np.uint8))


@pytest.mark.parametrize("wrong, words", [
    (np.zeros((10, 10), np.float32), "uint8 or uint16"), (np.zeros((10, 10), np.int32), "uint8 or uint16"),
    (np.zeros((0, 10), np.uint8), "no pixels"), (np.zeros((4, 5, 6, 7), np.uint8), "shape"),
    (np.zeros((4, 5, 2), np.uint8), "shape"), (np.zeros(9, np.uint8), "shape"), (None, "cannot read"),
    ("a.png", "not the name of a file: 'a.png'"), (Path("a.png"), "not the name of a file")])
def test_wrong_images(wrong, words):
    for call in (keybits.detect, keybits.detect_and_compute):
        with pytest.raises(keybits.KeybitsValueError, match=words):
            call(wrong)


def test_wrong_keypoints_and_outputs(image, features):
    for wrong in (np.zeros((3, 3)), np.zeros(4), "keypoints", features.keypoints.reshape(-1, 1)):
        with pytest.raises(keybits.KeybitsValueError, match="keypoint_dtype"):
            keybits.describe(image, wrong)
    n = len(features)
    read_only = np.zeros((n, 32), np.uint8)
    read_only.flags.writeable = False
    for wrong in (np.zeros((n, 31), np.uint8), np.zeros((n, 32), np.int8), np.zeros((32, n), np.uint8).T, read_only):
        with pytest.raises(keybits.KeybitsValueError, match="out must be"):
            keybits.describe(image, features.keypoints, out=wrong)
    with pytest.raises(keybits.KeybitsValueError, match="flags must be"):
        keybits.describe(image, features.keypoints, flags=np.zeros(3, np.uint8))
    with pytest.raises(keybits.KeybitsValueError, match="there are"):
        keybits.describe(image, features.keypoints, scale="nothing")


def test_places_and_nothing(image):
    rows = keybits.describe(image, np.array([[100, 100], [50.5, 60.25]]))
    assert rows.shape == (2, 32) and rows.any(axis=1).all()
    assert keybits.describe(image, np.zeros(0, keybits.keypoint_dtype)).shape == (0, 32)
    assert len(keybits.detect_and_compute(np.full((240, 320), 9, np.uint8))) == 0
    assert len(keybits.detect(leaves(5, 5))) == 0


def test_models(image, features, tmp_path):
    model = keybits.Model("bad256")
    assert (model.kind, model.bits, model.row_bytes) == ("bad", 256, 32) and "bad256" in repr(model)
    low, high = model.thresholds
    assert 0 < low < high < 256 and keybits.Model("sift").thresholds is None
    assert 0.5 < model.ratio < 1 and keybits.Model("sift").ratio is None
    own = keybits.Model.from_tables("bad", name="own", boxes=model.boxes[:16], sampler=model.sampler,
                                    thresholds=(3, 7), ratio=0.85)
    own = keybits.Model.from_bytes(own.to_bytes())
    assert own.thresholds == (3, 7) and own.ratio == 0.85
    assert keybits.Model.from_tables("bad", name="own", boxes=model.boxes[:16], sampler=model.sampler).thresholds is None
    model.save(tmp_path / "copy.kbm")
    copy = keybits.Model(tmp_path / "copy.kbm")
    assert copy.id == model.id and copy.to_bytes() == model.to_bytes()
    assert np.array_equal(keybits.describe(image, features.keypoints, copy),
                          keybits.describe(image, features.keypoints, "bad256"))
    data = model.to_bytes()
    with pytest.raises(keybits.KeybitsFileError):
        keybits.Model.from_bytes(data[:-5])
    with pytest.raises(keybits.KeybitsFileError):
        keybits.Model.from_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
    with pytest.raises(keybits.KeybitsFileError):
        keybits.Model.from_bytes(b"")
    with pytest.raises(keybits.KeybitsValueError, match="no such file"):
        keybits.Model("bad255")
    assert list(tmp_path.iterdir()) == [tmp_path / "copy.kbm"]


def test_patches(image, features):
    patches = keybits.sample_patches(image, features.keypoints[:20])
    assert patches.shape == (20, 32, 32)
    for name in ("hashsift256", "sift"):
        model = keybits.Model(name)
        scale = model.scale("orb") * model.support
        rows = keybits.describe_patches(keybits.sample_patches(image, features.keypoints[:20], scale), model)
        assert np.array_equal(rows, keybits.describe(image, features.keypoints[:20], model))
    with pytest.raises(keybits.KeybitsValueError, match="side"):
        keybits.describe_patches(np.zeros((2, 8, 9), np.uint8))
    with pytest.raises(keybits.KeybitsValueError):
        keybits.describe_patches(np.zeros((2, 8, 8), np.uint8))


def test_octaves(image, features):
    """BAG of ready octaves is BAG of the image; a patch is their middle half."""
    model, keypoints = keybits.Model("bag256"), features.keypoints[:40]
    octaves = keybits.sample_octaves(image, keypoints, model.scale("orb") * model.support)
    assert octaves.shape == (40, 4, 16, 16) and model.sampler == "octaves"
    assert np.array_equal(keybits.describe_patches(octaves), features.descriptors[:40])
    assert np.array_equal(keybits.describe_patches(octaves[::2], model), features.descriptors[:40:2])
    flat = np.full((3, 64, 64), 9, np.uint8)
    assert np.array_equal(keybits.describe_patches(flat), keybits.describe_patches(np.full((3, 4, 16, 16), 9, np.uint8)))
    patches = keybits.sample_patches(image, keypoints, model.scale("orb") * model.support / 2)
    distance = keybits.hamming(keybits.describe_patches(patches), features.descriptors[:40])
    other = keybits.hamming(keybits.describe_patches(patches), np.roll(features.descriptors[:40], 1, axis=0))
    assert distance.mean() < 0.7 * other.mean()
    assert keybits.sample_octaves(image, keypoints[:0]).shape == (0, 4, 16, 16)
    assert keybits.describe_patches(octaves[:0]).shape == (0, 32)
    for wrong, name in ((octaves, "bad256"), (octaves, "hashsift256"), (octaves[:, :3], "bag256"),
                        (octaves[:, 0], "bag256"), (octaves.astype(float), "bag256")):
        with pytest.raises(keybits.KeybitsValueError, match="patches"):
            keybits.describe_patches(wrong, name)
    with pytest.raises(keybits.KeybitsValueError, match="patches are octaves"):
        keybits.describe_patches_float(octaves)


def test_float_rows_of_patches(image, features):
    patches = keybits.sample_patches(image, features.keypoints[:20])
    rows = keybits.describe_patches_float(patches)
    assert rows.shape == (20, 128) and np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    plain = features.keypoints[:20].copy()
    plain["size"] /= keybits.Model("rootsift").support
    assert np.array_equal(rows, keybits.describe_float(image, plain))
    with pytest.raises(keybits.KeybitsValueError):
        keybits.describe_patches_float(patches, "bag256")


def test_pyramid(image):
    pyramid = keybits.build_pyramid(image, 4, 1.5)
    assert [level.shape for level in pyramid.levels] == [(240, 320), (160, 213), (107, 142), (71, 95)]
    assert np.allclose(pyramid.factors, 1.5 ** np.arange(4)) and pyramid.levels[0] is image
    assert abs(float(pyramid.levels[3].mean()) - float(image.mean())) < 2
    deep = keybits.build_pyramid(image.astype(np.uint16) * 257, 4, 1.5)
    assert all(np.array_equal(a, b) for a, b in zip(deep.levels, pyramid.levels))
    wide = np.zeros((240, 500), np.uint8)
    wide[:, 100:420] = image
    part = keybits.build_pyramid(wide[:, 100:420], 4, 1.5)
    assert all(np.array_equal(a, b) for a, b in zip(part.levels, pyramid.levels))
    assert keybits.build_pyramid(image[:15, :15]).levels == []
    assert len(keybits.build_pyramid(image).levels) > 8
    with pytest.raises(keybits.KeybitsValueError):
        keybits.build_pyramid(image, 33)


def test_float_rows(image, features):
    rows = keybits.describe_float(image, features.keypoints[:50], "rootsift")
    assert rows.shape == (50, 128) and rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    with pytest.raises(keybits.KeybitsValueError):
        keybits.describe_float(image, features.keypoints, "bag256")


def test_threads_option_changes_nothing(image, features):
    try:
        for threads in (2, 0):
            keybits.set_threads(threads)
            assert np.array_equal(keybits.detect_and_compute(image, max_keypoints=500).descriptors,
                                  features.descriptors)
    finally:
        keybits.set_threads(1)
    with pytest.raises(keybits.KeybitsValueError):
        keybits.set_threads(-1)


def test_mask_margin_keeps_keypoints_away(image):
    mask = np.ones(image.shape, bool)
    mask[:, :120] = False
    inner = keybits.Detector(mask_margin=15).detect(image, mask)
    assert len(inner) > 10 and inner["x"].min() >= 134.5 > keybits.detect(image, mask=mask)["x"].min()
    with pytest.raises(keybits.KeybitsValueError, match="mask_margin is -1"):
        keybits.Detector(mask_margin=-1)
