# SPDX-License-Identifier: Apache-2.0
"""Putative matches between descriptors, and what filters them."""
import ctypes
from typing import Any, Optional, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _abi
from ._arrays import (ImageLike, Keypoints, KeypointsLike, Matches, MatchesLike, RowsLike, address, features_view,
                      image_view, keypoint_array, match_dtype, numbers, output, row_array)
from ._checked import KeybitsValueError
from ._library import call, check, lib, long_call, new, number, parallel, whole, workspace
from .features import Features, FeaturesLike
from .models import scale_of

#: A guide of match_guided: where a query is expected, within `radius` of a point or, where line_x and line_y are not
#: 0, of the line through it in that direction.
guide_dtype = np.dtype([("x", np.float32), ("y", np.float32), ("radius", np.float32), ("angle", np.float32),
                        ("min_level", np.int32), ("max_level", np.int32), ("line_x", np.float32),
                        ("line_y", np.float32), ("reserved", np.int32, 2)])
#: A match of match_stereo.
stereo_dtype = np.dtype([("a", np.int32), ("b", np.int32), ("distance", np.float32), ("x", np.float32),
                         ("disparity", np.float32)])

Points = npt.NDArray[np.float64]

_LONG_MATCH = 10 ** 9  # pairs of rows: half a second and more


def _pair(a: FeaturesLike, b: FeaturesLike) -> Tuple[Any, Any]:
    """The rows of both, which must be of one model as far as that is known."""
    if isinstance(a, Features) and isinstance(b, Features) and a.model.id != b.model.id:
        raise KeybitsValueError(f"rows of {a.model.name} cannot be compared with rows of {b.model.name}")
    if isinstance(a, Features) and isinstance(b, Features) and a.origin and b.origin \
            and a.origin.differs(b.origin):
        raise KeybitsValueError(f"keypoints of {a.origin} cannot be mixed with those of {b.origin}")
    first, second = (each.descriptors if isinstance(each, Features) else each for each in (a, b))
    return first, second


def match(a: FeaturesLike, b: FeaturesLike, *, mutual: bool = True, max_ratio: float = 0, max_distance: float = 0,
          out: Optional[Matches] = None) -> Matches:
    """Matches Features, or rows, of one image with those of another by Hamming distance (uint8), or by L2 (float32).

    The result is a structured array with the fields a, b (row numbers), distance and second (the distance to the
    second nearest row, infinity when there is none), in order of a. mutual keeps pairs that are each other's nearest.
    max_ratio (0.8 is usual) keeps distance < max_ratio x second; 0 is off. All-zero rows never match."""
    a, b = _pair(a, b)
    if np.asarray(a).dtype == np.float32:
        return _match_float(a, b, mutual, max_ratio, max_distance)
    first, second = row_array(a, "a"), row_array(b, "b")
    if first.shape[1] != second.shape[1]:
        raise KeybitsValueError(f"rows of a have {first.shape[1]} bytes, rows of b have {second.shape[1]}")
    matches: Matches = output(out, (len(first),), match_dtype)
    count = ctypes.c_size_t()
    _check_limits(max_ratio, max_distance)
    options = new(_abi.kb_match_options, one_way=0 if mutual else 1, max_ratio=max_ratio, max_distance=max_distance,
                  parallel=parallel())
    views, error = (features_view(None, first), features_view(None, second)), _abi.kb_error()
    arguments = (ctypes.byref(views[0]), ctypes.byref(views[1]), ctypes.byref(options), workspace(), address(matches),
                 ctypes.byref(count), ctypes.byref(error))
    if len(first) * len(second) < _LONG_MATCH:
        check(lib.kb_match_features(*arguments), error, "match")
    else:
        check(long_call(lib.kb_match_features, *arguments, keep=(first, second, matches, views)), error, "match")
    return matches[:count.value]


def _check_limits(max_ratio: float, max_distance: float) -> None:
    number("max_ratio", max_ratio, 0, 1)
    number("max_distance", max_distance, 0)


def match_knn(a: FeaturesLike, b: FeaturesLike, k: int = 2) -> Tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """The k nearest rows of b for every row of a, nearest first: their indices (n x k, -1 where there is none) and
    Hamming distances."""
    a, b = _pair(a, b)
    first, second = np.ascontiguousarray(row_array(a, "a")), np.ascontiguousarray(row_array(b, "b"))
    if first.shape[1] != second.shape[1]:
        raise KeybitsValueError(f"rows of a have {first.shape[1]} bytes, rows of b have {second.shape[1]}")
    k = whole("k", k, 1)
    neighbours = np.empty((len(first), k), [("index", np.int32), ("distance", np.float32)])
    options = new(_abi.kb_match_options, parallel=parallel())
    call("match_knn", lib.kb_match_knn, ctypes.byref(features_view(None, first)),
         ctypes.byref(features_view(None, second)), k, ctypes.byref(options), workspace(), address(neighbours))
    return neighbours["index"], neighbours["distance"]


