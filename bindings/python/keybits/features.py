"""Models and detectors: from an image to keypoints and descriptors."""
import ctypes
from dataclasses import dataclass
from pathlib import Path
from typing import Any, List, Optional, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _abi
from ._arrays import (Keypoints, Rows, address, bytes_pointer, image_view, keypoint_array, keypoint_dtype, output,
                      to_gray)
from ._files import PathLike, write_file
from ._library import KeybitsValueError, check, lib, new, parallel, text, workspace

_DETECTORS = {"orb": _abi.KB_DETECTOR_ORB, "sift": _abi.KB_DETECTOR_SIFT}
_ORIENTATIONS = {"default": _abi.KB_ORIENTATION_DEFAULT, "gradient": _abi.KB_ORIENTATION_GRADIENT,
                 "centroid": _abi.KB_ORIENTATION_CENTROID, "none": _abi.KB_ORIENTATION_NONE}
#: Flags of describe, combined: the region leaves the image, is narrower than 8 px, its centre is outside, or a number
#: is not finite or the size not positive.
KP_BORDER, KP_SMALL, KP_OUTSIDE, KP_INVALID = (_abi.KB_KP_BORDER, _abi.KB_KP_SMALL, _abi.KB_KP_OUTSIDE,
                                               _abi.KB_KP_INVALID)
_KINDS = {"bad": _abi.KB_BAD, "bag": _abi.KB_BAG, "hashsift": _abi.KB_HASHSIFT, "sift": _abi.KB_SIFT,
          "rootsift": _abi.KB_ROOTSIFT}
_SAMPLERS = {"patch": _abi.KB_SAMPLER_PATCH, "image": _abi.KB_SAMPLER_IMAGE, "two-tap": _abi.KB_SAMPLER_TWO_TAP}
#: One bit of BAD or BAG: 1 when mean(box 1) - mean(box 2) <= threshold.
box_dtype = np.dtype([("channel1", np.uint8), ("x1", np.uint8), ("y1", np.uint8), ("radius1", np.uint8),
                      ("channel2", np.uint8), ("x2", np.uint8), ("y2", np.uint8), ("radius2", np.uint8),
                      ("threshold", np.float32)])
_SELECTIONS = {"default": _abi.KB_SELECT_DEFAULT, "best": _abi.KB_SELECT_BEST, "grid": _abi.KB_SELECT_GRID,
               "anms": _abi.KB_SELECT_ANMS, "quadtree": _abi.KB_SELECT_QUADTREE}


def builtin_models() -> List[str]:
    """The names of the models that this build holds."""
    names: List[str] = []
    index = 0
    while True:
        available = ctypes.c_int32()
        name = lib.kb_model_builtin_name(index, ctypes.byref(available))
        if name is None:
            return names
        if available.value:
            names.append(text(name))
        index += 1


