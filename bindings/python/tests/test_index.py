# SPDX-License-Identifier: Apache-2.0
"""Vocabularies, the index, loops."""
import numpy as np
import pytest
from conftest import HOMOGRAPHY, leaves, warp

import keybits


@pytest.fixture(scope="module")
def scenes():
    return [leaves(256, 200, seed) for seed in range(8)]


@pytest.fixture(scope="module")
def described(scenes):
    return [keybits.detect_and_compute(scene, max_keypoints=300) for scene in scenes]


@pytest.fixture(scope="module")
def vocabulary(described):
    return keybits.Vocabulary.train(described, branching=8, levels=3)


def test_vocabulary(vocabulary, described, tmp_path):
    rows = described[0].descriptors
    assert 100 < len(vocabulary) <= 512 and vocabulary.row_bytes == 32
    assert (vocabulary.branching, vocabulary.levels, vocabulary.model_name) == (8, 3, "bag256")
    assert vocabulary.model_id == keybits.Model("bag256").id
    words = vocabulary.words(rows)
    assert words.dtype == np.uint32 and words.max() < len(vocabulary)
    again, nodes = vocabulary.words_and_nodes(rows, levels_up=3)
    assert np.array_equal(words, again) and not nodes.any()  # the root
    vocabulary.save(tmp_path / "v")
    for other in (keybits.Vocabulary(tmp_path / "v"), keybits.Vocabulary.from_bytes(vocabulary.to_bytes()),
                  keybits.Vocabulary.train(described, branching=8, levels=3)):
        assert other.to_bytes() == vocabulary.to_bytes() and np.array_equal(other.words(rows), words)


def test_builtin_vocabularies(described, tmp_path, monkeypatch):
    assert set(keybits.builtin_vocabularies()) >= {"bad256-1k", "bad256-10k", "bag256-1k", "bag256-10k"}
    vocabulary = keybits.Vocabulary("bag256-1k")
    assert len(vocabulary) == 1000 and vocabulary.model_id == keybits.Model("bag256").id
    index = keybits.Index(vocabulary)
    for number, features in enumerate(described):
        index.add(features, id=number)
    assert index.query(described[3], count=1)["id"].tolist() == [3]
    with pytest.raises(keybits.KeybitsFileError, match="neither a file 'bag256-2k' nor .* bag256-10k"):
        keybits.Vocabulary("bag256-2k")
    monkeypatch.chdir(tmp_path)
    keybits.Vocabulary("bad256-1k").save("bag256-1k")  # a file comes before a name
    assert keybits.Vocabulary("bag256-1k").model_name == "bad256"


def test_descending_by_hand_gives_the_same_words(vocabulary, described):
    rows = described[1].descriptors[:20]
    for row, word in zip(rows, vocabulary.words(rows)):
        node, _ = vocabulary.node(0)
        while node["children"]:
            numbers = range(node["first_child"], node["first_child"] + node["children"])
            best = min(numbers, key=lambda n: (int(keybits.hamming(vocabulary.node(n)[1], row)), n))
            node, _ = vocabulary.node(best)
        assert node["word"] == word
    with pytest.raises(keybits.KeybitsValueError, match="no node"):
        vocabulary.node(vocabulary.nodes)


def test_tree_from_elsewhere():
    rows = np.array([[0, 0], [0, 1], [255, 255]], np.uint8)
    small = keybits.Vocabulary.from_tree([0, 0, 0], rows, [0, 1, 1], branching=2, levels=1)
    assert len(small) == 2 and small.words(np.array([[0, 3], [255, 127]], np.uint8)).tolist() == [0, 1]
    with pytest.raises(keybits.KeybitsValueError):
        keybits.Vocabulary.from_tree([0, 5, 0], rows, [0, 1, 1], branching=2, levels=1)


