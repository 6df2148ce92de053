# SPDX-License-Identifier: Apache-2.0
"""COLMAP databases and hloc files."""
import sqlite3

import numpy as np
import pytest
from conftest import write_pgm

import keybits
from keybits import colmap


def test_database(features, view_features, tmp_path):
    m = keybits.match(features.descriptors, view_features.descriptors)
    path = tmp_path / "database.db"
    with colmap.Database(path) as db:
        camera = db.add_camera(320, 240)
        one, two = db.add_image("a.png", camera), db.add_image("b.png", camera)
        db.add_keypoints(one, features.keypoints)
        db.add_keypoints(two, view_features.keypoints)
        db.add_matches(two, one, keybits.match(view_features.descriptors, features.descriptors))
        db.add_verified(one, two, m[:10])
    with colmap.Database(path) as db:
        assert [(i.name, i.camera) for i in db.images()] == [("a.png", camera), ("b.png", camera)]
        back = db.keypoints(one)
        for field in ("x", "y", "size", "angle"):
            assert np.allclose(back[field], features.keypoints[field], atol=1e-3), field
        pairs = np.sort(db.matches(one, two)[["a", "b"]])
        assert np.array_equal(pairs, m[["a", "b"]]) and db.pairs() == [(one, two)]
        turned = db.matches(two, one)
        assert set(zip(turned["b"], turned["a"])) == set(zip(m["a"], m["b"]))
        assert len(db.matches(one, two, verified=True)) == 10 and db.pairs(verified=True) == [(one, two)]
        assert len(db.keypoints(99)) == 0 and len(db.matches(1, 99)) == 0
    raw = sqlite3.connect(path).execute("SELECT data FROM keypoints WHERE image_id = ?", (one,)).fetchone()[0]
    assert np.frombuffer(raw, np.float32)[0] == features.keypoints["x"][0] + np.float32(0.5)
    pair = sqlite3.connect(path).execute("SELECT pair_id FROM matches").fetchone()[0]
    assert pair == 2147483647 * one + two and colmap.pair_images(pair) == (one, two)


def test_database_of_the_program(image, view, program, tmp_path):
    """The tables of `keybits export colmap` are those that Database reads and makes."""
    for name, picture in (("a.pgm", image), ("b.pgm", view)):
        write_pgm(tmp_path / name, picture)
    program("export", "colmap", tmp_path / "a.pgm", tmp_path / "b.pgm", "-o", tmp_path / "program.db", "-n", 300)
    with colmap.Database(tmp_path / "program.db") as db:
        first, second = db.images()
        expected = keybits.detect(image, "sift", 300)
        assert np.allclose(db.keypoints(first.id)["x"], expected["x"], atol=1e-4)
        assert np.allclose(db.keypoints(first.id)["size"], expected["size"], rtol=1e-6)
        assert len(db.matches(first.id, second.id)) > 50
    with colmap.Database(tmp_path / "ours.db"):
        pass

    def schema(path):
        return sorted("".join(row[0].split()) for row in
                      sqlite3.connect(path).execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"))
    assert schema(tmp_path / "program.db") == schema(tmp_path / "ours.db")


def test_nothing_half_written(features, tmp_path):
    path = tmp_path / "database.db"
    with pytest.raises(ZeroDivisionError):
        with colmap.Database(path) as db:
            db.add_camera(10, 10)
            1 / 0
    assert not list(tmp_path.iterdir())
    with colmap.Database(path) as db:
        camera = db.add_camera(10, 10, "PINHOLE", [1, 2, 3, 4])
        db.add_image("a", camera)
        for wrong in (lambda: db.add_image("a", camera), lambda: db.add_image("a b", camera),
                      lambda: db.add_camera(1, 1, "FISHEYE"), lambda: db.add_camera(1, 1, "PINHOLE", [1]),
                      lambda: db.add_matches(1, 1, np.zeros(0, keybits.match_dtype)),
                      lambda: db.add_matches(1, 2, [1, 2]), lambda: db.add_keypoints(1, "keypoints")):
            with pytest.raises(keybits.KeybitsValueError):
                wrong()
    (tmp_path / "text.db").write_text("no database")
    with pytest.raises(keybits.KeybitsFileError, match="not a COLMAP database"):
        colmap.Database(tmp_path / "text.db")
    with pytest.raises(keybits.KeybitsValueError, match="no such folder"):
        colmap.Database(tmp_path / "nowhere" / "x.db")
    with pytest.raises(keybits.KeybitsValueError, match="cannot be opened"):
        colmap.Database(tmp_path)


def test_hloc(features, view_features, tmp_path):
    h5py = pytest.importorskip("h5py")
    from keybits import hloc
    m = keybits.match(features.descriptors, view_features.descriptors)
    for kind, dimension in (("bits", 256), ("bytes", 32)):
        path = tmp_path / f"{kind}.h5"
        hloc.write_features(path, [("db/a.png", features), ("db/b.png", view_features)], kind)
        hloc.write_features(path, [("db/a.png", features)], kind)  # replaced
        with h5py.File(path, "r") as file:
            group = file["db/a.png"]
            assert group["keypoints"].shape == (500, 2) and group["descriptors"].shape == (dimension, 500)
            assert group["scores"].shape == (500,) and list(group["image_size"]) == [320, 240]
            if kind == "bits":  # nearest by dot product is nearest by Hamming distance
                a, b = (file[name]["descriptors"][()].astype(np.float32) for name in ("db/a.png", "db/b.png"))
                similarity = a.T @ b
                assert np.allclose(np.linalg.norm(a, axis=0), 1, atol=1e-2)
                assert np.allclose(similarity[m["a"], m["b"]], 1 - 2 * m["distance"] / 256, atol=1e-2)
        keypoints, rows = hloc.read_features(path, "db/b.png")
        assert np.array_equal(rows, view_features.descriptors)
        assert np.array_equal(keypoints[["x", "y", "size", "angle"]],
                              view_features.keypoints[["x", "y", "size", "angle"]])
    hloc.write_matches(tmp_path / "m.h5", [("db/a.png", "db/b.png", len(features), m)])
    with h5py.File(tmp_path / "m.h5", "r") as file:
        pair = file["db-a.png/db-b.png"]
        assert pair["matches0"].shape == (500,) and (pair["matches0"][()] >= 0).sum() == len(m)
        assert pair["matching_scores0"].shape == (500,)
    back = hloc.read_matches(tmp_path / "m.h5", "db/a.png", "db/b.png")
    assert np.array_equal(back[["a", "b"]], m[["a", "b"]]) and np.abs(back["distance"] - m["distance"]).max() <= 1
    with pytest.raises(keybits.KeybitsValueError):
        hloc.write_features(tmp_path / "x.h5", [], "words")
    with pytest.raises(keybits.KeybitsValueError, match="no image"):
        hloc.read_features(tmp_path / "bits.h5", "c.png")
    with pytest.raises(keybits.KeybitsValueError, match="no pair"):
        hloc.read_matches(tmp_path / "m.h5", "c", "d")
    with pytest.raises(keybits.KeybitsValueError):
        hloc.write_matches(tmp_path / "m.h5", [("a", "b", 3, m)])
