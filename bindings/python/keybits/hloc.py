# SPDX-License-Identifier: Apache-2.0
"""Features and matches as the HDF5 files of hloc (Hierarchical-Localization), by h5py.

A feature file has a group per image with keypoints [n, 2], descriptors [d, n], scores [n] and image_size [2]; a match
file has a group per pair with matches0 [n] and matching_scores0 [n]. hloc's pixels are ours: (0, 0) is the centre of the
first one, and hloc itself adds half a pixel for COLMAP.

Descriptors are written as bits by default: +1 and -1 over sqrt(bits) in float16, so that hloc's own nearest neighbour
matcher, which takes dot products, finds the neighbours of the Hamming distance.
"""
from typing import Any, Iterable, Tuple

import numpy as np
import numpy.typing as npt

try:
    import h5py  # type: ignore[import]
except ImportError as _error:
    raise ImportError("keybits.hloc needs h5py (Debian: python3-h5py)") from _error

from ._arrays import Keypoints, Matches, MatchesLike, Rows, keypoint_dtype, match_dtype
from ._checked import KeybitsFileError, KeybitsValueError
from ._files import PathLike
from .features import Features
from .matching import match_array


def pair_name(name_a: str, name_b: str) -> str:
    """The group of a pair of images in a match file."""
    return "/".join(name.replace("/", "-") for name in (name_a, name_b))


def _bits(rows: Rows) -> npt.NDArray[np.float16]:
    signs = np.unpackbits(rows, axis=1).astype(np.float32) * 2 - 1
    result: npt.NDArray[np.float16] = (signs / np.sqrt(max(signs.shape[1], 1))).astype(np.float16)
    return result


def write_features(path: PathLike, images: Iterable[Tuple[str, Features]], descriptors: str = "bits") -> None:
    """Writes the features of images, (name, Features) each, into a file, which is made or added to; images that are
    there are replaced. descriptors: "bits" ([bits, n] of float16) or "bytes" ([bytes, n] of uint8)."""
    if descriptors not in ("bits", "bytes"):
        raise KeybitsValueError(f'descriptors is "bits" or "bytes", not {descriptors!r}')
    with h5py.File(str(path), "a", libver="latest") as file:
        for name, features in images:
            if name in file:
                del file[name]
            group = file.create_group(name)
            places = np.stack([features.keypoints["x"], features.keypoints["y"]], axis=1)
            rows: Any = _bits(features.descriptors) if descriptors == "bits" else features.descriptors
            group.create_dataset("keypoints", data=places.astype(np.float32))
            group.create_dataset("descriptors", data=np.ascontiguousarray(rows.T))
            group.create_dataset("scores", data=features.keypoints["response"].astype(np.float32))
            group.create_dataset("scales", data=features.keypoints["size"].astype(np.float32))
            group.create_dataset("oris", data=features.keypoints["angle"].astype(np.float32))
            group.create_dataset("image_size", data=np.array(features.size))
            group["keypoints"].attrs["uncertainty"] = 1.0


def read_features(path: PathLike, name: str) -> Tuple[Keypoints, Rows]:
    """The keypoints and rows (n x bytes) of an image; descriptors of other programs raise KeybitsFileError."""
    with h5py.File(str(path), "r", libver="latest") as file:
        if name not in file:
            raise KeybitsValueError(f"{path}: no image {name!r}")
        group = file[name]
        places, rows = group["keypoints"][()], group["descriptors"][()].T
        keypoints = np.zeros(len(places), keypoint_dtype)
        keypoints["x"], keypoints["y"] = places[:, 0], places[:, 1]
        keypoints["class_id"] = -1
        for field, dataset, default in (("response", "scores", 0), ("size", "scales", 31), ("angle", "oris", -1)):
            keypoints[field] = group[dataset][()] if dataset in group else default
    if rows.dtype == np.uint8:
        return keypoints, np.ascontiguousarray(rows)
    if rows.shape[1] % 8 or not np.array_equal(np.sign(rows) * np.abs(rows[:1, :1]), rows):
        raise KeybitsFileError(f"{path}: the descriptors of {name} are not bits")
    return keypoints, np.packbits(rows > 0, axis=1)


def write_matches(path: PathLike, pairs: Iterable[Tuple[str, str, int, MatchesLike]], bits: int = 256) -> None:
    """Writes matches of pairs, (name a, name b, number of keypoints of a, matches) each. The score of a match is
    1 - distance / bits."""
    with h5py.File(str(path), "a", libver="latest") as file:
        for name_a, name_b, count, matches in pairs:
            given = match_array(matches)
            if len(given) and not 0 <= given["a"].min() <= given["a"].max() < count:
                raise KeybitsValueError(f"{name_a}: a match names keypoint {int(given['a'].max())}, there are {count}")
            small = not len(given) or given["b"].max() < 2 ** 15
            indices = np.full(count, -1, np.int16 if small else np.int32)
            scores = np.zeros(count, np.float16)
            indices[given["a"]] = given["b"]
            scores[given["a"]] = 1 - given["distance"] / bits
            name = pair_name(name_a, name_b)
            if name in file:
                del file[name]
            group = file.create_group(name)
            group.create_dataset("matches0", data=indices)
            group.create_dataset("matching_scores0", data=scores)


def read_matches(path: PathLike, name_a: str, name_b: str, bits: int = 256) -> Matches:
    """The matches of a pair, in the order in which the file has it."""
    with h5py.File(str(path), "r", libver="latest") as file:
        name = pair_name(name_a, name_b)
        if name not in file:
            raise KeybitsValueError(f"{path}: no pair {name!r}")
        indices = file[name]["matches0"][()]
        scores = file[name]["matching_scores0"][()] if "matching_scores0" in file[name] else np.ones(len(indices))
    rows = np.flatnonzero(indices >= 0)
    matches = np.empty(len(rows), match_dtype)
    matches["a"], matches["b"], matches["second"] = rows, indices[rows], np.inf
    matches["distance"] = np.rint((1 - scores[rows].astype(np.float64)) * bits)
    return matches
