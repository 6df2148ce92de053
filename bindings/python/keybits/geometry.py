# SPDX-License-Identifier: Apache-2.0
"""The geometry between two images, and the pose of a camera, from matches of which many may be wrong."""
import ctypes
from typing import Any, NamedTuple, Optional, Tuple

import numpy as np
import numpy.typing as npt

from . import _abi
from ._arrays import KeypointsLike, MatchesLike, address, features_view, keypoint_array
from ._checked import KeybitsValueError, instance
from ._library import call, check, lib, new, number, text, whole, workspace
from .matching import match_array

GEOMETRIES = {"homography": _abi.KB_GEOMETRY_HOMOGRAPHY, "fundamental": _abi.KB_GEOMETRY_FUNDAMENTAL,
              "similarity": _abi.KB_GEOMETRY_SIMILARITY, "affine": _abi.KB_GEOMETRY_AFFINE,
              "essential": _abi.KB_GEOMETRY_ESSENTIAL, "rotation": _abi.KB_GEOMETRY_ROTATION, "any": _abi.KB_GEOMETRY_ANY}

Matrix = npt.NDArray[np.float64]


class Camera(NamedTuple):
    """A calibrated camera: focal lengths and principal point in px, and OpenCV's distortion."""
    fx: float
    fy: float
    cx: float
    cy: float
    k1: float = 0
    k2: float = 0
    p1: float = 0
    p2: float = 0
    k3: float = 0

    def _struct(self) -> Any:
        if not (np.isfinite(self).all() and self.fx > 0 and self.fy > 0):
            raise KeybitsValueError(f"{self}: focal lengths must be positive, and all numbers finite")
        return new(_abi.kb_camera, **self._asdict())

    def project(self, points: npt.ArrayLike) -> Matrix:
        """The pixels (n x 2) where the camera sees points (n x 3) of its own coordinate system, or rays (n x 2: x and
        y where z is 1); NaN behind the camera and where the distortion turns back."""
        given = np.asarray(points, np.float64)
        if given.ndim == 2 and given.shape[1] == 3:
            with np.errstate(divide="ignore", invalid="ignore"):
                given = np.where(given[:, 2:] > 0, given[:, :2] / given[:, 2:], np.nan)
        return self._map(lib.kb_camera_project, given, "points")

    def unproject(self, pixels: npt.ArrayLike) -> Matrix:
        """The rays of pixels, n x 2: x and y where z is 1, without distortion; NaN for a pixel that no ray reaches."""
        return self._map(lib.kb_camera_unproject, pixels, "pixels")

    def _map(self, function: Any, points: npt.ArrayLike, name: str) -> Matrix:
        places = _points(points, 2, name)
        result = np.empty((len(places), 2))
        camera, out = self._struct(), result.ctypes.data
        camera_pointer = ctypes.byref(camera)
        check(function(camera_pointer, 0.0, 0.0, *(ctypes.byref(ctypes.c_double()),) * 2), None, f"{self}")
        for x, y in places.tolist():
            function(camera_pointer, x, y, out, out + 8)
            out += 16
        return result


class Fit(NamedTuple):
    """The result of fit. `model` is None, and `inliers` all False, when there is no geometry: `result` says why."""
    model: Optional[Matrix]                  # 3 x 3
    inliers: npt.NDArray[np.bool_]           # one per match
    result: str                              # "found", "too few pairs", "degenerate", "not found"
    rms: float                               # of the inliers, px
    iterations: int
    rotation: Optional[Matrix] = None        # 3 x 3, of calibrated geometries
    translation: Optional[Matrix] = None     # 3
    geometry: str = ""                       # what was fitted; "any": what was found; "" for fit_pose
    places: int = 0                          # different inliers: a corner that was found twice counts once

    @property
    def H(self) -> Optional[Matrix]:
        """The homography, 3 x 3, or None; also a similarity or an affinity, which are homographies."""
        return self.model if self.geometry in ("homography", "similarity", "affine") else None

    @property
    def F(self) -> Optional[Matrix]:
        """The fundamental matrix, 3 x 3, or None."""
        return self.model if self.geometry == "fundamental" else None

    @property
    def E(self) -> Optional[Matrix]:
        """The essential matrix, 3 x 3, or None."""
        return self.model if self.geometry == "essential" else None

    @property
    def found(self) -> bool:
        """Whether a geometry was found."""
        return self.result == "found"


