# SPDX-License-Identifier: Apache-2.0
"""Finding a flat template in images, as `keybits track` does."""
from typing import Iterable, Iterator, NamedTuple, Optional, Tuple, Union, cast

import numpy as np
import numpy.typing as npt

from ._arrays import ImageLike, to_gray
from ._checked import KeybitsValueError
from .features import DEFAULT_DETECTOR, Detector, detect_and_compute, detector_of
from .geometry import Fit, Matrix, find_homography, project_homography, square_matrix
from .matching import filter_matches, match
from .models import Model
from .pairs import match_images

_SMALLEST, _LARGEST = 8.0, 1e5  # px, of a side of the template in a frame


class Track(NamedTuple):
    """Where the template is in a frame; `corners`, `H` are None when it is lost."""
    found: bool
    corners: Optional[Matrix]  # 4 x 2: top left, top right, bottom right, bottom left of the template in the frame
    H: Optional[Matrix]        # from the template to the frame
    inliers: int
    matches: int


def plausible_corners(h: npt.ArrayLike, size: Tuple[int, int]) -> Optional[Matrix]:
    """The corners of a template of (width, height) under a homography, or None when a camera cannot see it so: a
    corner behind the camera, not convex, turned over, or with sides below 8 px or above 1e5."""
    width, height = (side - 1.0 for side in size)
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]])
    matrix = square_matrix(h)
    if not (corners @ matrix[2, :2] + matrix[2, 2] > 0).all():
        return None
    seen = project_homography(matrix, corners)
    sides = np.roll(seen, -1, axis=0) - seen
    following = np.roll(sides, -1, axis=0)
    turns = sides[:, 0] * following[:, 1] - sides[:, 1] * following[:, 0]
    lengths = np.hypot(sides[:, 0], sides[:, 1])
    good = (turns > 0).all() and (lengths >= _SMALLEST).all() and (lengths <= _LARGEST).all()
    return seen if good else None


class Tracker:
    """Finds one flat template in frames. Every frame is processed independently: the template may be lost and found
    again. Threads may share a tracker."""

    def __init__(self, template: ImageLike, *, detector: Union[str, Detector] = DEFAULT_DETECTOR,
                 model: Union[Model, str, None] = None, max_keypoints: Optional[int] = None, max_ratio: float = 0,
                 threshold: float = 0, min_places: int = 10) -> None:
        if min_places < 4:
            raise KeybitsValueError(f"min_places is {min_places}, but a homography needs 4")
        self._detector = detector_of(detector, max_keypoints)
        self._image = to_gray(template).copy()
        self.template = detect_and_compute(template, self._detector, model)
        if len(self.template) < 4:
            raise KeybitsValueError(f"{len(self.template)} keypoints in the template; at least 4 are needed: it is too "
                                    "small or too plain")
        self._max_ratio, self._threshold, self._min_places = max_ratio, threshold, min_places

    def find(self, frame: ImageLike) -> Track:
        """Where the template is in a frame: by its features, which are computed once; where these do not find it, by
        match_images, which looks at it upright and turned as well."""
        seen = detect_and_compute(frame, self._detector, self.template.model)
        all_matches = match(self.template, seen, max_ratio=self._max_ratio)
        matches = filter_matches(self.template, seen, all_matches)
        fitted = find_homography(self.template, seen, matches, self._threshold, candidates=len(all_matches))
        found = self._track(fitted, len(matches))
        if found.found:
            return found
        pair = match_images(self._image, frame, threshold=self._threshold, model=self.template.model,
                            detector=self._detector, max_ratio=self._max_ratio)
        return self._track(cast(Fit, pair.fit), len(pair.matches))

    def _track(self, fitted: Fit, matches: int) -> Track:
        inliers = int(fitted.inliers.sum())
        corners = None
        if fitted.H is not None and fitted.places >= self._min_places:
            corners = plausible_corners(fitted.H, self.template.size)
        return Track(corners is not None, corners, fitted.H if corners is not None else None, inliers, matches)


def track(template: ImageLike, frames: Iterable[ImageLike], *, detector: Union[str, Detector] = DEFAULT_DETECTOR,
          model: Union[Model, str, None] = None, max_keypoints: Optional[int] = None, max_ratio: float = 0,
          threshold: float = 0, min_places: int = 10) -> Iterator[Track]:
    """Where the template is in each of the frames; options as of Tracker."""
    tracker = Tracker(template, detector=detector, model=model, max_keypoints=max_keypoints, max_ratio=max_ratio,
                      threshold=threshold, min_places=min_places)
    return (tracker.find(frame) for frame in frames)
