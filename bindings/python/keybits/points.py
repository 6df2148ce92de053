# SPDX-License-Identifier: Apache-2.0
"""Points from frame to frame, for odometry: track_points in place of cv2.calcOpticalFlowPyrLK, PointTracker on top."""
import ctypes
from typing import Optional, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _abi
from ._arrays import ImageLike, Keypoints, address, features_view, image_view, keypoint_dtype
from ._checked import KeybitsValueError
from ._guarded import Guarded, Owner
from ._library import call, check, lib, new, parallel, workspace
from .features import DEFAULT_DETECTOR, Detector

#: A point of PointTracker: its id, where it is, where it was in the frame before, the correlation of the two windows, and
#: the number of frames that it was followed through.
track_dtype = np.dtype([("id", np.uint64), ("x", np.float32), ("y", np.float32), ("last_x", np.float32),
                        ("last_y", np.float32), ("correlation", np.float32), ("age", np.int32)])

Points = npt.NDArray[np.float32]
Tracks = npt.NDArray[np.void]


def _points(points: npt.ArrayLike, name: str) -> Points:
    array = np.ascontiguousarray(points, np.float32)
    if array.ndim == 3 and array.shape[1:] == (1, 2):  # as cv2.goodFeaturesToTrack gives them
        array = array[:, 0]
    if array.ndim != 2 or array.shape[1] != 2:
        raise KeybitsValueError(f"{name} are n x 2 places, not {array.shape}")
    return np.ascontiguousarray(array)


def _keypoints(points: Points) -> Keypoints:
    keypoints = np.zeros(len(points), keypoint_dtype)
    keypoints["x"], keypoints["y"] = points[:, 0], points[:, 1]
    return keypoints


def track_points(image_a: ImageLike, image_b: ImageLike, points: npt.ArrayLike, *,
                 guesses: Optional[npt.ArrayLike] = None, levels: int = 0, iterations: int = 0,
                 min_correlation: float = 0, max_error: float = 0) -> Tuple[Points, npt.NDArray[np.float32]]:
    """Follows points (n x 2) from one image to the next by pyramidal alignment, forward and back: their places (n x 2)
    and the correlation of the windows around them; 0 for points that are lost, which stay where they were.

    guesses: where the points are expected. Zeros are the defaults of kb_track_options: 4 levels, 10 iterations, a
    correlation of 0.7, and an error of 0.5 px on the way back."""
    (a, alive_a), (b, alive_b) = image_view(image_a), image_view(image_b)
    start = _points(points, "points")
    expected = start if guesses is None else _points(guesses, "guesses")
    if expected.shape != start.shape:
        raise KeybitsValueError(f"{len(start)} points and {len(expected)} guesses")
    places, to = _keypoints(start), _keypoints(expected)
    correlations = np.zeros(len(start), np.float32)
    options = new(_abi.kb_track_options, levels=levels, iterations=iterations, min_correlation=min_correlation,
                  max_error=max_error, predicted=int(guesses is not None), parallel=parallel())
    call("track_points", lib.kb_track_points, ctypes.byref(a), ctypes.byref(b), ctypes.byref(features_view(places)),
         ctypes.byref(options), workspace(), ctypes.byref(features_view(to)), address(correlations))
    del alive_a, alive_b
    return np.stack([to["x"], to["y"]], axis=1), correlations


class PointTracker(Owner):
    """Follows points over the frames of a camera, and adds new ones where there are none.

        tracker = keybits.PointTracker(300)
        for frame in frames:
            tracks = tracker.add(frame)          # an array of keybits.track_dtype

    detector: of new points, a name or a Detector, whose max_keypoints does not count. mask_margin: the distance of new
    points from what the mask hides. The others are those of track_points. Calls from several threads wait for each
    other."""

    def __init__(self, max_points: int = 300, *, detector: Union[str, Detector] = DEFAULT_DETECTOR, mask_margin: int = 0,
                 levels: int = 0, iterations: int = 0, min_correlation: float = 0, max_error: float = 0) -> None:
        found = detector if isinstance(detector, Detector) else Detector(detector)
        options = new(_abi.kb_track_options, levels=levels, iterations=iterations, min_correlation=min_correlation,
                      max_error=max_error, max_points=max_points, mask_margin=mask_margin,
                      detect=ctypes.addressof(found._options))
        self._guarded = Guarded(lib.kb_tracker_free)
        error = _abi.kb_error()
        status = lib.kb_tracker_create(ctypes.byref(options), None, ctypes.byref(self._guarded.handle), ctypes.byref(error))
        check(status, error if error.text else None, "PointTracker")
        self.max_points = max_points or 300

    def add(self, frame: ImageLike, mask: Optional[ImageLike] = None) -> Tracks:
        """The points of the next frame: the last points that were found again, in their order, then new points. mask:
        uint8 or bool, hides where it is 0."""
        view, alive = image_view(frame)
        if isinstance(mask, np.ndarray) and mask.dtype == np.bool_:
            mask = mask.view(np.uint8)
        hidden, alive_mask = image_view(mask) if mask is not None else (None, None)
        tracks = np.empty(self.max_points, track_dtype)
        count = ctypes.c_size_t()
        with self._guarded.writing() as handle:
            check(lib.kb_tracker_add(handle, ctypes.byref(view), ctypes.byref(hidden) if hidden else None,
                                     workspace(), address(tracks), len(tracks), ctypes.byref(count)), None,
                  "PointTracker.add")
        del alive, alive_mask
        return tracks[:count.value]

    def reset(self) -> None:
        """Forgets all points; ids go on."""
        tracks, count = np.empty(self.max_points, track_dtype), ctypes.c_size_t()
        with self._guarded.writing() as handle:
            check(lib.kb_tracker_add(handle, None, None, None, address(tracks), len(tracks), ctypes.byref(count)))
