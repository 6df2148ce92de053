# SPDX-License-Identifier: Apache-2.0
"""From an image to keypoints and descriptors."""
import ctypes
import json
import warnings
import zipfile
from dataclasses import dataclass
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _abi
from ._arrays import (ImageLike, Keypoints, KeypointsLike, Rows, RowsLike, address, features_view, image_view,
                      keypoint_array, keypoint_dtype, output, to_gray)
from ._checked import KeybitsFileError, KeybitsValueError
from ._files import PathLike, write_file
from ._library import call, check, lib, new, parallel, text, whole, workspace
from .models import SAMPLERS, Model, model_of, presets, scale_of
from .patches import OCTAVES, check_pixels


def _numbers(names_of: int, first: int) -> Dict[str, int]:
    """Names of one of the library's tables and their numbers, from the first one on."""
    names: Dict[str, int] = {}
    while (name := lib.kb_name(names_of, first + len(names))) is not None:
        names[text(name)] = first + len(names)
    return names


_DETECTORS = _numbers(_abi.KB_NAMES_DETECTOR, 1)
#: The detector where none is named.
DEFAULT_DETECTOR = text(lib.kb_name(_abi.KB_NAMES_DETECTOR, lib.kb_detector_get_info(0).detector))
_ORIENTATIONS = _numbers(_abi.KB_NAMES_ORIENTATION, 0)
#: Flags of describe, combined: the region leaves the image, is narrower than 8 px, its centre is outside, or a number
#: is not finite or the size not positive.
KP_BORDER, KP_SMALL, KP_OUTSIDE, KP_INVALID = (_abi.KB_KP_BORDER, _abi.KB_KP_SMALL, _abi.KB_KP_OUTSIDE,
                                               _abi.KB_KP_INVALID)
_SELECTIONS = _numbers(_abi.KB_NAMES_SELECTION, 0)


def _known(name: str, names: Dict[str, int], what: str) -> None:
    if name not in names:
        raise KeybitsValueError(f"no {what} {name!r}; there are {', '.join(names)}")


def has_option(detector: str, option: str) -> bool:
    """Whether a detector has an option of kb_detect_options that not every detector has."""
    names = ctypes.cast(lib.kb_detector_get_info(_DETECTORS[detector]).options, ctypes.POINTER(ctypes.c_char_p))
    known: List[bytes] = []
    while names[len(known)]:
        known.append(names[len(known)])
    return option.encode() in known


