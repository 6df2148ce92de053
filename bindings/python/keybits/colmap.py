# SPDX-License-Identifier: Apache-2.0
"""COLMAP's database: cameras, images, keypoints and matches in, and what is in one out.

COLMAP puts the centre of the first pixel at (0.5, 0.5); half a pixel is added on the way in and taken off on the way out.
"""
import os
import sqlite3
from pathlib import Path
from types import TracebackType
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Type

import numpy as np
import numpy.typing as npt

from ._arrays import Keypoints, KeypointsLike, Matches, MatchesLike, keypoint_array, keypoint_dtype, match_dtype
from ._checked import KeybitsFileError, KeybitsValueError
from ._files import PathLike
from .matching import match_array

#: COLMAP's camera models and how many parameters each has.
CAMERA_MODELS: Dict[str, Tuple[int, int]] = {"SIMPLE_PINHOLE": (0, 3), "PINHOLE": (1, 4), "SIMPLE_RADIAL": (2, 4),
                                             "RADIAL": (3, 5), "OPENCV": (4, 8)}
_PAIR = 2147483647  # pair_id = _PAIR x smaller image_id + larger


def _tables() -> str:
    """io/colmap.sql without its comments: in the package, or in the source tree."""
    package = Path(__file__).resolve().parent
    files = package / "colmap.sql", package.parent.parent.parent / "io" / "colmap.sql"
    text = next(file for file in files if file.exists()).read_text(encoding="utf-8")
    return "\n".join(line for line in text.splitlines() if not line.startswith("--"))


def pair_id(image_a: int, image_b: int) -> int:
    """COLMAP's number of a pair of images."""
    return _PAIR * min(image_a, image_b) + max(image_a, image_b)


def pair_images(pair: int) -> Tuple[int, int]:
    """The images of a pair, the smaller id first."""
    return (pair - pair % _PAIR) // _PAIR, pair % _PAIR


class ColmapImage(NamedTuple):
    """An image of a database."""
    id: int
    name: str
    camera: int