def _match_float(a: Any, b: Any, mutual: bool, max_ratio: float, max_distance: float) -> Matches:
    first, second = np.ascontiguousarray(a), np.ascontiguousarray(b)
    if first.ndim != 2 or second.ndim != 2 or second.dtype != np.float32 or first.shape[1] != second.shape[1]:
        raise KeybitsValueError(f"rows must be n x values of float32 of one length, not {first.shape} and "
                                f"{second.shape} ({second.dtype})")
    matches = np.empty(len(first), match_dtype)
    count = ctypes.c_size_t()
    _check_limits(max_ratio, max_distance)
    options = new(_abi.kb_match_options, one_way=0 if mutual else 1, max_ratio=max_ratio, max_distance=max_distance,
                  parallel=parallel())
    call("match", lib.kb_match_features, ctypes.byref(features_view(None, first)),
         ctypes.byref(features_view(None, second)), ctypes.byref(options), workspace(), address(matches),
         ctypes.byref(count))
    return matches[:count.value]


def match_array(matches: MatchesLike) -> Matches:
    array = np.asarray(matches)
    if array.dtype != match_dtype or array.ndim != 1:
        raise KeybitsValueError(f"matches are an array of keybits.match_dtype, not {array.dtype} of {array.shape}")
    return np.ascontiguousarray(array)


def filter_matches(keypoints_a: KeypointsLike, keypoints_b: KeypointsLike, matches: MatchesLike, *,
                   tolerance: float = 0, max_angle: float = 0, max_scale: float = 0, min_support: int = 0) -> Matches:
    """Drops matches that their neighbours do not agree with, by size and angle of the keypoints; zeros are the
    defaults (docs/match.md). Pays before fitting wherever many matches are wrong."""
    a, b, given = keypoint_array(keypoints_a), keypoint_array(keypoints_b), match_array(matches)
    kept = np.empty_like(given)
    count = ctypes.c_size_t()
    options = new(_abi.kb_filter_options, tolerance=tolerance, max_angle=max_angle, max_scale=max_scale,
                  min_support=min_support)
    call("filter_matches", lib.kb_filter, ctypes.byref(features_view(a)), ctypes.byref(features_view(b)),
         address(given), len(given), ctypes.byref(options), workspace(), address(kept), ctypes.byref(count))
    return kept[:count.value]


def _guides(geometry: int, matrix: npt.NDArray[np.float64], points: Keypoints, size: Tuple[int, int],
            radius: float) -> npt.NDArray[np.void]:
    guides = np.zeros(len(points), guide_dtype)
    other = new(_abi.kb_features, width=size[0], height=size[1])
    call("guides", lib.kb_guides_fill, geometry, address(matrix), ctypes.byref(features_view(points)),
         ctypes.byref(other), number("radius", radius, 0), address(guides))
    return guides


def guides_homography(h: npt.ArrayLike, keypoints: KeypointsLike, radius: float) -> npt.NDArray[np.void]:
    """A guide for every keypoint of a: where a homography from a to b sends it."""
    matrix, points = np.ascontiguousarray(h, np.float64).reshape(9), keypoint_array(keypoints)
    return _guides(_abi.KB_GEOMETRY_HOMOGRAPHY, matrix, points, (0, 0), radius)


def guides_epipolar(f: npt.ArrayLike, keypoints: KeypointsLike, width: int, height: int,
                    radius: float) -> npt.NDArray[np.void]:
    """A guide for every keypoint of a: its epipolar line in image b of the given size, by the fundamental matrix f."""
    matrix, points = np.ascontiguousarray(f, np.float64).reshape(9), keypoint_array(keypoints)
    return _guides(_abi.KB_GEOMETRY_FUNDAMENTAL, matrix, points, (whole("width", width, 1), whole("height", height, 1)),
                   radius)


def match_guided(a: RowsLike, guides: npt.ArrayLike, b: RowsLike, keypoints_b: KeypointsLike, *,
                 max_ratio: float = 0, max_distance: float = 0,
                 ratio_per_level: bool = False, check_angles: bool = True) -> Matches:
    """Matches queries (rows a, one guide of guide_dtype each) with the keypoints of b near where they are expected."""
    first, second, places = row_array(a, "a"), row_array(b, "b"), keypoint_array(keypoints_b)
    first, second = np.ascontiguousarray(first), np.ascontiguousarray(second)
    expected = np.ascontiguousarray(guides)
    if expected.dtype != guide_dtype or expected.shape != (len(first),):
        raise KeybitsValueError(f"guides are {len(first)} of keybits.guide_dtype, not {expected.dtype} of "
                                f"{expected.shape}")
    if len(places) != len(second) or first.shape[1] != second.shape[1]:
        raise KeybitsValueError("b and keypoints_b must have one row per keypoint, and rows as long as those of a")
    matches = np.empty(len(first), match_dtype)
    count = ctypes.c_size_t()
    _check_limits(max_ratio, max_distance)
    options = new(_abi.kb_guided_options, max_ratio=max_ratio, max_distance=max_distance,
                  ratio_per_level=int(ratio_per_level), any_angle=int(not check_angles), parallel=parallel())
    call("match_guided", lib.kb_match_guided, ctypes.byref(features_view(None, first)), address(expected),
         ctypes.byref(features_view(places, second)), ctypes.byref(options), workspace(), address(matches),
         ctypes.byref(count))
    return matches[:count.value]