def match_points(keypoints_a: KeypointsLike, keypoints_b: KeypointsLike, matches: MatchesLike) -> Tuple[Matrix, Matrix]:
    """The points of matches, n x 2 in each image."""
    pairs, _ = _match_pairs(keypoints_a, keypoints_b, matches)
    return pairs[:, :2], pairs[:, 2:]


def _match_pairs(keypoints_a: Any, keypoints_b: Any, matches: Any) -> Tuple[Matrix, npt.NDArray[np.float32]]:
    """The points of matches, n x 4, and their distances."""
    a, b, given = keypoint_array(keypoints_a), keypoint_array(keypoints_b), match_array(matches)
    pairs, quality = np.empty((len(given), 4)), np.empty(len(given), np.float32)
    call("match_points", lib.kb_match_points, ctypes.byref(features_view(a)), ctypes.byref(features_view(b)),
         address(given), len(given), address(pairs), address(quality))
    return pairs, quality


def _points(points: npt.ArrayLike, n: int, name: str) -> Matrix:
    array = np.asarray(points, np.float64)
    if array.ndim != 2 or array.shape[1] != n:
        raise KeybitsValueError(f"{name} must be n x {n}, not {array.shape}")
    return array


def _per_match(name: str, given: Optional[Any], n: int) -> Optional[npt.NDArray[np.float32]]:
    numbers = None if given is None else np.ascontiguousarray(given, np.float32)
    if numbers is not None and numbers.shape != (n,):
        raise KeybitsValueError(f"{name} must have one number per match, {n}, not the shape {numbers.shape}")
    return numbers


def _options(geometry: int, threshold: float, confidence: float, max_iterations: int, seed: int, prosac: bool,
             quality: Optional[Any], deviations: Optional[Any], camera1: Optional[Camera], camera2: Optional[Camera],
             n: int, candidates: int = 0) -> Tuple[Any, Tuple[Any, ...]]:
    order, exact = _per_match("quality", quality, n), _per_match("deviations", deviations, n)
    if exact is not None and (np.isinf(exact) | (exact < 0)).any():
        raise KeybitsValueError("deviations must be finite and not negative; 0 and NaN are not known ones")
    if camera2 is not None and camera1 is None:
        raise KeybitsValueError("camera_b needs camera, the camera of a")
    number("threshold", threshold, 0, 10 ** 9)
    number("confidence", confidence, 0, 1 - 2 ** -53)
    first = instance("camera", camera1, Camera)._struct() if camera1 is not None else None
    second = instance("camera2", camera2, Camera)._struct() if camera2 is not None else None
    options = new(_abi.kb_fit_options, geometry=geometry, threshold=threshold, confidence=confidence,
                  max_iterations=whole("max_iterations", max_iterations, 0, 2 ** 31 - 1),
                  seed=whole("seed", seed, 0, 2 ** 64 - 1), plain_ransac=0 if prosac else 1,
                  quality=address(order) if order is not None else None,
                  deviations=address(exact) if exact is not None else None,
                  camera1=ctypes.addressof(first) if first else None,
                  camera2=ctypes.addressof(second) if second else None,
                  candidates=whole("candidates", candidates, 0))
    return options, (order, exact, first, second)


def _result(report: Any, inliers: npt.NDArray[np.uint8]) -> Fit:
    result = text(lib.kb_name(_abi.KB_NAMES_FIT_RESULT, report.result))
    found = report.result == _abi.KB_FIT_FOUND
    calibrated = report.geometry in (0, _abi.KB_GEOMETRY_ESSENTIAL, _abi.KB_GEOMETRY_ROTATION)  # 0: fit_pose
    return Fit(np.array(report.model).reshape(3, 3) if found else None, inliers.view(np.bool_), result,
               float(report.rms), int(report.iterations),
               np.array(report.rotation).reshape(3, 3) if found and calibrated else None,
               np.array(report.translation) if found and calibrated else None,
               text(lib.kb_name(_abi.KB_NAMES_GEOMETRY, report.geometry)) if report.geometry else "", int(report.places))


