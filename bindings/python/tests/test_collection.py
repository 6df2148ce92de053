# SPDX-License-Identifier: Apache-2.0
"""Collections: the same database as the program's, shards, cancelling, wrong input."""
import copy
import json
import threading

import pytest
from conftest import leaves, warp, write_pgm, HOMOGRAPHY

import keybits
from keybits._library import collection_library

try:
    collection_library()
except ImportError as why:
    pytest.skip(str(why), allow_module_level=True)


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    for i in range(3):
        picture = leaves(320, 240, i)
        write_pgm(folder / f"{i}.pgm", picture)
        write_pgm(folder / f"{10 + i}.pgm", warp(picture, HOMOGRAPHY, 340, 260))
    return folder


def test_the_database_of_the_program(photos, program, tmp_path):
    expected = json.loads(program("collection", photos, "-o", tmp_path / "a.db", "-n", "300", "--json", "--quiet"))
    steps = []
    c = keybits.Collection([photos], tmp_path / "work", max_keypoints=300, threads=2,
                           progress=lambda step, done, total: steps.append((step, done, total)))
    assert c.names == ["0.pgm", "1.pgm", "2.pgm", "10.pgm", "11.pgm", "12.pgm"] and len(c) == 6
    counts = c.run(tmp_path / "b.db")
    assert counts._asdict() == {k: v for k, v in expected.items() if k not in ("seconds", "database")}
    assert counts.verified_pairs >= 3
    assert (tmp_path / "a.db").read_bytes() == (tmp_path / "b.db").read_bytes()
    assert ("describing", 0, 6) in steps and ("describing", 6, 6) in steps and steps[-1][0] == "matching"
    c.write_matches(tmp_path / "m.txt")
    c.write_openmvg(tmp_path / "mvg")
    c.write_page(tmp_path / "page.html")
    assert "10.pgm" in (tmp_path / "m.txt").read_text()
    assert (tmp_path / "mvg" / "sfm_data.json").exists() and (tmp_path / "page.html").exists()


def test_one_call_at_a_time(photos, tmp_path):
    """A second one, of a callback or another thread, is refused; so is a copy, which would free the same memory."""
    refused = []

    def again(step, done, total):
        try:
            c.describe()
        except keybits.KeybitsError as error:
            refused.append(str(error))
    c = keybits.Collection([photos], tmp_path / "work", max_keypoints=100, threads=1, progress=again)
    c.describe()
    assert refused and set(refused) == {"a call of this collection is under way"}
    c = keybits.Collection([photos], tmp_path / "shared", max_keypoints=100, threads=2)
    done = []

    def run(number):
        try:
            done.append(c.run(tmp_path / f"{number}.db").images)
        except keybits.KeybitsError as error:
            assert "under way" in str(error)
    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(done) <= {6} and c.run(tmp_path / "last.db").images == 6
    with pytest.raises(TypeError, match="neither be copied nor pickled"):
        copy.copy(c)


def test_shards(photos, tmp_path):
    whole = keybits.Collection([photos], tmp_path / "one", max_keypoints=200)
    whole.run(tmp_path / "one.db")

    def shard():
        return keybits.Collection([photos], tmp_path / "many", max_keypoints=200, threads=1)
    for i in (2, 0):
        shard().describe(i, 3)
    with pytest.raises(keybits.KeybitsError, match="not described yet"):
        shard().choose_pairs()
    shard().describe(1, 3)
    for i in range(2):
        shard().match(i, 2)
    assert shard().merge(tmp_path / "many.db").images == 6
    assert (tmp_path / "many.db").read_bytes() == (tmp_path / "one.db").read_bytes()


def test_retrieval_finds_its_vocabulary(photos, tmp_path):
    counts = keybits.Collection([photos], tmp_path / "w", max_keypoints=200, pairs="retrieval", neighbours=1).run(
        tmp_path / "r.db")
    assert 3 <= counts.pairs <= 6


