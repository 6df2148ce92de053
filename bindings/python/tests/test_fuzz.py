# SPDX-License-Identifier: Apache-2.0
"""Every function and method with arguments that may be anything: a result or an exception of words, and no crash. The
same calls every time; KEYBITS_FUZZ says how many."""
import inspect
import os
import random
import threading

import numpy as np
import pytest
from conftest import leaves

import keybits

CALLS = int(os.environ.get("KEYBITS_FUZZ", 2500))
#: What a call may raise; another exception says that a check is missing.
REFUSALS = (keybits.KeybitsError, TypeError, ValueError, OSError, MemoryError)
#: They take minutes, or change the process.
LEFT_OUT = {"set_threads", "learn_bad", "learn_bag", "learn_hashsift", "Collection", "LearningStopped", "Progress",
            "KeybitsError", "KeybitsFileError", "KeybitsMemoryError", "KeybitsValueError", "PatchSet"}


class Odd:
    """An object that pretends to have a length and an attribute of others, but no more."""
    pt = (1, 2)
    keypoints = None

    def __len__(self):
        return 3


def arrays(draw):
    """Any dtype, size and strides: views backwards, transposed, with gaps, at odd addresses, not writable."""
    dtype = draw.choice([np.uint8, np.uint8, np.uint8, np.uint16, ">u2", np.int8, np.int32, np.int64, np.float32,
                         np.float64, np.complex64, bool, object, "S3", keybits.keypoint_dtype, keybits.match_dtype,
                         keybits.guide_dtype, keybits.stereo_dtype, keybits.node_dtype, keybits.box_dtype])
    side = lambda: draw.choice([0, 1, 2, 3, 7, 9, 16, 31, 32, 33, 64, 100])  # noqa: E731
    shape = tuple(side() for _ in range(draw.choice([0, 1, 1, 2, 2, 2, 2, 3])))
    noise = np.random.RandomState(draw.randrange(2 ** 32))
    count = int(np.prod(shape, dtype=int))
    if np.dtype(dtype) == object:
        array = np.full(shape, draw.choice([None, 3, "x", Odd()]), object)
    else:
        item = np.dtype(dtype).itemsize
        array = np.frombuffer(noise.bytes(count * item + 8)[draw.randrange(3):][:count * item], dtype).reshape(shape)
    change = draw.randrange(7)
    if change == 0 and array.ndim:
        array = array[::-1]
    elif change == 1 and array.ndim > 1:
        array = array.T
    elif change == 2 and array.ndim:
        array = array[..., ::2]
    elif change == 3:
        array = array.copy()
    elif change == 4 and array.ndim == 2 and count:
        array = np.lib.stride_tricks.as_strided(array, (5, array.shape[1]), (0, array.strides[1]))
    return array


def anything(draw):
    return draw.choice([
        lambda: arrays(draw), lambda: arrays(draw), lambda: arrays(draw),
        lambda: draw.choice([None, True, -1, 0, 1, 2, 3, 8, 31, 255, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 32 + 5,
                             2 ** 63, 2 ** 64, -2 ** 63]),
        lambda: draw.choice([0.0, -0.5, 0.8, 1e-300, 1e300, float("nan"), float("inf"), 1j, np.float32(2),
                             np.uint64(7)]),
        lambda: draw.choice(["", "orb", "hessian", "sift", "bag256", "best", "tf-idf", "nothing", "a\0b", "\udcff",
                             "x" * 5000, b"", b"keybits", b"\0" * 70]),
        lambda: draw.choice([[], (), {}, [None], [1, 2], [[1, 2], [3]], set(), Odd(), Odd, object(), print, ...]),
    ])()


