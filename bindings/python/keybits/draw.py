# SPDX-License-Identifier: Apache-2.0
"""Pictures of keypoints and matches as RGB arrays, with numpy alone."""
from typing import Any, Optional, Tuple, Union

import numpy as np
import numpy.typing as npt

from ._arrays import ImageLike, KeypointsLike, MatchesLike, keypoint_array, to_gray
from ._checked import KeybitsValueError
from .geometry import Fit, Matrix, project_homography
from .matching import match_array

Canvas = npt.NDArray[np.uint8]
Colour = Tuple[int, int, int]

# The program's, cli/images/match_draw.c.
_OUTLIER = (225, 80, 80)
_MARK = (70, 235, 110)
_OUTLINE = (255, 210, 40)
_NIGHT = (18, 20, 24)
_GAP = 6  # px between two images


def canvas(image: ImageLike) -> Canvas:
    """A copy of an image (gray or RGB, uint8 or uint16) as RGB of uint8, to draw on."""
    array = np.asarray(image)
    if array.dtype not in (np.uint8, np.uint16) or array.ndim not in (2, 3) or \
            (array.ndim == 3 and array.shape[2] not in (1, 3, 4)):
        raise KeybitsValueError(f"an image is uint8 or uint16, gray or RGB, not {array.dtype} of {array.shape}")
    if array.dtype == np.uint16:
        array = (array // 257).astype(np.uint8)
    if array.ndim == 3 and array.shape[2] >= 3:
        return np.array(array[:, :, :3])
    return np.repeat(to_gray(array)[:, :, np.newaxis].astype(np.uint8), 3, axis=2)


def _blend(target: Canvas, x: Any, y: Any, weight: Any, colour: Any) -> None:
    """Mixes colours into pixels by weight, 0 to 1; those outside are left out."""
    inside = (x >= 0) & (y >= 0) & (x < target.shape[1]) & (y < target.shape[0]) & (weight > 0)
    x, y, weight, colour = x[inside], y[inside], weight[inside][:, np.newaxis], colour[inside]
    target[y, x] = (target[y, x] * (1 - weight) + colour * weight + 0.5).astype(np.uint8)


def draw_lines(target: Canvas, start: npt.ArrayLike, end: npt.ArrayLike, colours: npt.ArrayLike,
               width: float = 1, opacity: float = 1) -> None:
    """Draws n anti-aliased lines between n x 2 points into an RGB canvas; colours is n x 3."""
    a, b = np.asarray(start, np.float64).reshape(-1, 2), np.asarray(end, np.float64).reshape(-1, 2)
    colour = np.broadcast_to(np.asarray(colours, np.float64), (len(a), 3))
    good = np.isfinite(a).all(axis=1) & np.isfinite(b).all(axis=1)
    a, b, colour = a[good], b[good], colour[good]
    limit = 4.0 * (target.shape[0] + target.shape[1])  # what leaves the canvas this far is cut off
    a, b = np.clip(a, -limit, limit), np.clip(b, -limit, limit)
    # One step per pixel of the longer axis; across it, the pixels that the width covers, the outer ones in part.
    steps = np.ceil(np.abs(b - a).max(axis=1)).astype(int) + 1
    line = np.repeat(np.arange(len(a)), steps)
    position = np.arange(len(line)) - np.repeat(np.cumsum(steps) - steps, steps)
    share = position / np.maximum(steps - 1, 1)[line]
    place = a[line] + (b - a)[line] * share[:, np.newaxis]
    steep = (np.abs(b - a)[:, 1] > np.abs(b - a)[:, 0])[line]
    along = np.where(steep, place[:, 1], place[:, 0])
    across = np.where(steep, place[:, 0], place[:, 1])
    column = np.rint(along).astype(int)
    first = np.floor(across - width / 2).astype(int)
    for offset in range(int(np.ceil(width)) + 2):
        row = first + offset
        weight = opacity * np.clip(width / 2 + 0.5 - np.abs(row - across), 0, 1)
        _blend(target, np.where(steep, row, column), np.where(steep, column, row), weight, colour[line])


def draw_circles(target: Canvas, centres: npt.ArrayLike, radii: npt.ArrayLike, colours: npt.ArrayLike,
                 width: float = 1) -> None:
    """Draws n anti-aliased circles into an RGB canvas."""
    centre = np.asarray(centres, np.float64).reshape(-1, 2)
    radius = np.broadcast_to(np.asarray(radii, np.float64), len(centre))
    colour = np.broadcast_to(np.asarray(colours, np.float64), (len(centre), 3))
    good = np.isfinite(centre).all(axis=1) & (radius > 0) & (radius < 4 * max(target.shape))
    centre, radius, colour = centre[good], radius[good], colour[good]
    count = np.maximum(12, np.ceil(radius * 1.5)).astype(int)
    circle = np.repeat(np.arange(len(centre)), count)
    corner = np.arange(len(circle)) - np.repeat(np.cumsum(count) - count, count)

    def point(number: Any) -> Any:
        angle = 2 * np.pi * number / count[circle]
        return centre[circle] + radius[circle, np.newaxis] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    draw_lines(target, point(corner), point(corner + 1), colour[circle], width)


def draw_keypoints(image: ImageLike, keypoints: KeypointsLike, colour: Colour = _MARK) -> Canvas:
    """The image in RGB with a circle of its size and a line along its angle for every keypoint."""
    result, points = canvas(image), keypoint_array(keypoints)
    centre = np.stack([points["x"], points["y"]], axis=1).astype(np.float64)
    radius = points["size"].astype(np.float64) / 2
    draw_circles(result, centre, radius, colour)
    turned = points["angle"] >= 0
    angle = np.deg2rad(points["angle"][turned].astype(np.float64))
    tip = centre[turned] + radius[turned, np.newaxis] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    draw_lines(result, centre[turned], tip, colour)
    return result


def draw_outline(image: ImageLike, corners: Optional[Matrix], colour: Colour = (255, 64, 64)) -> Canvas:
    """The image in RGB with a closed polygon, such as Track.corners; None draws nothing."""
    result = canvas(image)
    if corners is not None:
        draw_lines(result, corners, np.roll(np.asarray(corners), -1, axis=0), colour, 3)
    return result


def _dimmed(image: ImageLike) -> Canvas:
    """A little darker, so that lines stand out."""
    return (canvas(image).astype(np.uint16) * 3 // 4).astype(np.uint8)


def _evenly(chosen: npt.NDArray[np.bool_], count: int) -> npt.NDArray[np.intp]:
    """Up to `count` of the places that are true, evenly."""
    places = np.flatnonzero(chosen)
    if len(places) <= count:
        return places
    some: npt.NDArray[np.intp] = places[np.arange(count) * len(places) // max(count, 1)]
    return some


def _draw_border(target: Canvas, h: Matrix, size: Tuple[int, int], left: int, top: int) -> None:
    """Where the border of an image lies under a homography, in the part of the canvas from (left, top) on; in pieces,
    since a part of it may be behind the camera. Dark around bright, so that it is seen on any picture."""
    right, bottom = size[0] - 1.0, size[1] - 1.0
    corners = np.array([[0, 0], [right, 0], [right, bottom], [0, bottom], [0, 0]])
    share = np.arange(41)[:, np.newaxis] / 40
    for colour, width in (((0, 0, 0), 5), (_OUTLINE, 2.5)):
        for start, end in zip(corners[:-1], corners[1:]):
            seen = project_homography(h, start + share * (end - start)) + [left, top]
            a, b = seen[:-1], seen[1:]
            whole = (a[:, 0] >= left) & (b[:, 0] >= left) & (np.abs(b - a).sum(axis=1) < 1e4)
            draw_lines(target, a[whole], b[whole], colour, width)


def draw_matches(image_a: ImageLike, keypoints_a: KeypointsLike, image_b: ImageLike, keypoints_b: KeypointsLike,
                 matches: MatchesLike, inliers: Union[Fit, npt.ArrayLike, None] = None, *,
                 max_lines: int = 0) -> Canvas:
    """Two images side by side with their matches, as an RGB array, in the manner of `keybits match --draw`: the images
    keep their colours, a little darker, and some matches have a thin line with a dot at either end.

    inliers: the Fit of the matches, or a bool per match. Inliers are green and lie above the others, which are dimmed
    red; where the Fit is a homography (or similarity, affine), the border of a is drawn in b. max_lines: the number of
    inliers that are drawn, and a quarter as many others, evenly chosen; 0 is what is readable, up to 80."""
    a, b, given = keypoint_array(keypoints_a), keypoint_array(keypoints_b), match_array(matches)
    fitted = inliers if isinstance(inliers, Fit) else None
    chosen = fitted.inliers if fitted is not None else inliers
    good = np.ones(len(given), bool) if chosen is None else np.asarray(chosen, bool)
    if good.shape != (len(given),):
        raise KeybitsValueError(f"inliers must have one value per match, {len(given)}, not the shape {good.shape}")
    for name, points, index in (("a", a, given["a"]), ("b", b, given["b"])):
        if len(index) and (index.min() < 0 or index.max() >= len(points)):
            raise KeybitsValueError(f"a match names keypoint {int(index.max())} of {name}, which has {len(points)}")
    left, right = _dimmed(image_a), _dimmed(image_b)
    height = max(left.shape[0], right.shape[0])
    result = np.full((height, left.shape[1] + _GAP + right.shape[1], 3), _NIGHT, np.uint8)
    begin, top_a, top_b = left.shape[1] + _GAP, (height - left.shape[0]) // 2, (height - right.shape[0]) // 2
    result[top_a:top_a + left.shape[0], :left.shape[1]] = left
    result[top_b:top_b + right.shape[0], begin:] = right
    start = np.stack([a["x"][given["a"]], a["y"][given["a"]] + top_a], axis=1).astype(np.float64)
    end = np.stack([b["x"][given["b"]] + begin, b["y"][given["b"]] + top_b], axis=1).astype(np.float64)
    lines = max_lines or min(80, height // 8)
    for group, count, opacity, colour in ((~good, lines // 4, 0.4, _OUTLIER), (good, lines, 0.57, _MARK)):
        some = _evenly(group, count)
        draw_lines(result, start[some], end[some], colour, 1, opacity)
        for points in (start[some], end[some]):
            draw_circles(result, points, 1.2, colour, 2)
    if fitted is not None and fitted.model is not None and fitted.geometry in ("homography", "similarity", "affine"):
        _draw_border(result, fitted.model, (left.shape[1], left.shape[0]), begin, top_b)
    return result
