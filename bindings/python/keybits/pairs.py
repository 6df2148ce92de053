# SPDX-License-Identifier: Apache-2.0
"""What two images have in common, from pixels to geometry in one call."""
import ctypes
from dataclasses import dataclass
from typing import Optional, Sequence, Union

import numpy as np

from . import _abi
from ._arrays import ImageLike, Keypoints, Matches, address, features_view, image_view, keypoint_dtype, match_dtype
from ._checked import KeybitsValueError
from ._library import call, lib, new, number, parallel, text, workspace
from .features import DEFAULT_DETECTOR, Detector, detector_of
from .geometry import GEOMETRIES, Camera, Fit, _options, _result
from .models import Model, model_of

_LOOKS = {"upright": _abi.KB_LOOK_UPRIGHT, "oriented": _abi.KB_LOOK_ORIENTED, "rotated": _abi.KB_LOOK_ROTATED,
          "warped": _abi.KB_LOOK_WARPED, "guided": _abi.KB_LOOK_GUIDED}


@dataclass(frozen=True)
class Pair:
    """The result of match_images. Matches are row numbers of the keypoints, `fit.inliers` has a bool per match."""
    keypoints_a: Keypoints
    keypoints_b: Keypoints
    matches: Matches
    fit: Optional[Fit]   # None when no geometry was asked for
    places: int          # different inliers: what decisions should rest on
    candidates: int      # matches before the filter
    look: str            # which gave the result: "upright", "oriented", "rotated", "warped" or "guided"
    rotation: float      # of b against a, degrees clockwise, when the look is "rotated" or follows it; else 0
    looks: int           # how many were tried

    @property
    def found(self) -> bool:
        """Whether a geometry was found."""
        return self.fit is not None and self.fit.found


def match_images(a: ImageLike, b: ImageLike, geometry: Optional[str] = "any", *, threshold: float = 0,
                 camera: Optional[Camera] = None, camera_b: Optional[Camera] = None, seed: int = 0,
                 model: Union[Model, str, None] = None, detector: Union[str, Detector] = DEFAULT_DETECTOR,
                 max_keypoints: Optional[int] = None, looks: Sequence[str] = tuple(_LOOKS)[:4], filter: bool = True,
                 max_ratio: float = 0, max_distance: float = 0, white: int = 0) -> Pair:
    """Matches two images and finds the geometry between them.

    Keypoints are detected once. They are described upright, with an angle each where that finds no geometry or one that
    fewer than half of the matches agree with, and with the rotation of the whole pair that one of these shows. When a
    homography is found, b is warped into a, detected and matched again near by; with "guided" among the looks, matches
    of an epipolar geometry are sought again along its lines. The look whose geometry has the most places is taken; looks
    names those that may be tried.

    geometry and the options after it are those of fit; "any": a homography, or where the scene has depth a fundamental
    matrix, with a camera an essential one (pair.fit.geometry); None: matches alone, of the look with the most. The detector's
    orientation is the rule for angles; with "none" there are only upright looks. filter: kb_filter before fitting.

    >>> pair = keybits.match_images(gray, other)
    >>> pair.found, pair.places, pair.fit.geometry, pair.fit.model
    """
    if geometry is not None and geometry not in GEOMETRIES:
        raise KeybitsValueError(f"no geometry {geometry!r}; there are {', '.join(GEOMETRIES)}")
    if geometry in ("essential", "rotation") and camera is None:
        raise KeybitsValueError(f"{geometry} needs a camera")
    if not {"upright", "oriented"}.intersection(looks) or not set(looks) <= set(_LOOKS):
        raise KeybitsValueError(f"looks are {', '.join(_LOOKS)}, with upright or oriented among them, not {looks!r}")
    number("max_ratio", max_ratio, 0, 1)
    number("max_distance", max_distance, 0)
    first, alive_a = image_view(a, white)
    second, alive_b = image_view(b, white)
    found, used = detector_of(detector, max_keypoints), model_of(model)
    detect, _ = found._call_options(None, first)
    matching = new(_abi.kb_match_options, max_ratio=max_ratio, max_distance=max_distance)
    fitting, alive = _options(GEOMETRIES[geometry] if geometry else 0, threshold, 0, 0, seed, True, None, None, camera,
                              camera_b, 0)
    options = new(_abi.kb_pair_options, looks=sum(_LOOKS[look] for look in set(looks)),
                  detect=ctypes.addressof(detect), match=ctypes.addressof(matching), no_filter=int(not filter),
                  fit=ctypes.addressof(fitting) if geometry else None, parallel=parallel())
    n = found.max_keypoints
    keypoints = np.empty((2, n), keypoint_dtype)
    matches, inliers, report = np.empty(n, match_dtype), np.empty(n, np.uint8), new(_abi.kb_fit_report)
    sides = [features_view(keypoints[i]) for i in range(2)]
    pair = new(_abi.kb_pair, a=ctypes.addressof(sides[0]), b=ctypes.addressof(sides[1]), matches=address(matches),
               inliers=address(inliers), fit=ctypes.addressof(report))
    call("match_images", lib.kb_match_images, used._handle, ctypes.byref(first), ctypes.byref(second),
         ctypes.byref(options), workspace(), ctypes.byref(pair))
    del alive, alive_a, alive_b
    result = _result(report, inliers[:pair.count].copy()) if geometry else None
    return Pair(keypoints[0, :sides[0].n].copy(), keypoints[1, :sides[1].n].copy(), matches[:pair.count].copy(), result,
                int(report.places), int(pair.candidates), text(lib.kb_name(_abi.KB_NAMES_LOOK, pair.look)), float(pair.rotation),
                int(pair.looks))