class Database:
    """A COLMAP database (version 3.8), which is made when it is not there. Use it with `with`: what is added is kept
    when the block ends, and nothing of it when the block raises."""

    def __init__(self, path: PathLike) -> None:
        self._path = Path(path)
        self._is_new = not self._path.exists()
        if not self._path.parent.is_dir():
            raise KeybitsValueError(f"{self._path.parent}: no such folder")
        try:
            self._file = sqlite3.connect(os.fspath(self._path), isolation_level=None)
        except sqlite3.Error as error:
            raise KeybitsValueError(f"{path}: cannot be opened: {error}") from None
        try:
            self._file.execute("BEGIN")
            if self._is_new:
                for statement in _tables().split(";")[:-1]:
                    self._file.execute(statement)
            self._file.execute("SELECT image_id, name, camera_id FROM images LIMIT 1")
        except sqlite3.DatabaseError as error:
            self._file.close()
            raise KeybitsFileError(f"{path}: not a COLMAP database: {error}") from None

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close(kind is None)

    def close(self, keep: bool = True) -> None:
        """Keeps what was added, or drops it, and closes the file."""
        self._file.execute("COMMIT" if keep else "ROLLBACK")
        self._file.close()
        if self._is_new and not keep:
            self._path.unlink()

    def _run(self, sql: str, *values: Any) -> Any:
        try:
            return self._file.execute(sql, values)
        except sqlite3.Error as error:
            raise KeybitsValueError(f"{self._path}: {error}") from None

    # ------------------------------------------------------------------------------------------------------- writing

    def add_camera(self, width: int, height: int, model: str = "SIMPLE_RADIAL",
                   parameters: Optional[Sequence[float]] = None) -> int:
        """Adds a camera and returns its id. parameters as COLMAP orders them, px; None is COLMAP's guess for a camera
        nobody knows, a focal length of 1.2 x the longer side."""
        if model not in CAMERA_MODELS:
            raise KeybitsValueError(f"no camera model {model!r}; there are {', '.join(CAMERA_MODELS)}")
        number, count = CAMERA_MODELS[model]
        if parameters is None:
            focal = [1.2 * max(width, height)] * (2 if model in ("PINHOLE", "OPENCV") else 1)
            values = [*focal, width / 2, height / 2]
            values += [0.0] * (count - len(values))
        else:
            values = [float(value) for value in parameters]
        if len(values) != count or not values[0] > 0:
            raise KeybitsValueError(f"{model} takes {count} numbers, the first of them a positive focal length")
        cursor = self._run("INSERT INTO cameras(model, width, height, params, prior_focal_length) VALUES(?, ?, ?, ?, ?)",
                           number, width, height, np.array(values, "<f8").tobytes(), int(parameters is not None))
        return int(cursor.lastrowid)

    def add_image(self, name: str, camera: int) -> int:
        """Adds an image and returns its id."""
        if " " in name:
            raise KeybitsValueError(f"{name}: COLMAP's lists of images cannot hold names with spaces")
        return int(self._run("INSERT INTO images(name, camera_id) VALUES(?, ?)", name, camera).lastrowid)

    def add_keypoints(self, image: int, keypoints: KeypointsLike) -> None:
        """The keypoints of an image, which replace those that it has."""
        points = keypoint_array(keypoints)
        data = np.empty((len(points), 4), "<f4")
        data[:, 0], data[:, 1] = points["x"] + np.float32(0.5), points["y"] + np.float32(0.5)
        data[:, 2] = points["size"] / 2
        data[:, 3] = np.where(points["angle"] < 0, 0, points["angle"].astype(np.float64) * (np.pi / 180))
        self._run("INSERT OR REPLACE INTO keypoints(image_id, rows, cols, data) VALUES(?, ?, 4, ?)", image, len(data),
                  data.tobytes())

    def add_matches(self, image_a: int, image_b: int, matches: MatchesLike) -> None:
        """The matches of keypoints of image a with those of image b, which replace those that the pair has. COLMAP
        verifies them: colmap matches_importer, or exhaustive_matcher on a database that has them."""
        self._put_pairs("matches", image_a, image_b, matches, "")

    def add_verified(self, image_a: int, image_b: int, matches: MatchesLike) -> None:
        """Matches that need no verification by COLMAP, such as inliers of find_fundamental."""
        self._put_pairs("two_view_geometries", image_a, image_b, matches, ", config")

    def _put_pairs(self, table: str, image_a: int, image_b: int, matches: MatchesLike, config: str) -> None:
        if image_a == image_b:
            raise KeybitsValueError(f"image {image_a} cannot be matched with itself")
        given = match_array(matches)
        pairs = np.stack([given["a"], given["b"]], axis=1).astype("<u4")
        pairs = pairs if image_a < image_b else pairs[:, ::-1]
        self._run(f"INSERT OR REPLACE INTO {table}(pair_id, rows, cols, data{config}) "
                  f"VALUES(?, ?, 2, ?{', 3' if config else ''})",  # 3: uncalibrated
                  pair_id(image_a, image_b), len(pairs), np.ascontiguousarray(pairs).tobytes())

    # ------------------------------------------------------------------------------------------------------- reading

    def images(self) -> List[ColmapImage]:
        """All images, by id."""
        return [ColmapImage(*row) for row in self._run("SELECT image_id, name, camera_id FROM images ORDER BY image_id")]

    def _blob(self, table: str, key: str, number: int, dtype: str) -> Optional[npt.NDArray[Any]]:
        row = self._run(f"SELECT rows, cols, data FROM {table} WHERE {key} = ?", number).fetchone()
        if row is None or row[0] == 0:
            return None
        values = np.frombuffer(row[2] or b"", dtype)
        if values.size != row[0] * row[1]:
            raise KeybitsFileError(f"{self._path}: {table} of {number} do not have the size that the database says")
        return values.reshape(row[0], row[1])

    def keypoints(self, image: int) -> Keypoints:
        """The keypoints of an image; none is an empty array. COLMAP's scale becomes the diameter 2 x scale."""
        data = self._blob("keypoints", "image_id", image, "<f4")
        result = np.zeros(0 if data is None else len(data), keypoint_dtype)
        result["class_id"], result["angle"], result["size"] = -1, -1, 2
        if data is None:
            return result
        if data.shape[1] not in (2, 4, 6):
            raise KeybitsFileError(f"{self._path}: keypoints with {data.shape[1]} columns; COLMAP writes 2, 4 or 6")
        result["x"], result["y"] = data[:, 0] - np.float32(0.5), data[:, 1] - np.float32(0.5)
        if data.shape[1] == 4:
            scale, angle = data[:, 2], data[:, 3]
        elif data.shape[1] == 6:  # an affine frame: its mean scale, and the direction of its first axis
            a11, a12, a21, a22 = data[:, 2:].T.astype(np.float64)
            scale = (np.hypot(a11, a21) + np.hypot(a12, a22)) / 2
            angle = np.arctan2(a21, a11)
        else:
            return result
        result["size"], result["angle"] = 2 * scale, np.rad2deg(angle.astype(np.float64)) % 360
        return result

    def matches(self, image_a: int, image_b: int, verified: bool = False) -> Matches:
        """The matches of a pair, those that COLMAP verified if asked; none is an empty array. COLMAP keeps no
        distances: they are 0."""
        data = self._blob("two_view_geometries" if verified else "matches", "pair_id", pair_id(image_a, image_b), "<u4")
        result = np.zeros(0 if data is None else len(data), match_dtype)
        if data is not None:
            first, second = (0, 1) if image_a < image_b else (1, 0)
            result["a"], result["b"], result["second"] = data[:, first], data[:, second], np.inf
        return result

    def pairs(self, verified: bool = False) -> List[Tuple[int, int]]:
        """The pairs of images that have matches."""
        table = "two_view_geometries" if verified else "matches"
        return [pair_images(row[0]) for row in self._run(f"SELECT pair_id FROM {table} WHERE rows > 0 ORDER BY pair_id")]