class Detector:
    """A detector and its options.

    name: "hessian" (peaks of the determinant of the Hessian on a pyramid), "orb" (FAST corners on the same pyramid) or
    "sift" (differences of Gaussians). selection: "default", "best",
    "grid" or "quadtree". orientation: "gradient" (the default), "centroid" (OpenCV's ORB) or "none" (upright);
    second_angle gives keypoints with two clear angles twice; whole_pixels keeps positions on pixels, as OpenCV's ORB.
    mask_margin is the distance in px between keypoints and what a mask hides.
    Everything else as in kb_detect_options; None means the default. An option of another detector is refused."""

    def __init__(self, name: str = DEFAULT_DETECTOR, max_keypoints: int = 2000, selection: str = "default", *,
                 levels: Optional[int] = None, level_factor: Optional[float] = None,
                 fast_threshold: Optional[int] = None, fast_threshold_min: Optional[int] = None,
                 cell_size: Optional[int] = None, orientation: str = "default", second_angle: bool = False,
                 whole_pixels: bool = False, every_level: bool = False, low_memory: bool = False, layers: Optional[int] = None,
                 contrast_threshold: Optional[float] = None, edge_threshold: Optional[float] = None,
                 sigma: Optional[float] = None, upsampling: bool = True,
                 hessian_threshold: Optional[float] = None, mask_margin: int = 0) -> None:
        self._arguments = {key: value for key, value in locals().items() if key != "self"}
        _known(name, _DETECTORS, "detector")
        _known(selection, _SELECTIONS, "selection")
        _known(orientation, _ORIENTATIONS, "orientation")
        self.name = name
        self.max_keypoints = whole("max_keypoints", max_keypoints, 1, 1000000)
        #: The factor from keypoint size to described width that belongs to this detector.
        self.scale = float(lib.kb_model_scale(None, name.encode()))
        #: The revision of the detector's arithmetic: another one finds other keypoints.
        self.revision = int(lib.kb_detector_get_info(_DETECTORS[name]).revision)
        self._options = new(_abi.kb_detect_options, detector=_DETECTORS[name], max_keypoints=self.max_keypoints,
                            selection=_SELECTIONS[selection], orientation=_ORIENTATIONS[orientation],
                            second_angle=int(second_angle), whole_pixels=int(whole_pixels),
                            every_level=int(every_level), low_memory=int(low_memory), levels=levels,
                            level_factor=level_factor, fast_threshold=fast_threshold,
                            fast_threshold_min=fast_threshold_min, cell_size=cell_size, layers=layers,
                            contrast_threshold=contrast_threshold, edge_threshold=edge_threshold, sigma=sigma,
                            no_upsampling=0 if upsampling else 1, hessian_threshold=hessian_threshold,
                            mask_margin=mask_margin)
        error = _abi.kb_error()
        check(lib.kb_detect(None, ctypes.byref(self._options), None, None, ctypes.byref(error)), error)

    def __repr__(self) -> str:
        return f"<keybits.Detector {self.name}: up to {self.max_keypoints} keypoints>"

    def __getstate__(self) -> Dict[str, Any]:
        return self._arguments

    def __setstate__(self, arguments: Dict[str, Any]) -> None:
        Detector.__init__(self, **arguments)  # values only, checked as those of a caller

    def _call_options(self, mask: Optional[ImageLike], image: Any) -> Tuple[Any, Any]:
        """The options of one call on a kb_image, and what must stay alive."""
        options = _abi.kb_detect_options.from_buffer_copy(self._options)
        options.parallel = parallel()
        if mask is None:
            return options, None
        if isinstance(mask, np.ndarray) and mask.dtype == np.bool_:
            mask = mask.view(np.uint8)
        view, alive = image_view(mask)
        if (view.width, view.height) != (image.width, image.height):
            raise KeybitsValueError(f"the mask is {view.width} x {view.height}, "
                                    f"the image {image.width} x {image.height}")
        options.mask = ctypes.addressof(view)
        return options, (view, alive)

    def detect(self, image: ImageLike, mask: Optional[ImageLike] = None, *, white: int = 0) -> Keypoints:
        """Keypoints of an image, strongest first, where the mask (uint8 or bool, same size) is not zero. white is the
        value of uint16 pixels that becomes 255; 0 means 65535."""
        view, alive = image_view(image, white)
        options, mask_alive = self._call_options(mask, view)
        keypoints = np.empty(self.max_keypoints, keypoint_dtype)
        found = features_view(keypoints)
        call("detect", lib.kb_detect, ctypes.byref(view), ctypes.byref(options), workspace(), ctypes.byref(found))
        del alive, mask_alive
        return _first(keypoints, found.n)  # type: ignore[no-any-return]

    def _detect_and_describe(self, image: ImageLike, model: Model, mask: Optional[ImageLike], scale: float = 0,
                             white: int = 0) -> Tuple[Keypoints, Rows, "Origin"]:
        """scale 0: what the model has for this detector."""
        view, alive = image_view(image, white)
        options, mask_alive = self._call_options(mask, view)
        describing = new(_abi.kb_describe_options, scale=scale, parallel=options.parallel)
        keypoints = np.empty(self.max_keypoints, keypoint_dtype)
        rows = np.empty((self.max_keypoints, model.row_bytes), np.uint8)
        found = features_view(keypoints, rows)
        call("detect_and_compute", lib.kb_detect_and_describe, model._handle, ctypes.byref(view), ctypes.byref(options),
             ctypes.byref(describing), workspace(), ctypes.byref(found))
        del alive, mask_alive
        return _first(keypoints, found.n), _first(rows, found.n), Origin(self.name, found.revision, bool(found.upright))


def _first(array: Any, count: int) -> Any:
    """The first rows of an array; a copy when the rest would hold much memory."""
    return array[:count].copy() if count < len(array) // 2 else array[:count]