def test_wrong_vocabularies(vocabulary, described, tmp_path):
    other = keybits.detect_and_compute(leaves(), model="bad256", max_keypoints=50)
    with pytest.raises(keybits.KeybitsValueError, match="model"):
        vocabulary.words(other)
    with pytest.raises(keybits.KeybitsValueError):
        vocabulary.words(np.zeros((3, 16), np.uint8))
    data = vocabulary.to_bytes()
    for wrong in (b"", data[:100], b"x" + data[1:], data[:-1]):
        (tmp_path / "wrong").write_bytes(wrong)
        with pytest.raises(keybits.KeybitsFileError):
            keybits.Vocabulary(tmp_path / "wrong")
    for options in ({"branching": 1}, {"levels": 11}, {"iterations": -1}):
        with pytest.raises(keybits.KeybitsValueError):
            keybits.Vocabulary.train(described, **options)
    with pytest.raises(keybits.KeybitsValueError, match="one length"):
        keybits.Vocabulary.train([np.zeros((3, 16), np.uint8), np.zeros((3, 32), np.uint8)])
    with pytest.raises(keybits.KeybitsValueError, match="no images to learn from"):
        keybits.Vocabulary.train([])
    with pytest.raises(ValueError, match="no word has a weight"):
        keybits.Vocabulary.train(described[:1], branching=8, levels=3)


def test_index(vocabulary, described, scenes, tmp_path):
    index = keybits.Index(vocabulary, keep_features=True)
    for number, features in enumerate(described):
        assert index.add(features, id=100 + number, name=f"image {number}") == number
    assert len(index) == 8 and index.image(3).name == "image 3" and index.image(3).rows == 300
    assert index.image(3).size == (256, 200)
    keypoints, rows = index.features(3)
    assert np.array_equal(rows, described[3].descriptors)
    assert all(np.array_equal(keypoints[name], described[3].keypoints[name]) for name in ("x", "y", "size", "angle"))
    query = keybits.detect_and_compute(warp(scenes[5], HOMOGRAPHY, 256, 200), max_keypoints=300)
    for scoring in ("binary", "tf-idf", "exact"):
        results = index.query(query, 3, scoring=scoring)
        assert results["id"][0] == 105 and results["position"][0] == 5 and (results["inliers"] == -1).all()
        assert (np.diff(results["score"]) <= 0).all()
    few, many = (index.query(query, 1, probes=probes)["score"][0] for probes in (1, 64))
    assert few < many
    verified = index.query(query, 3, verify=2)
    assert verified["id"][0] == 105 and verified["inliers"][0] > 30
    inverse = np.linalg.inv(HOMOGRAPHY)
    places = np.array([[60, 60], [150, 120]])
    assert np.abs(keybits.project_homography(verified["model"][0], places)
                  - keybits.project_homography(inverse, places)).max() < 3
    assert 5 not in index.query(query, 8, first_images=5)["position"]
    assert index.remove(105) == 1 and index.remove(105) == 0 and len(index) == 7 and index.image(5).removed
    assert 105 not in index.query(query, 8)["id"]

    index.save(tmp_path / "index")
    opened = keybits.Index.open(tmp_path / "index", check_all=True)
    assert len(opened) == 7 and opened.vocabulary.to_bytes() == vocabulary.to_bytes()
    expected = index.query(described[2], 4)
    assert np.array_equal(opened.query(described[2], 4)["score"], expected["score"])
    words = opened.vocabulary  # lives longer than what it came from
    assert opened.image(6).size == (256, 200)
    bare = opened.add(described[6].descriptors, keypoints=described[6].keypoints, size=(7, 5))
    assert opened.image(bare).size == (7, 5) and opened.remove(bare) == 1
    opened.add(described[5])
    assert opened.query(described[5], 1)["position"][0] == 8
    del opened
    assert len(words) == len(vocabulary)