class Model:
    """A descriptor: the name of a built-in model ("bag256", "bad256", ...), or the path of a .kbm file.

    Immutable; any number of threads may use one."""

    def __init__(self, name: PathLike = "bag256") -> None:
        self._handle = ctypes.c_void_p()
        if str(name) in builtin_models():
            check(lib.kb_model_builtin(str(name).encode(), ctypes.byref(self._handle)), None, str(name))
        else:
            path = Path(name)
            if not path.exists():
                known = ", ".join(builtin_models())
                raise KeybitsValueError(f"{path}: no such file, and no built-in model (there are {known})")
            self._read(path.read_bytes(), str(path))

    def _read(self, data: bytes, what: str) -> None:
        error = _abi.kb_error()
        check(lib.kb_model_load(bytes_pointer(data), len(data), ctypes.byref(self._handle), ctypes.byref(error)),
              error, what)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Model":
        """A model out of the content of a .kbm file."""
        model = cls.__new__(cls)
        model._handle = ctypes.c_void_p()
        model._read(bytes(data), "model")
        return model

    @classmethod
    def from_tables(cls, kind: str, *, name: str, boxes: Any = None, weights: Any = None, bias: Any = None,
                    root: bool = False, support: float = 1, sift_support: float = 0, sampler: str = "patch",
                    text: str = "") -> "Model":
        """A model out of its tables: "bad" and "bag" from boxes (box_dtype, one per bit), "hashsift" from weights (bits
        x 128 of int8) and bias (int32). support is the width of the described region as a multiple of the detector's;
        sift_support the same for keypoints of SIFT detectors, 0: support; root takes RootSIFT. text tells how it was learned."""
        if kind not in _KINDS or sampler not in _SAMPLERS:
            raise KeybitsValueError(f"kind is one of {', '.join(_KINDS)} and sampler one of {', '.join(_SAMPLERS)}, "
                                    f"not {kind!r} and {sampler!r}")
        pairs = None if boxes is None else np.ascontiguousarray(boxes, box_dtype)
        matrix = None if weights is None else np.ascontiguousarray(weights, np.int8)
        offset = None if bias is None else np.ascontiguousarray(bias, np.int32)
        if matrix is not None and matrix.shape[1:] != (_abi.KB_SIFT_VALUES,) or \
                (kind == "hashsift") != (matrix is not None) or (matrix is None) != (offset is None) or \
                (matrix is not None and offset is not None and offset.shape != matrix.shape[:1]):
            raise KeybitsValueError("hashsift takes weights, bits x 128, and as many numbers of bias; others take none")
        if (kind in ("bad", "bag")) != (pairs is not None):
            raise KeybitsValueError("bad and bag take boxes, one per bit; others take none")
        bits = len(pairs) if pairs is not None else len(matrix) if matrix is not None else 0
        spec = new(_abi.kb_model_spec, kind=_KINDS[kind], sampler=_SAMPLERS[sampler], bits=bits, support=support, sift_support=sift_support,
                   name=name.encode(), text=text.encode(), root=int(root),
                   boxes=address(pairs) if pairs is not None else None,
                   weights=address(matrix) if matrix is not None else None,
                   bias=address(offset) if offset is not None else None)
        model, error = cls.__new__(cls), _abi.kb_error()
        model._handle = ctypes.c_void_p()
        check(lib.kb_model_create(ctypes.byref(spec), ctypes.byref(model._handle), ctypes.byref(error)), error, name)
        return model

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            lib.kb_model_free(self._handle)

    def _info(self) -> Any:
        info = new(_abi.kb_model_info)
        check(lib.kb_model_get_info(self._handle, ctypes.byref(info)))
        return info

    def _spec(self) -> Any:
        return ctypes.cast(self._info().spec, ctypes.POINTER(_abi.kb_model_spec)).contents

    @property
    def name(self) -> str:
        """The name of the model."""
        return text(self._spec().name)

    @property
    def kind(self) -> str:
        """"bad", "bag", "hashsift", "sift" or "rootsift"."""
        return text(lib.kb_kind_name(self._spec().kind))

    @property
    def bits(self) -> int:
        """Bits per descriptor; 0 for SIFT and RootSIFT."""
        return int(self._spec().bits)

    @property
    def row_bytes(self) -> int:
        """Bytes per descriptor."""
        return int(self._info().row_bytes)

    @property
    def id(self) -> int:
        """A hash of everything that decides the bits: equal ids mean equal descriptors everywhere."""
        return int(self._info().id)

    @property
    def thresholds(self) -> Optional[Tuple[int, int]]:
        """The Hamming distances that mean for this model what 50 and 100 mean for ORB (docs/slam.md); None when they
        are not known."""
        info = self._info()
        return (int(info.threshold_low), int(info.threshold_high)) if info.threshold_high else None

    @property
    def support(self) -> float:
        """The width of the described region, as a multiple of the detector's scale."""
        return float(self._spec().support)

    @property
    def sift_support(self) -> float:
        """The same for keypoints of SIFT detectors."""
        return float(self._spec().sift_support) or self.support

    def scale(self, preset: str) -> float:
        """The factor from keypoint size to described width, without the support, for keypoints of a detector: "orb",
        "sift", "akaze", ..."""
        factor = float(lib.kb_model_scale(self._handle, preset.encode()))
        if factor == 0:
            raise KeybitsValueError(f"no preset {preset!r}; there are {', '.join(presets())}")
        return factor

    @property
    def sampler(self) -> str:
        """"patch", "image" or "two-tap"."""
        return text(lib.kb_sampler_name(self._spec().sampler))

    @property
    def boxes(self) -> npt.NDArray[np.void]:
        """The boxes of BAD and BAG (box_dtype), one per bit; none for other kinds."""
        spec = self._spec()
        size = int(spec.bits) * box_dtype.itemsize if spec.boxes else 0
        return np.frombuffer(ctypes.string_at(spec.boxes, size) if size else b"", box_dtype)

    @property
    def text(self) -> str:
        """How the model was learned."""
        return text(self._spec().text)

    def to_bytes(self) -> bytes:
        """The content of the model's .kbm file."""
        size = ctypes.c_size_t()
        check(lib.kb_model_save(self._handle, None, 0, ctypes.byref(size)))
        buffer = ctypes.create_string_buffer(size.value)
        check(lib.kb_model_save(self._handle, buffer, size.value, ctypes.byref(size)))
        return buffer.raw

    def save(self, path: PathLike) -> None:
        """Writes the .kbm file, beside the target first, so that it is never half there."""
        data = self.to_bytes()
        write_file(path, lambda file: file.write(data))

    def __repr__(self) -> str:
        return f"<keybits.Model {self.name}: {self.row_bytes} bytes, id {self.id:016x}>"