class Things:
    """Good arguments by the names of parameters, and objects whose methods are called."""

    def __init__(self, folder):
        image = leaves(120, 90, 5)
        self.features = f = keybits.detect_and_compute(image, max_keypoints=80)
        matches = keybits.match(f, f)
        vocabulary = keybits.Vocabulary.train(np.array_split(f.descriptors, 5), branching=4, levels=2)
        index = keybits.Index(vocabulary, keep_features=True)
        index.add(f, id=1, name="one")
        points = keybits.match_points(f, f, matches)
        points = points[0] if isinstance(points, tuple) else points
        self.good = {"image": image, "model": keybits.Model("bad256"), "keypoints": f.keypoints, "features": f, "a": f,
                     "descriptors": f.descriptors, "b": f, "matches": matches, "h": np.eye(3), "f": np.eye(3),
                     "pairs": points, "points": points, "path": folder / "file", "id": 1, "position": 0, "n": 10,
                     "rows": f.descriptors, "vocabulary": vocabulary, "index": index, "images": [image, image], "k": 2,
                     "data": index.vocabulary.to_bytes(), "mask": np.ones_like(image), "max_keypoints": 50,
                     "patches": np.zeros((4, 32, 32), np.uint8), "name": "bad256", "width": 120, "height": 90}
        for one in "ab":
            self.good.update({f"image_{one}": image, f"features_{one}": f, f"keypoints_{one}": f.keypoints,
                              f"descriptors_{one}": f.descriptors})
        self.objects = [index, vocabulary, f, keybits.Model("bag256"), keybits.Detector("orb", 50),
                        keybits.LoopDetector(vocabulary), keybits.Tracker(image, max_keypoints=60),
                        keybits.PointTracker(max_points=50), keybits.build_pyramid(image)]
        self.calls = [(name, getattr(keybits, name)) for name in keybits.__all__
                      if name not in LEFT_OUT and callable(getattr(keybits, name))]
        for thing in self.objects + [keybits.Index, keybits.Vocabulary, keybits.Model, keybits.Features]:
            self.calls += [(f"{thing!r:.40}.{name}", getattr(thing, name)) for name in dir(thing)
                           if not name.startswith("_") and inspect.ismethod(getattr(thing, name))]

    def call(self, draw):
        """One call; returns whether it gave a result."""
        name, function = draw.choice(self.calls)
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except ValueError:
            return False
        wild = draw.choice([0, 0.1, 0.3, 1])  # how often an argument is anything
        given, named = [], {}
        for p in parameters:
            needed = p.default is p.empty
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) or (not needed and draw.random() < 0.6):
                continue
            good = self.good.get(p.name, p.default)
            value = anything(draw) if good is p.empty or draw.random() < wild else good
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and needed:
                given.append(value)
            else:
                named[p.name] = value
        try:
            function(*given, **named)
            return True
        except REFUSALS as error:
            assert str(error), f"{name}: {type(error).__name__} without a word"
            return False
        except Exception as error:
            shown = ", ".join([f"{value!r:.300}" for value in given] +
                              [f"{key}={value!r:.300}" for key, value in named.items()])
            raise AssertionError(f"{name}({shown}) raised {type(error).__name__}: {error}") from error


@pytest.fixture
def things(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names that are drawn are files here
    return Things(tmp_path)


@pytest.mark.filterwarnings("ignore")
def test_calls_with_anything(things):
    draw = random.Random(1)
    results = sum(things.call(draw) for _ in range(CALLS))
    assert CALLS * 0.05 < results < CALLS * 0.95  # both are seen


def test_an_object_in_the_place_of_another(things):
    """A handle of another kind, a number as a file: these ended the process, or closed its files."""
    for call in (lambda: keybits.Index(keybits.Model("bad256")), lambda: keybits.LoopDetector(things.good["index"]),
                 lambda: keybits.Model.from_bytes(5), lambda: keybits.Vocabulary(2), lambda: keybits.Index.open(2),
                 lambda: keybits.find_essential(things.features, things.features, things.good["matches"], camera=5)):
        with pytest.raises((keybits.KeybitsError, TypeError)):
            call()
    os.fstat(2)  # still open
    for wrong in ([300] * 32, [0.5] * 32):
        with pytest.raises(keybits.KeybitsValueError, match="uint8"):
            keybits.hamming([wrong], [wrong])
    with pytest.raises(keybits.KeybitsValueError, match="weights"):
        keybits.Model.from_tables("hashsift", name="x", weights=np.full((32, 128), 300), bias=np.zeros(32))


@pytest.mark.filterwarnings("ignore")
def test_the_same_objects_from_many_threads(things):
    failures = []

    def run(seed):
        draw = random.Random(seed)
        try:
            for _ in range(CALLS // 6):
                things.call(draw)
        except BaseException as error:
            failures.append(error)
    threads = [threading.Thread(target=run, args=(100 + i,)) for i in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    assert len(things.good["index"]) >= 0  # still one
