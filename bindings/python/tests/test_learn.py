# SPDX-License-Identifier: Apache-2.0
"""Patch sets and training."""
import json

import numpy as np
import pytest
from conftest import leaves

import keybits


def make_set(sample, support):
    """The same places in an image and in noisy, brighter copies of it."""
    image = leaves(320, 240, 7)
    keypoints = keybits.detect(image, max_keypoints=120)
    random = np.random.RandomState(1)
    patches = []
    for view in range(3):
        noisy = np.clip(image * (1 + 0.1 * view) + random.randn(*image.shape) * 6 * view, 0, 255).astype(np.uint8)
        moved = keypoints.copy()
        moved["x"] += random.randn(len(moved)) * 0.5 * view
        moved["angle"] += random.randn(len(moved)) * 3 * view
        patches.append(sample(noisy, moved, keybits.preset_scale("orb") * support))
    labels = np.tile(np.arange(len(keypoints)), 3)
    return keybits.patch_set(np.concatenate(patches), labels, np.repeat([0, 1, 2], len(keypoints)), support)


@pytest.fixture(scope="module")
def patch_set():
    return make_set(keybits.sample_patches, 1.0)


@pytest.fixture(scope="module")
def octave_set():
    return make_set(keybits.sample_octaves, 4.0)


SMALL = {"triplets": 256, "batch": 64, "candidates": 50}


def test_patch_files(patch_set, octave_set, program, tmp_path):
    for given, side in ((patch_set, 32), (octave_set, 16)):
        keybits.write_patches(tmp_path / "set.kbp", given)
        again = keybits.read_patches(tmp_path / "set.kbp")
        for field in ("patches", "labels", "views", "support"):
            assert np.array_equal(getattr(again, field), getattr(given, field))
        told = json.loads(program("patches", "info", tmp_path / "set.kbp", "--json"))[0]
        assert (told["patches"], told["side"], told["points"]) == (360, side, 120)


def test_wrong_patch_files(patch_set, tmp_path):
    path = tmp_path / "set.kbp"
    keybits.write_patches(path, patch_set)
    data = path.read_bytes()
    for wrong in (b"", data[:30], b"x" + data[1:], data[:-1], data + b"x", data[:20] + b"\1" + data[21:],
                  data[:2000] + bytes([data[2000] ^ 1]) + data[2001:]):
        path.write_bytes(wrong)
        with pytest.raises(keybits.KeybitsFileError, match="set.kbp"):
            keybits.read_patches(path)
    for patches, labels in ((np.zeros((2, 32, 31), np.uint8), [0, 1]), (np.zeros((2, 32, 32), np.uint8), [0]),
                            (np.zeros((2, 32, 32), np.uint8), [0.5, 1]), (np.zeros((2, 32, 32), np.uint8), [-1, 1]),
                            (np.zeros((2, 32, 32)), [0, 1]), (np.zeros((2, 16, 16), np.uint8), [0, 1]),
                            (np.zeros((2, 3, 16, 16), np.uint8), [0, 1]), (np.zeros((2, 4, 32, 32), np.uint8), [0, 1]),
                            (np.zeros((2, 4, 16, 16)), [0, 1]), (np.zeros((2, 4, 16, 16), np.uint8), [0])):
        with pytest.raises(keybits.KeybitsValueError, match="patches are|octaves|labels are"):
            keybits.patch_set(patches, labels)


def test_split_and_shrink(patch_set, octave_set):
    for given in (patch_set, octave_set):
        rest, held = given.split(0.3)
        assert len(rest) + len(held) == len(given) and not set(rest.labels) & set(held.labels) and len(held)
        assert held.patches.shape[1:] == given.patches.shape[1:] and held.support == given.support
    large = np.random.RandomState(1).randint(0, 256, (5, 64, 64)).astype(np.uint8)
    small = keybits.shrink_patches(keybits.patch_set(large, np.arange(5))).patches
    assert small.shape == (5, 32, 32)
    assert np.array_equal(keybits.describe_patches(small, "bad256"), keybits.describe_patches(large, "bad256"))
    with pytest.raises(keybits.KeybitsValueError, match="octaves, which cannot be shrunk"):
        keybits.shrink_patches(octave_set)