_default_models: "dict[str, Model]" = {}


def model_of(model: Union[Model, PathLike, None]) -> Model:
    """A Model, or the (cached) built-in model of a name; None is bag256."""
    if isinstance(model, Model):
        return model
    name = "bag256" if model is None else str(model)
    if name not in _default_models:
        loaded = Model(name)
        if name not in builtin_models():
            return loaded
        _default_models[name] = loaded
    return _default_models[name]


def _known(name: str, names: "dict[str, int]", what: str) -> None:
    if name not in names:
        raise KeybitsValueError(f"no {what} {name!r}; there are {', '.join(names)}")


class Detector:
    """A detector and its options.

    name: "orb" (FAST corners on a pyramid) or "sift" (differences of Gaussians). selection: "default", "best",
    "grid", "anms" or "quadtree". orientation: "gradient" (the default), "centroid" (OpenCV's ORB) or "none" (upright);
    second_angle gives keypoints with two clear angles twice; subpixel gives places between pixels. Everything else as in kb_detect_options; None means the
    default."""

    def __init__(self, name: str = "orb", max_keypoints: int = 2000, selection: str = "default", *,
                 levels: Optional[int] = None, level_factor: Optional[float] = None,
                 fast_threshold: Optional[int] = None, fast_threshold_min: Optional[int] = None,
                 cell_size: Optional[int] = None, orientation: str = "default", second_angle: bool = False,
                 subpixel: bool = False, low_memory: bool = False, layers: Optional[int] = None,
                 contrast_threshold: Optional[float] = None, edge_threshold: Optional[float] = None,
                 sigma: Optional[float] = None, upsampling: bool = True) -> None:
        _known(name, _DETECTORS, "detector")
        _known(selection, _SELECTIONS, "selection")
        _known(orientation, _ORIENTATIONS, "orientation")
        if not 1 <= max_keypoints <= 1000000:
            raise KeybitsValueError(f"max_keypoints is {max_keypoints}, but must be 1 to 1000000")
        self.name = name
        self.max_keypoints = int(max_keypoints)
        self._options = new(_abi.kb_detect_options, detector=_DETECTORS[name], max_keypoints=int(max_keypoints),
                            selection=_SELECTIONS[selection], levels=levels, level_factor=level_factor,
                            fast_threshold=fast_threshold, fast_threshold_min=fast_threshold_min,
                            cell_size=cell_size, orientation=_ORIENTATIONS[orientation],
                            second_angle=int(second_angle), subpixel=int(subpixel), low_memory=int(low_memory),
                            layers=layers,
                            contrast_threshold=contrast_threshold, edge_threshold=edge_threshold, sigma=sigma,
                            no_upsampling=0 if upsampling else 1)

    @property
    def scale(self) -> float:
        """The factor from keypoint size to described width that belongs to this detector."""
        return float(lib.kb_detector_scale(_DETECTORS[self.name]))

    def detect(self, image: Any, mask: Optional[Any] = None, *, white: int = 0) -> Keypoints:
        """Keypoints of an image, strongest first, where the mask (uint8, same size) is not zero. white is the value of
        uint16 pixels that becomes 255; 0 means 65535."""
        view, alive = image_view(image, white)
        options = _abi.kb_detect_options.from_buffer_copy(self._options)
        if mask is not None:
            mask_view, mask_alive = image_view(np.asarray(mask))
            options.mask = ctypes.addressof(mask_view)
        options.parallel = parallel()
        keypoints = np.empty(self.max_keypoints, keypoint_dtype)
        count = ctypes.c_size_t()
        check(lib.kb_detect(ctypes.byref(view), ctypes.byref(options), workspace(), address(keypoints),
                            len(keypoints), ctypes.byref(count)), None, "detect")
        del alive
        return keypoints[:count.value].copy() if count.value < len(keypoints) // 2 else keypoints[:count.value]