class Origin(NamedTuple):
    """How keypoints were found. Matching and an index refuse Features whose origins differ."""
    detector: str
    revision: int  # of the detector's arithmetic (Detector.revision)
    upright: bool  # without angles
    max_size: int = 0  # px: larger images were shrunk to this longer side first; 0: none, or not known

    def differs(self, other: "Origin") -> bool:
        """Whether keypoints of both must not be mixed."""
        return self[:3] != other[:3] or 0 != self.max_size != other.max_size != 0

    def as_fields(self) -> Dict[str, int]:
        """As kb_features has them."""
        return {"detector": _DETECTORS.get(self.detector, 0), "revision": self.revision, "upright": int(self.upright),
                "max_size": self.max_size}


@dataclass(frozen=True, eq=False)
class Features:
    """The features of one image."""
    keypoints: Keypoints
    descriptors: Rows
    model: Model
    size: Tuple[int, int]  # width, height
    origin: Optional[Origin] = None  # None: not known
    deviations: Optional[npt.NDArray[np.float32]] = None  # px per keypoint, as deviations() gives them

    def __len__(self) -> int:
        return len(self.keypoints)

    def save(self, path: PathLike) -> None:
        """Writes an .npz (docs/formats.md), which Features.load reads."""
        about = {"model": self.model.name, "model_id": f"{self.model.id:016x}", "width": self.size[0],
                 "height": self.size[1]}
        if self.origin:
            about.update(detector=self.origin.detector, revision=self.origin.revision,
                         rows="upright" if self.origin.upright else "oriented", max_size=self.origin.max_size)
        arrays = {"keypoints": self.keypoints, "descriptors": self.descriptors,
                  "about": np.frombuffer(json.dumps(about).encode(), np.uint8)}
        if self.deviations is not None:
            arrays["deviations"] = self.deviations
        write_file(path, lambda file: np.savez(file, **arrays))

    @classmethod
    def load(cls, path: PathLike, model: Union[Model, str, None] = None) -> "Features":
        """Reads what save wrote. model: of the rows, where it is not a built-in one."""
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            about = json.loads(arrays["about"].tobytes())
            used = model_of(about["model"] if model is None else model)
            keypoints, rows = arrays["keypoints"], arrays["descriptors"]
            size, named = (int(about["width"]), int(about["height"])), about["model_id"]
            origin = None
            if "detector" in about:
                origin = Origin(str(about["detector"]), int(about["revision"]),
                                {"upright": True, "oriented": False}[about["rows"]], int(about["max_size"]))
        except (KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
            raise KeybitsFileError(f"{path}: not features that Features.save wrote: {error}") from None
        if named != f"{used.id:016x}":
            raise KeybitsFileError(f"{path}: rows of the model {about['model']} ({named}), "
                                   f"but {used.name} is {used.id:016x} here")
        sigma = arrays.get("deviations")
        if keypoints.dtype != keypoint_dtype or keypoints.ndim != 1 or rows.dtype != np.uint8 \
                or rows.shape != (len(keypoints), used.row_bytes) \
                or sigma is not None and (sigma.dtype != np.float32 or sigma.shape != keypoints.shape):
            raise KeybitsFileError(f"{path}: keypoints, descriptors and deviations do not belong together")
        return cls(keypoints, rows, used, size, origin, sigma)

    def __repr__(self) -> str:
        return f"<keybits.Features: {len(self)} of {self.model.name}, image of {self.size[0]} x {self.size[1]}>"


def detector_of(detector: Union[str, Detector], max_keypoints: Optional[int]) -> Detector:
    """A Detector, or the one of a name with so many keypoints; None is 2000."""
    if not isinstance(detector, Detector):
        return Detector(detector, 2000 if max_keypoints is None else max_keypoints)
    if max_keypoints is not None:
        raise KeybitsValueError(f"max_keypoints is {max_keypoints}, but a Detector has its own: {detector!r}")
    return detector


#: Features, or the rows of an image.
FeaturesLike = Union[Features, RowsLike]


def detect(image: ImageLike, detector: Union[str, Detector] = DEFAULT_DETECTOR, max_keypoints: Optional[int] = None,
           mask: Optional[ImageLike] = None, *, white: int = 0) -> Keypoints:
    """Keypoints of an image (uint8 or uint16, gray or RGB), strongest first, 2000 by
    default."""
    return detector_of(detector, max_keypoints).detect(image, mask, white=white)


def orient(image: ImageLike, keypoints: KeypointsLike, rule: str = "default", scale: Union[float, str] = "orb", *,
           white: int = 0) -> Tuple[Keypoints, npt.NDArray[np.float32]]:
    """A copy of keypoints with angles by a rule ("gradient", the default; "centroid"; "none"), and the confidence in
    each, 0 to 1. scale is the detector's name or its preset."""
    _known(rule, _ORIENTATIONS, "orientation")
    view, alive = image_view(image, white)
    turned = keypoint_array(keypoints).copy()
    confidence = np.zeros(len(turned), np.float32)
    options = new(_abi.kb_orient_options, orientation=_ORIENTATIONS[rule], scale=scale_of(scale), parallel=parallel())
    call("orient", lib.kb_orient, ctypes.byref(view), ctypes.byref(options), workspace(),
         ctypes.byref(features_view(turned)), address(confidence))
    del alive
    return turned, confidence


def deviations(image: ImageLike, keypoints: KeypointsLike, detector: Union[str, Detector] = DEFAULT_DETECTOR, *,
               white: int = 0) -> npt.NDArray[np.float32]:
    """The standard deviation of the place of each keypoint along either axis, in px, by which bundle adjustment weighs
    residuals. keypoints are those that the detector found in the image; NaN for one that is not in it."""
    view, alive = image_view(image, white)
    places = keypoint_array(keypoints)
    sigma = np.zeros(len(places), np.float32)
    features = features_view(places)
    features.detector = detector_of(detector, None)._options.detector
    call("deviations", lib.kb_keypoint_deviations, ctypes.byref(view), ctypes.byref(features), parallel(), workspace(),
         address(sigma))
    del alive
    return sigma


def select(keypoints: KeypointsLike, size: Tuple[int, int], count: int, rule: str = "default") -> Keypoints:
    """The best `count` of keypoints of an image of (width, height) by a rule ("best", "grid", "quadtree"),
    strongest first."""
    _known(rule, _SELECTIONS, "selection")
    count = whole("count", count, 0)
    chosen = keypoint_array(keypoints).copy()
    width, height = size
    view = features_view(chosen, width=width, height=height)
    call("select", lib.kb_select, _SELECTIONS[rule], count, workspace(), ctypes.byref(view))
    return chosen[:view.n]


def describe(image: ImageLike, keypoints: KeypointsLike, model: Union[Model, str, None] = None,
             scale: Union[float, str] = "orb", *, out: Optional[Rows] = None,
             flags: Optional[npt.NDArray[np.uint8]] = None, white: int = 0) -> Rows:
    """Descriptors of keypoints: one row of model.row_bytes bytes per keypoint, in order.

    scale is the detector's name (its preset) or a number. `flags` (uint8, one per keypoint) receives KP_BORDER,
    KP_SMALL, KP_OUTSIDE and KP_INVALID; rows of keypoints with the last two are zero and never match."""
    used = model_of(model)
    places = keypoint_array(keypoints)
    rows: Rows = output(out, (len(places), used.row_bytes), np.uint8)
    _describe(used, image, places, scale, rows, flags, white)
    return rows


def describe_float(image: ImageLike, keypoints: KeypointsLike, model: Union[Model, str] = "rootsift",
                   scale: Union[float, str] = "orb", *, out: Optional[npt.NDArray[np.float32]] = None,
                   flags: Optional[npt.NDArray[np.uint8]] = None, white: int = 0) -> npt.NDArray[np.float32]:
    """SIFT and RootSIFT ("sift", "rootsift") as n x 128 floats of unit length; otherwise as describe."""
    used = _float_model(model)
    places = keypoint_array(keypoints)
    rows: npt.NDArray[np.float32] = output(out, (len(places), _abi.KB_SIFT_VALUES), np.float32)
    _describe(used, image, places, scale, rows, flags, white)
    return rows


def _float_model(model: Union[Model, str]) -> Model:
    used = model_of(model)
    if not used._info.row_floats:
        raise KeybitsValueError(f"{used.name} has no rows of floats; sift and rootsift have", _abi.KB_E_KIND)
    return used


def _describe(model: Model, image: ImageLike, places: Keypoints, scale: Union[float, str], rows: Any,
              flags: Optional[npt.NDArray[np.uint8]], white: int) -> None:
    view, alive = image_view(image, white)
    if flags is not None:
        output(flags, (len(places),), np.uint8, "flags")
    options = new(_abi.kb_describe_options, scale=scale_of(scale, model), parallel=parallel())
    features = features_view(places, rows, flags=address(flags) if flags is not None else None)
    call("describe", lib.kb_describe, model._handle, ctypes.byref(view), ctypes.byref(options), workspace(),
         ctypes.byref(features))
    del alive
    _warn_regions(model, places, options.scale, min(view.width, view.height))


def _warn_regions(model: Model, places: Keypoints, scale: float, side: int) -> None:
    """Says so where the scale can hardly belong to the detector of the keypoints, as the program does: regions (of BAG
    octave 2, their middle quarter) that are too narrow to describe, or mostly wider than half of the image."""
    times = 4 if model.sampler == "octaves" else 1
    width = places["size"] * ((scale or 1) * model.support)
    for name, limit, count, enough in (
            ("narrower", times * _abi.KB_SMALL_PATCH, int((width < times * _abi.KB_SMALL_PATCH).sum()), 0),
            ("wider", times * side / 2, int((width > times * side / 2).sum()), len(places) // 2)):
        if count > enough:
            warnings.warn(f"{count} of {len(places)} regions are {name} than {limit:g} px: is another scale meant? "
                          f"There are {', '.join(presets())}", stacklevel=4)


def describe_patches(patches: npt.ArrayLike, model: Union[Model, str, None] = None, *,
                     out: Optional[Rows] = None) -> Rows:
    """Descriptors of ready patches: n x side x side of uint8, side 32 to 1024.

    For BAG also octaves, n x 4 x 16 x 16 (sample_octaves). It takes a patch as octave 1, the middle half of the region,
    and repeats the border of the patch beyond it."""
    used, array = model_of(model), _patch_array(patches)
    if array.ndim == 4 and used.sampler != "octaves":
        raise KeybitsValueError(f"patches are octaves, n x 4 x 16 x 16, but {used.name} describes n x side x side")
    rows: Rows = output(out, (len(array), used.row_bytes), np.uint8)
    _describe_patches(used, array, rows)
    return rows


def describe_patches_float(patches: npt.ArrayLike, model: Union[Model, str] = "rootsift", *,
                           out: Optional[npt.NDArray[np.float32]] = None) -> npt.NDArray[np.float32]:
    """SIFT and RootSIFT of ready patches, n x side x side of uint8, as n x 128 floats of unit length."""
    array = _patch_array(patches)
    if array.ndim == 4:
        raise KeybitsValueError("patches are octaves, n x 4 x 16 x 16, but SIFT describes n x side x side")
    rows: npt.NDArray[np.float32] = output(out, (len(array), _abi.KB_SIFT_VALUES), np.float32)
    _describe_patches(_float_model(model), array, rows)
    return rows


def _patch_array(patches: npt.ArrayLike) -> npt.NDArray[np.uint8]:
    array = np.ascontiguousarray(patches)
    check_pixels(array)
    if array.ndim == 3:
        whole("the side of patches", array.shape[1], 32, 1024)
    return array


def _describe_patches(model: Model, patches: npt.NDArray[np.uint8], rows: Any) -> None:
    options = new(_abi.kb_describe_options, parallel=parallel())
    call("describe_patches", lib.kb_describe_patches, model._handle, address(patches), patches.shape[-1],
         ctypes.byref(options), workspace(), ctypes.byref(features_view(None, rows)))


def sample_patches(image: ImageLike, keypoints: KeypointsLike, scale: Union[float, str] = "orb", *,
                   white: int = 0) -> npt.NDArray[np.uint8]:
    """The 32 x 32 patches of keypoints, turned upright by the angle and scaled by the size of each keypoint."""
    return _sample("patch", "sample_patches", (32, 32), image, keypoints, scale, white)


def sample_octaves(image: ImageLike, keypoints: KeypointsLike, scale: Union[float, str] = "orb", *,
                   white: int = 0) -> npt.NDArray[np.uint8]:
    """The samples that BAG describes: n x 4 x 16 x 16, the region of a keypoint and its middle half, quarter and eighth,
    upright.

    The region is scale x size wide; a model takes its support times as much: `sample_octaves(image, keypoints,
    model.scale("orb") * model.support)`."""
    return _sample("octaves", "sample_octaves", OCTAVES, image, keypoints, scale, white)


def _sample(sampler: str, name: str, shape: Tuple[int, ...], image: Any, keypoints: Any, scale: Union[float, str],
            white: int) -> npt.NDArray[np.uint8]:
    view, alive = image_view(image, white)
    places = keypoint_array(keypoints)
    samples = np.empty((len(places), *shape), np.uint8)
    options = new(_abi.kb_describe_options, scale=scale_of(scale), parallel=parallel())
    call(name, lib.kb_sample, ctypes.byref(view), SAMPLERS[sampler], ctypes.byref(options), workspace(),
         ctypes.byref(features_view(places)), address(samples))
    del alive
    return samples


def detect_and_compute(image: ImageLike, detector: Union[str, Detector] = DEFAULT_DETECTOR,
                       model: Union[Model, str, None] = None, max_keypoints: Optional[int] = None,
                       mask: Optional[ImageLike] = None, *, white: int = 0, with_deviations: bool = False) -> Features:
    """Keypoints, 2000 by default, and descriptors of an image in one call. with_deviations fills Features.deviations.

    >>> f = keybits.detect_and_compute(gray)
    >>> f.keypoints["x"], f.descriptors.shape
    """
    gray = to_gray(image)
    found, used = detector_of(detector, max_keypoints), model_of(model)
    keypoints, rows, origin = found._detect_and_describe(gray, used, mask, white=white)
    sigma = deviations(gray, keypoints, found, white=white) if with_deviations else None
    return Features(keypoints, rows, used, (int(gray.shape[1]), int(gray.shape[0])), origin, sigma)


class Pyramid(NamedTuple):
    """The levels of an image, from fine to coarse."""
    levels: List[npt.NDArray[np.uint8]]
    factors: npt.NDArray[np.float64]  # px of the image per px of a level: 1, 1.2, 1.44, ...


def build_pyramid(image: ImageLike, levels: int = 0, level_factor: float = 1.2, *, white: int = 0) -> Pyramid:
    """The pyramid that hessian searches: level_factor from one level to the next; levels 0: down to the smallest that
    has room for a corner.

    Pixel x of a level lies at (x + 0.5) * factor - 0.5 of the image. Level 0 of an 8-bit gray image is that image, not
    a copy. An image without room for a corner has no levels."""
    view, alive = image_view(image, white)
    options = new(_abi.kb_detect_options, levels=levels, level_factor=level_factor, parallel=parallel())
    built, size = new(_abi.kb_pyramid), ctypes.c_size_t()
    asked = ctypes.byref(view), ctypes.byref(options), workspace()
    check(lib.kb_pyramid_build(*asked, None, 0, None, ctypes.byref(size)), None, "build_pyramid")
    buffer = np.empty(max(size.value, 1), np.uint8)
    check(lib.kb_pyramid_build(*asked, address(buffer), buffer.size, ctypes.byref(built), ctypes.byref(size)), None,
          "build_pyramid")
    images = [alive if level.data == view.data else _level_view(buffer, level) for level in built.level[:built.levels]]
    return Pyramid(images, np.array(built.factor[:built.levels]))


def _level_view(buffer: Any, level: Any) -> npt.NDArray[np.uint8]:
    """A kb_image inside a buffer, which the array keeps alive."""
    return np.ndarray((level.height, level.width), np.uint8, buffer, level.data - buffer.ctypes.data,
                      (level.stride, 1))