def test_expansion_along_verified_pairs(program, tmp_path):
    folder = tmp_path / "chain"
    folder.mkdir()
    scene = leaves(640, 240, 5)
    for i in range(6):
        write_pgm(folder / f"{i}.pgm", scene[:, 60 * i:60 * i + 320])

    def chain(work, **options):
        return keybits.Collection([folder], tmp_path / work, max_keypoints=400, pairs="retrieval", neighbours=1,
                                  **options)
    few = chain("few", expand=False).run(tmp_path / "few.db")
    more = chain("more").run(tmp_path / "more.db")
    assert more.pairs > few.pairs and more.verified_pairs > few.verified_pairs
    program("collection", folder, "-o", tmp_path / "c.db", "-n", "400", "--pairs", "retrieval", "-k", "1", "--quiet")
    assert (tmp_path / "more.db").read_bytes() == (tmp_path / "c.db").read_bytes()
    c = chain("steps")
    c.describe()
    with pytest.raises(keybits.KeybitsError, match="not matched yet"):
        c.expand_pairs()
    c.match()
    for write in (c.merge, c.write_matches):
        with pytest.raises(keybits.KeybitsError, match="not expanded yet"):
            write(tmp_path / "early.txt")
    chain("steps").expand_pairs()  # elsewhere: c finds the list
    c.match()
    assert c.merge(tmp_path / "steps.db") == more


def test_cancelled(photos, tmp_path):
    c = keybits.Collection([photos], tmp_path / "w", progress=lambda *_: False)
    with pytest.raises(keybits.KeybitsError, match="describing: cancelled"):
        c.describe()

    def stop(*_):
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        keybits.Collection([photos], tmp_path / "w", progress=stop).describe()


def test_an_image_is_taken_once(photos, tmp_path):
    (photos / "copy.pgm").write_bytes((photos / "1.pgm").read_bytes())
    (photos / "gone.jpg").symlink_to("nowhere.jpg")
    said = []
    c = keybits.Collection([photos, photos / "0.pgm"], tmp_path / "w", warn=said.append)
    assert len(c) == 6 and "copy.pgm" not in c.names
    words = "copy.pgm is the same image as", "0.pgm is named twice", "1 name that leads to no file"
    assert len(said) == 3 and all(any(word in sentence for sentence in said) for word in words)


def test_photographs_that_cannot_be_read(photos, tmp_path):
    (photos / "broken.jpg").write_bytes(b"no picture")
    said = []
    counts = keybits.Collection([photos], tmp_path / "w", max_keypoints=200, warn=said.append).run(tmp_path / "x.db")
    assert counts.failed == 1 and counts.images == 6 and len(said) == 1 and "broken.jpg" in said[0]
    (photos / "other.jpg").write_bytes(b"none either")
    with pytest.warns(RuntimeWarning, match="other.jpg"):
        keybits.Collection([photos], tmp_path / "w", max_keypoints=200).describe()


@pytest.mark.parametrize("options, words", [
    ({"min_places": -1}, "min_places is -1, but must be 0"), ({"pairs": "some"}, "no pairs 'some'"),
    ({"camera": "NONE,1"}, "camera"), ({"model": "nothing"}, "nothing"), ({"model": "sift"}, "binary"),
    ({"rows": "none"}, "no rows"), ({"rows": "oriented", "orientation": "none"}, "oriented rows need an orientation"),
    ({"detector": "none"}, "no detector"), ({"max_ratio": -1}, "max_ratio"), ({"max_keypoints": -1}, "max_keypoints")])
def test_wrong_options(photos, tmp_path, options, words):
    with pytest.raises(keybits.KeybitsError, match=words):
        keybits.Collection([photos], tmp_path / "w", **options)
    assert not (tmp_path / "w").exists()


def test_wrong_calls(photos, tmp_path):
    with pytest.raises(keybits.KeybitsError, match="images"):
        keybits.Collection([], tmp_path / "w")
    for images, camera in (([f"{photos}\0.jpg"], None), ([photos], "PINHOLE,1,1,1,1\0,1")):
        with pytest.raises(keybits.KeybitsError, match="zero byte"):
            keybits.Collection(images, tmp_path / "w", camera=camera)
    c = keybits.Collection([photos], tmp_path / "w")
    with pytest.raises(keybits.KeybitsError, match="shard 3 of 3"):
        c.describe(3, 3)
    with pytest.raises(keybits.KeybitsError, match="not described yet"):
        c.merge(tmp_path / "x.db")
    for write in (c.merge, c.write_matches, c.write_page):
        with pytest.raises(keybits.KeybitsError, match="is an input, and would be overwritten"):
            write(photos / "0.pgm")