@dataclass(frozen=True)
class Features:
    """The features of one image."""
    keypoints: Keypoints
    descriptors: Rows
    model: Model
    size: Tuple[int, int]  # width, height

    def __len__(self) -> int:
        return len(self.keypoints)


def preset_scale(name: str) -> float:
    """The factor from keypoint size to described width for keypoints of a detector: "orb", "sift", "akaze", ..."""
    scale = float(lib.kb_preset_scale(name.encode()))
    if scale == 0:
        raise KeybitsValueError(f"no preset {name!r}; there are {', '.join(presets())}")
    return scale


def presets() -> List[str]:
    """The names that preset_scale knows."""
    names: List[str] = []
    index = 0
    while True:
        preset = lib.kb_preset_at(index)
        if preset.name is None:
            return names
        names.append(text(preset.name))
        index += 1


def detect(image: Any, detector: Union[str, Detector] = "orb", max_keypoints: int = 2000,
           mask: Optional[Any] = None, *, white: int = 0) -> Keypoints:
    """Keypoints of an image (uint8 or uint16, gray or RGB), strongest first."""
    found = detector if isinstance(detector, Detector) else Detector(detector, max_keypoints)
    return found.detect(image, mask, white=white)


def orient(image: Any, keypoints: Any, rule: str = "default", scale: Union[float, str] = "orb", *,
           white: int = 0) -> Tuple[Keypoints, npt.NDArray[np.float32]]:
    """A copy of keypoints with angles by a rule ("gradient", the default; "centroid"; "none"), and how sure each is, 0
    to 1. scale is the detector's name or its preset."""
    _known(rule, _ORIENTATIONS, "orientation")
    view, alive = image_view(image, white)
    turned = keypoint_array(keypoints).copy()
    confidence = np.zeros(len(turned), np.float32)
    factor = preset_scale(scale) if isinstance(scale, str) else float(scale)
    options = new(_abi.kb_orient_options, orientation=_ORIENTATIONS[rule], scale=factor, parallel=parallel())
    check(lib.kb_orient(ctypes.byref(view), address(turned), len(turned), ctypes.byref(options), workspace(),
                        address(confidence)), None, "orient")
    del alive
    return turned, confidence


def select(keypoints: Any, size: Tuple[int, int], count: int, rule: str = "default") -> Keypoints:
    """The best `count` of keypoints of an image of (width, height) by a rule ("best", "grid", "anms", "quadtree"),
    strongest first."""
    _known(rule, _SELECTIONS, "selection")
    if count < 0:
        raise KeybitsValueError(f"count is {count}, but must not be negative")
    chosen = keypoint_array(keypoints).copy()
    kept = ctypes.c_size_t()
    check(lib.kb_select(address(chosen), len(chosen), size[0], size[1], _SELECTIONS[rule], count, workspace(),
                        ctypes.byref(kept)), None, "select")
    return chosen[:kept.value]