def test_wrong_index(vocabulary, described, tmp_path):
    bare = keybits.Index(vocabulary)
    bare.add(described[0])
    with pytest.raises(keybits.KeybitsValueError):
        bare.features(0)
    with pytest.raises(keybits.KeybitsValueError, match="no image at position 1"):
        bare.features(1)
    index = keybits.Index(vocabulary)
    index.add(described[0])
    for options in ({"scoring": "best"}, {"count": -1}, {"verify": 2}, {"geometry": "circle"}, {"probes": 65}):
        with pytest.raises(keybits.KeybitsValueError):
            index.query(described[0], **options)
    for wrong in (-1, 2 ** 64, 1.5):
        for call in (lambda: index.add(described[0], id=wrong), lambda: index.remove(wrong)):
            with pytest.raises(keybits.KeybitsValueError, match="id is"):
                call()
    with pytest.raises(keybits.KeybitsValueError, match="zero byte"):
        index.add(described[0], name="a\0b")
    assert len(index) == 1
    for path in (tmp_path, tmp_path / "nowhere" / "x.kbi"):
        with pytest.raises(OSError) as failure:
            index.save(path)
        assert failure.value.filename == str(path)
    with pytest.raises(keybits.KeybitsValueError, match="position 7"):
        index.image(7)
    with pytest.raises(keybits.KeybitsValueError, match="keypoints"):
        keybits.Index(vocabulary, keep_features=True).add(described[0].descriptors)
    with pytest.raises(OSError):
        index.save(tmp_path / "nowhere" / "index")
    index.save(tmp_path / "index")
    data = bytearray((tmp_path / "index").read_bytes())
    data[-20] ^= 1
    (tmp_path / "index").write_bytes(data)
    with pytest.raises(keybits.KeybitsFileError):
        keybits.Index.open(tmp_path / "index", check_all=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index"]


def test_loops(vocabulary, scenes):
    detector = keybits.LoopDetector(vocabulary, window=2, min_score=0.1)
    loops = []
    order = [0, 1, 2, 3, 4, 5, 1, 2]
    for scene in order:
        seen = warp(scenes[scene], np.diag([1, 1, 1]) + (np.eye(3) * 0), 256, 200)
        loops.append(detector.add(keybits.detect_and_compute(seen, max_keypoints=300)))
    assert [loop.found for loop in loops] == [False] * 6 + [True] * 2
    assert loops[6].reference == 1 and loops[7].reference == 2 and loops[6].inliers > 50
    assert np.allclose(loops[6].model, np.eye(3), atol=0.05) and loops[0].model is None


def test_verify_pair(image):
    a = keybits.detect_and_compute(image, max_keypoints=800)
    b = keybits.detect_and_compute(np.ascontiguousarray(image[8:, 12:]), max_keypoints=800)
    same = keybits.verify_pair(a, b)
    assert same.verified and same.geometry in ("homography", "fundamental") and same.places >= 20
    assert len(same.matches) == len(same.inliers) <= same.candidates
    other = keybits.detect_and_compute(np.random.default_rng(3).integers(0, 256, (240, 320), dtype=np.uint8))
    none = keybits.verify_pair(a, other)
    assert not none.verified and none.model is None and none.geometry == "" and not none.inliers.any()
    assert not keybits.verify_pair(a, b, min_places=100000).verified


def test_verify_pair_upright(image):
    def both(pixels):
        oriented = keybits.detect_and_compute(pixels, max_keypoints=800)
        flat = oriented.keypoints.copy()
        flat["angle"] = -1
        return oriented, keybits.describe(pixels, flat, scale="hessian")
    (a, rows_a), (b, rows_b) = both(image), both(np.ascontiguousarray(image[8:, 12:]))
    turned, rows_turned = both(np.ascontiguousarray(np.rot90(image)))
    one = keybits.verify_pair(a, b)
    two = keybits.verify_pair(a, b, upright=(rows_a, rows_b))
    assert one.look == "oriented" and two.look == "upright" and two.places > one.places
    assert keybits.verify_pair(a, turned, upright=(rows_a, rows_turned)).look == "oriented"
    with pytest.raises(keybits.KeybitsValueError, match="upright"):
        keybits.verify_pair(a, b, upright=(rows_a, rows_b[:-1]))