def fit(points_a: npt.ArrayLike, points_b: npt.ArrayLike, geometry: str = "homography", *, threshold: float = 0,
        quality: Optional[npt.ArrayLike] = None, deviations: Optional[npt.ArrayLike] = None,
        confidence: float = 0, max_iterations: int = 0, seed: int = 0, prosac: bool = True,
        camera: Optional[Camera] = None, camera_b: Optional[Camera] = None) -> Fit:
    """Fits a geometry to n x 2 points of two images.

    geometry: "homography", "fundamental", "similarity", "affine", and with a camera "essential" and "rotation"; "any":
    a homography, or where it has clearly fewer places a fundamental, with a camera an essential matrix.
    threshold in px (0: 3; fundamental and essential 1). quality: one number per pair, lower is better (the match
    distance); PROSAC tries the best first. Without it pairs are taken as given best first. deviations: the standard
    deviation of the error of each pair, in any unit. The threshold holds for the median pair and is 0.8 to 4 times as
    large for others, in proportion to their deviation; 0 and NaN count as the median."""
    if geometry not in GEOMETRIES:
        raise KeybitsValueError(f"no geometry {geometry!r}; there are {', '.join(GEOMETRIES)}")
    a, b = _points(points_a, 2, "points_a"), _points(points_b, 2, "points_b")
    if len(a) != len(b):
        raise KeybitsValueError(f"{len(a)} points of a and {len(b)} of b")
    return _fit_pairs(np.concatenate([a, b], axis=1), geometry, threshold, quality, deviations, confidence,
                      max_iterations, seed, prosac, camera, camera_b)


def _fit_pairs(pairs: Matrix, geometry: str, threshold: float = 0, quality: Any = None, deviations: Any = None,
               confidence: float = 0, max_iterations: int = 0, seed: int = 0, prosac: bool = True,
               camera: Optional[Camera] = None, camera_b: Optional[Camera] = None, *, candidates: int = 0) -> Fit:
    if geometry in ("essential", "rotation") and camera is None:
        raise KeybitsValueError(f"{geometry} needs a camera")
    options, alive = _options(GEOMETRIES[geometry], threshold, confidence, max_iterations, seed, prosac, quality,
                              deviations, camera, camera_b, len(pairs), candidates)
    report = new(_abi.kb_fit_report)
    inliers = np.zeros(len(pairs), np.uint8)
    call(f"fit {geometry}", lib.kb_fit, address(pairs), len(pairs), ctypes.byref(options), workspace(), address(inliers),
         ctypes.byref(report))
    del alive
    return _result(report, inliers)


def find_homography(keypoints_a: KeypointsLike, keypoints_b: KeypointsLike, matches: MatchesLike,
                    threshold: float = 0, *, quality: Optional[npt.ArrayLike] = None,
                    deviations: Optional[npt.ArrayLike] = None, confidence: float = 0, max_iterations: int = 0,
                    seed: int = 0, prosac: bool = True, candidates: int = 0) -> Fit:
    """The homography from image a to image b: `H` (3 x 3 or None) and `inliers` (a bool per match). Keypoints may be
    Features; quality is the distance of the matches unless it is given; deviations as for fit. candidates: the number
    of matches before filter_matches, which the test against chance counts."""
    return _fit_matches(keypoints_a, keypoints_b, matches, "homography", threshold, quality, deviations, confidence,
                        max_iterations, seed, prosac, candidates=candidates)


def find_fundamental(keypoints_a: KeypointsLike, keypoints_b: KeypointsLike, matches: MatchesLike,
                     threshold: float = 0, *, quality: Optional[npt.ArrayLike] = None,
                     deviations: Optional[npt.ArrayLike] = None, confidence: float = 0, max_iterations: int = 0,
                     seed: int = 0, prosac: bool = True, candidates: int = 0) -> Fit:
    """The fundamental matrix between two images: `F` (3 x 3 or None) and `inliers`; otherwise as find_homography."""
    return _fit_matches(keypoints_a, keypoints_b, matches, "fundamental", threshold, quality, deviations, confidence,
                        max_iterations, seed, prosac, candidates=candidates)