def match_stereo(a: RowsLike, left: KeypointsLike, b: RowsLike, right: KeypointsLike, *,
                 images: Optional[Tuple[ImageLike, ImageLike]] = None,
                 min_disparity: float = 0, max_disparity: float = 0, row_tolerance: float = 0, max_scale: float = 0,
                 max_distance: float = 0, max_ratio: float = 0) -> Matches:
    """Matches a rectified pair along rows: rows a and keypoints of the left image, rows b and keypoints of the right.

    The result has the fields a, b, distance, x (in the right image) and disparity (stereo_dtype). images: the two
    rectified images, for sub-pixel disparities and a check of the gray. Zeros are the defaults of kb_stereo_options:
    max_disparity 10000 px, row_tolerance 0.065 of the keypoint's size, max_scale 1.3, the others off."""
    first, second = np.ascontiguousarray(row_array(a, "a")), np.ascontiguousarray(row_array(b, "b"))
    places, others = keypoint_array(left), keypoint_array(right)
    if len(first) != len(places) or len(second) != len(others) or first.shape[1] != second.shape[1]:
        raise KeybitsValueError("a and left, b and right must have one row per keypoint, and rows of one length")
    views = [image_view(image) for image in images] if images is not None else []
    if len(views) not in (0, 2):
        raise KeybitsValueError(f"images are the left and the right one, not {len(views)}")
    _check_limits(max_ratio, max_distance)
    options = new(_abi.kb_stereo_options, min_disparity=min_disparity, max_disparity=max_disparity,
                  row_tolerance=row_tolerance, max_scale=max_scale, max_distance=max_distance, max_ratio=max_ratio,
                  left=ctypes.addressof(views[0][0]) if views else None,
                  right=ctypes.addressof(views[1][0]) if views else None, parallel=parallel())
    matches = np.empty(len(first), stereo_dtype)
    count = ctypes.c_size_t()
    call("match_stereo", lib.kb_match_stereo, ctypes.byref(features_view(places, first)),
         ctypes.byref(features_view(others, second)), ctypes.byref(options), workspace(), address(matches),
         ctypes.byref(count))
    return matches[:count.value]


def refine_matches(image_a: ImageLike, image_b: ImageLike, keypoints_a: KeypointsLike, keypoints_b: KeypointsLike,
                   matches: MatchesLike, *,
                   scale: Union[float, str] = "orb", iterations: int = 0, max_shift: float = 0,
                   min_correlation: float = 0, white: int = 0
                   ) -> Tuple[Points, Points, npt.NDArray[np.float32]]:
    """The points of matches, n x 2 in each image, those of b moved to where the surroundings of a's keypoints are seen,
    to a fraction of a pixel; and the correlation of both, 0 where a match could not be refined and kept its points.

    scale is the detector's name or its preset; the other zeros are the defaults of kb_refine_options. The points go
    into keybits.fit."""
    a, b, given = keypoint_array(keypoints_a), keypoint_array(keypoints_b), match_array(matches)
    (view_a, alive_a), (view_b, alive_b) = image_view(image_a, white), image_view(image_b, white)
    options = new(_abi.kb_refine_options, scale=scale_of(scale), iterations=iterations, max_shift=max_shift,
                  min_correlation=min_correlation, parallel=parallel())
    pairs, correlations = np.empty((len(given), 4)), np.empty(len(given), np.float32)
    images = (_abi.kb_image * 2)(view_a, view_b)
    call("refine_matches", lib.kb_match_refine, images, ctypes.byref(features_view(a)), ctypes.byref(features_view(b)),
         address(given), len(given), ctypes.byref(options), workspace(), address(pairs), address(correlations))
    del alive_a, alive_b
    return pairs[:, :2], pairs[:, 2:], correlations


def hamming(a: RowsLike, b: RowsLike) -> "npt.NDArray[np.int64]":
    """The Hamming distances of rows: a[i] and b[i], or all pairs when one has an axis more, as numpy broadcasts."""
    first, second = numbers("a", a, np.uint8), numbers("b", b, np.uint8)
    bits = np.unpackbits(np.bitwise_xor(first, second), axis=-1)
    distances: npt.NDArray[np.int64] = bits.sum(axis=-1, dtype=np.int64)
    return distances