def describe(image: Any, keypoints: Any, model: Union[Model, str, None] = None,
             scale: Union[float, str] = "orb", *, out: Optional[Rows] = None,
             flags: Optional[npt.NDArray[np.uint8]] = None, white: int = 0) -> Rows:
    """Descriptors of keypoints: one row of model.row_bytes bytes per keypoint, in order.

    scale is the detector's name (its preset) or a number. `flags` (uint8, one per keypoint) receives KP_BORDER,
    KP_SMALL, KP_OUTSIDE and KP_INVALID; rows of keypoints with the last two are zero and never match."""
    used = model_of(model)
    places = keypoint_array(keypoints)
    rows: Rows = output(out, (len(places), used.row_bytes), np.uint8)
    _describe(lib.kb_describe, used, image, places, scale, rows, flags, white)
    return rows


def describe_float(image: Any, keypoints: Any, model: Union[Model, str] = "rootsift",
                   scale: Union[float, str] = "orb", *, out: Optional[npt.NDArray[np.float32]] = None,
                   flags: Optional[npt.NDArray[np.uint8]] = None, white: int = 0) -> npt.NDArray[np.float32]:
    """SIFT and RootSIFT ("sift", "rootsift") as n x 128 floats of unit length; otherwise as describe."""
    used = model_of(model)
    places = keypoint_array(keypoints)
    rows: npt.NDArray[np.float32] = output(out, (len(places), _abi.KB_SIFT_VALUES), np.float32)
    _describe(lib.kb_describe_float, used, image, places, scale, rows, flags, white)
    return rows


def _describe(function: Any, model: Model, image: Any, places: Keypoints, scale: Union[float, str], rows: Any,
              flags: Optional[npt.NDArray[np.uint8]], white: int) -> None:
    view, alive = image_view(image, white)
    if flags is not None:
        output(flags, (len(places),), np.uint8, "flags")
    factor = model.scale(scale) if isinstance(scale, str) else float(scale)
    options = new(_abi.kb_describe_options, scale=factor, parallel=parallel())
    check(function(model._handle, ctypes.byref(view), address(places), len(places), ctypes.byref(options),
                   workspace(), address(rows), address(flags) if flags is not None else None), None, "describe")
    del alive


def describe_patches(patches: Any, model: Union[Model, str, None] = None, *, out: Optional[Rows] = None) -> Rows:
    """Descriptors of ready patches: n x side x side of uint8, side 32 to 1024."""
    used = model_of(model)
    array = np.ascontiguousarray(patches)
    if array.ndim != 3 or array.dtype != np.uint8 or array.shape[1] != array.shape[2]:
        raise KeybitsValueError(f"patches are n x side x side of uint8, not {array.dtype} of the shape {array.shape}")
    rows: Rows = output(out, (len(array), used.row_bytes), np.uint8)
    options = new(_abi.kb_describe_options, parallel=parallel())
    check(lib.kb_describe_patches(used._handle, address(array), len(array), array.shape[1], ctypes.byref(options),
                                  workspace(), address(rows)), None, "describe_patches")
    return rows


def sample_patches(image: Any, keypoints: Any, scale: Union[float, str] = "orb") -> npt.NDArray[np.uint8]:
    """The 32 x 32 patches of keypoints, upright and scaled by their angle and size."""
    view, alive = image_view(image)
    places = keypoint_array(keypoints)
    patches = np.empty((len(places), 32, 32), np.uint8)
    factor = preset_scale(scale) if isinstance(scale, str) else float(scale)
    options = new(_abi.kb_describe_options, scale=factor, parallel=parallel())
    check(lib.kb_sample_patches(ctypes.byref(view), address(places), len(places), ctypes.byref(options), workspace(),
                                address(patches), None), None, "sample_patches")
    del alive
    return patches


def detect_and_compute(image: Any, detector: Union[str, Detector] = "orb", model: Union[Model, str, None] = None,
                       max_keypoints: int = 2000, mask: Optional[Any] = None, *, white: int = 0) -> Features:
    """Keypoints and descriptors of an image in one call.

    >>> f = keybits.detect_and_compute(gray)
    >>> f.keypoints["x"], f.descriptors.shape
    """
    gray = to_gray(image)
    found = detector if isinstance(detector, Detector) else Detector(detector, max_keypoints)
    used = model_of(model)
    keypoints = found.detect(gray, mask, white=white)
    rows = describe(gray, keypoints, used, found.name, white=white)
    return Features(keypoints, rows, used, (int(gray.shape[1]), int(gray.shape[0])))