def find_essential(keypoints_a: KeypointsLike, keypoints_b: KeypointsLike, matches: MatchesLike, camera: Camera,
                   threshold: float = 0, *, camera_b: Optional[Camera] = None,
                   quality: Optional[npt.ArrayLike] = None, deviations: Optional[npt.ArrayLike] = None,
                   confidence: float = 0, max_iterations: int = 0, seed: int = 0, prosac: bool = True, candidates: int = 0) -> Fit:
    """The essential matrix and the relative pose: `E`, `rotation`, `translation` (unit length) and `inliers`; otherwise
    as find_homography."""
    return _fit_matches(keypoints_a, keypoints_b, matches, "essential", threshold, quality, deviations, confidence,
                        max_iterations, seed, prosac, camera, camera_b, candidates=candidates)


def _fit_matches(keypoints_a: Any, keypoints_b: Any, matches: Any, geometry: str, threshold: float, quality: Any,
                 *options: Any, candidates: int) -> Fit:
    pairs, distances = _match_pairs(keypoints_a, keypoints_b, matches)
    return _fit_pairs(pairs, geometry, threshold, distances if quality is None else quality, *options,
                      candidates=candidates)


def fit_pose(scene_points: npt.ArrayLike, image_points: npt.ArrayLike, camera: Camera, *, threshold: float = 0,
             quality: Optional[npt.ArrayLike] = None, deviations: Optional[npt.ArrayLike] = None,
             confidence: float = 0, max_iterations: int = 0, seed: int = 0, prosac: bool = True) -> Fit:
    """The absolute pose of a camera from n x 3 scene points and n x 2 pixels: `rotation` and `translation`, so that a
    scene point P is seen along rotation @ P + translation; quality and deviations as for fit, of each pixel."""
    scene, image = _points(scene_points, 3, "scene_points"), _points(image_points, 2, "image_points")
    if len(scene) != len(image):
        raise KeybitsValueError(f"{len(scene)} scene points and {len(image)} image points")
    points = np.ascontiguousarray(np.concatenate([scene, image], axis=1))
    options, alive = _options(0, threshold, confidence, max_iterations, seed, prosac, quality, deviations, camera, None,
                              len(scene))
    report = new(_abi.kb_fit_report)
    inliers = np.zeros(len(points), np.uint8)
    call("fit_pose", lib.kb_fit_pose, address(points), len(points), ctypes.byref(options), workspace(),
         address(inliers), ctypes.byref(report))
    del alive
    return _result(report, inliers)._replace(model=None)


def square_matrix(h: npt.ArrayLike) -> Matrix:
    matrix: Matrix = np.ascontiguousarray(h, np.float64)
    if matrix.shape != (3, 3):
        raise KeybitsValueError(f"h must be 3 x 3, not {matrix.shape}")
    return matrix


def pose_from_homography(h: npt.ArrayLike, camera: Camera) -> Tuple[Matrix, Matrix]:
    """The pose of a plane: h takes plane coordinates (x, y), in any unit, to undistorted pixels of the camera. Returns
    rotation (3 x 3) and translation, so that the camera sees (x, y, 0) along rotation @ (x, y, 0) + translation, in
    front of it and in the unit of the plane."""
    matrix = square_matrix(h)
    view, rotation, translation = instance("camera", camera, Camera)._struct(), np.empty((3, 3)), np.empty(3)
    check(lib.kb_pose_from_homography(address(matrix), ctypes.byref(view), address(rotation), address(translation)),
          None, "pose_from_homography: h is not the image of a plane, or the camera is none")
    return rotation, translation


def project_homography(h: npt.ArrayLike, points: npt.ArrayLike) -> Matrix:
    """n x 2 points under a homography; NaN where a point goes to infinity."""
    matrix, places = square_matrix(h), _points(points, 2, "points")
    moved = np.concatenate([places, np.ones((len(places), 1))], axis=1) @ matrix.T
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Matrix = moved[:, :2] / moved[:, 2:]
    return np.where(np.isfinite(result), result, np.nan)