@pytest.mark.parametrize("kind", ["bad", "bag"])
def test_boxes(request, kind, tmp_path):
    learn, given = ((keybits.learn_bad, "patch_set") if kind == "bad" else (keybits.learn_bag, "octave_set"))
    patch_set = request.getfixturevalue(given)
    told = []
    model = learn(patch_set, 32, name="mine", progress=lambda p: told.append(p.step), **SMALL)
    assert (model.kind, model.bits, model.name) == (kind, 32, "mine") and told == list(range(1, 33))
    assert len(model.boxes) == 32 and "360 patches" in model.text
    assert (model.sampler, model.support) == (("cells", 1.0) if kind == "bad" else ("octaves", 4.0))
    assert learn(patch_set, 32, **SMALL).id == model.id
    model.save(tmp_path / "mine.kbm")
    assert keybits.Model(tmp_path / "mine.kbm").id == model.id
    # Patches of one point are nearer to each other than to others.
    rows = keybits.describe_patches(patch_set.patches, model)
    n = len(rows) // 3
    same = keybits.hamming(rows[:n], rows[n:2 * n]).mean()
    other = keybits.hamming(rows[:n], np.roll(rows[n:2 * n], 1, axis=0)).mean()
    assert same < 0.6 * other


def test_order_of_patches_does_not_matter_to_the_caller(patch_set):
    shuffled = np.random.RandomState(3).permutation(len(patch_set))
    by_label = np.argsort(patch_set.labels, kind="stable")
    other = keybits.patch_set(patch_set.patches[by_label], patch_set.labels[by_label], support=1.0)
    assert keybits.learn_bad(other, 8, **SMALL).id == keybits.learn_bad(patch_set, 8, **SMALL).id
    mixed = keybits.patch_set(patch_set.patches[shuffled], patch_set.labels[shuffled], support=1.0)
    assert keybits.learn_bad(mixed, 8, **SMALL).bits == 8


def test_stopping_and_going_on(patch_set):
    half = keybits.learn_bad(patch_set, 32, progress=lambda p: p.step < 17, **SMALL)
    assert half.bits == 16
    whole = keybits.learn_bad(patch_set, 32, **SMALL)
    assert np.array_equal(half.boxes, whole.boxes[:16])
    assert keybits.learn_bad(patch_set, 32, start=half, **SMALL).bits == 32
    with pytest.raises(keybits.LearningStopped):
        keybits.learn_bad(patch_set, 32, progress=lambda p: False, **SMALL)

    def fail(progress):
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        keybits.learn_bad(patch_set, 32, progress=fail, **SMALL)
    with pytest.raises(KeyboardInterrupt):
        keybits.learn_hashsift(patch_set, 16, steps=200, batch=32, progress=fail)


def test_stopping_bag(octave_set):
    """A stopped learning of BAG keeps whole bytes of every octave, and goes on from there."""
    whole = keybits.learn_bag(octave_set, 96, **SMALL)
    for bits in (32, 64):
        part = keybits.learn_bag(octave_set, 96, progress=lambda p: p.step < bits + 9, **SMALL)
        assert part.bits == bits and part.sampler == "octaves"
        assert np.array_equal(whole.boxes[:bits], part.boxes)
        assert np.array_equal(keybits.learn_bag(octave_set, 96, start=part, **SMALL).boxes, whole.boxes)
        assert np.array_equal(keybits.learn_bag(octave_set, bits, start=part, **SMALL).boxes, part.boxes)
    with pytest.raises(keybits.LearningStopped, match="after 31 bits; a model has 32 at least"):
        keybits.learn_bag(octave_set, 32, progress=lambda p: p.step < 31, **SMALL)


def test_augment(patch_set):
    seen = []

    def brighter(patches, seed):
        seen.append(seed)
        return np.minimum(patches.astype(int) + 20, 255).astype(np.uint8)
    model = keybits.learn_bad(patch_set, 8, augment=brighter, **SMALL)
    assert model.bits == 8 and seen
    with pytest.raises(keybits.KeybitsValueError, match="augment returned"):
        keybits.learn_bad(patch_set, 8, augment=lambda patches, seed: patches[:1], **SMALL)


def test_hashsift(patch_set):
    told = []
    model = keybits.learn_hashsift(patch_set, 64, steps=300, batch=64, root=True, progress=told.append)
    assert (model.kind, model.bits) == ("hashsift", 64) and told[-1].step == 300 and told[-1].loss < told[0].loss
    half = [p for p in told if p.step <= 150][-1]
    again = keybits.learn_hashsift(patch_set, 64, steps=300, batch=64, root=True, resume=half.checkpoint)
    assert again.id == model.id
    with pytest.raises(keybits.KeybitsFileError):
        keybits.learn_hashsift(patch_set, 64, steps=300, batch=64, root=True, resume=half.checkpoint[:-9])


def test_wrong_training(patch_set, octave_set):
    for options, words in (({"bits": 0}, "bits is 0"), ({"bits": 40}, "multiple of 32"), ({"bits": 2048}, "bits is 2048"),
                           ({"loss": "l2"}, "loss"), ({"candidates": -1}, "candidates"), ({"colour": 3}, "colour"),
                           ({"margin": 9}, "margin"), ({"sampler": "patch"}, "sampler is not for bag"),
                           ({"augment": lambda patches, seed: patches}, "augment is not for bag"),
                           ({"channels": 1}, "channels"), ({"start": keybits.Model("bad256")}, "start is a model")):
        with pytest.raises(keybits.KeybitsValueError, match=words):
            keybits.learn_bag(octave_set, **{"bits": 32, **options})
    for options in ({"bits": 0}, {"bits": 9}, {"loss": "orb"}, {"rate": -1.0}, {"colour": 3}):
        with pytest.raises(keybits.KeybitsValueError):
            keybits.learn_hashsift(patch_set, **{"bits": 8, "steps": 10, **options})
    for options in ({"bits": 0}, {"bits": 9}, {"sampler": "octaves"}, {"sampler": "disc"}):
        with pytest.raises(keybits.KeybitsValueError):
            keybits.learn_bad(patch_set, **{"bits": 8, **options})
    with pytest.raises(keybits.KeybitsValueError, match="bag is learned from octaves, n x 4 x 16 x 16, not .* side 32"):
        keybits.learn_bag(patch_set, 32)
    for learn in (keybits.learn_bad, keybits.learn_hashsift):
        with pytest.raises(keybits.KeybitsValueError, match="not from octaves"):
            learn(octave_set, 32)
        with pytest.raises(keybits.KeybitsValueError, match="side 32"):
            learn(keybits.patch_set(np.zeros((4, 64, 64), np.uint8), [0, 0, 1, 1]))
    single = keybits.patch_set(patch_set.patches[:10], np.arange(10))
    with pytest.raises(keybits.KeybitsValueError):
        keybits.learn_bad(single, 8)


def test_models_from_tables():
    given = keybits.Model("bad256")
    sift = given.sift_support if given.sift_support != given.support else 0
    copy = keybits.Model.from_tables("bad", name="copy", boxes=given.boxes, support=given.support, sift_support=sift,
                                     sampler=given.sampler)
    assert copy.id == given.id
    bag = keybits.Model("bag256")
    copy = keybits.Model.from_tables("bag", name="copy", boxes=bag.boxes, support=bag.support,
                                     sift_support=bag.sift_support)
    assert copy.id == bag.id and copy.sampler == bag.sampler == "octaves"
    for options, words in (({"boxes": bag.boxes[:40]}, "multiple of 32"), ({"sampler": "patch"}, "sampler"),
                           ({"kind": "bad", "sampler": "octaves"}, "sampler")):
        with pytest.raises(keybits.KeybitsValueError, match=words):
            keybits.Model.from_tables(**{"kind": "bag", "name": "x", "boxes": bag.boxes, **options})
    wrong = given.boxes.copy()
    wrong["x1"][5] = 99
    with pytest.raises(keybits.KeybitsValueError) as caught:
        keybits.Model.from_tables("bad", name="wrong", boxes=wrong, sampler=given.sampler)
    assert caught.value.field == "boxes" and caught.value.row == 5
    for options in ({"kind": "bad"}, {"kind": "orb"}, {"kind": "hashsift", "weights": np.zeros((8, 128), np.int8)},
                    {"kind": "sift", "boxes": given.boxes}):
        with pytest.raises(keybits.KeybitsValueError):
            keybits.Model.from_tables(name="x", **options)


def test_the_paper_in_one_word(patch_set, octave_set):
    """One size per pair, thresholds of tenths, samples, augmentation; an augmentation of one's own stays."""
    model = keybits.learn_bad(patch_set, 16, paper=True, **SMALL)
    assert model.sampler == "patch"
    assert np.array_equal(model.boxes["radius1"], model.boxes["radius2"])
    tenths = 10 * model.boxes["threshold"].astype(float)
    assert np.allclose(tenths, np.round(tenths), atol=1e-4)
    plain = keybits.learn_bad(patch_set, 16, paper=True, augment=lambda patches, seed: patches, **SMALL)
    assert not np.array_equal(plain.boxes, model.boxes)
    ours, theirs = (keybits.learn_hashsift(patch_set, 16, steps=5, batch=32, paper=paper) for paper in (False, True))
    assert ours.id != theirs.id
    with pytest.raises(keybits.KeybitsValueError, match="paper is not for bag"):
        keybits.learn_bag(octave_set, 32, paper=True, **SMALL)
