# SPDX-License-Identifier: Apache-2.0
"""Models: the tables that turn a patch into bits."""
import ctypes
from functools import cached_property
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _abi
from ._arrays import address, bytes_pointer, numbers
from ._checked import KeybitsValueError
from ._files import PathLike, write_file
from ._library import check, lib, new, number, text

_KINDS = {"bad": _abi.KB_KIND_BAD, "bag": _abi.KB_KIND_BAG, "hashsift": _abi.KB_KIND_HASHSIFT,
          "sift": _abi.KB_KIND_SIFT, "rootsift": _abi.KB_KIND_ROOTSIFT}
SAMPLERS = {"patch": _abi.KB_SAMPLER_PATCH, "image": _abi.KB_SAMPLER_IMAGE, "octaves": _abi.KB_SAMPLER_OCTAVES,
            "cells": _abi.KB_SAMPLER_CELLS}
#: One bit of BAD or BAG: 1 when mean(box 1) - mean(box 2) <= threshold.
box_dtype = np.dtype([("channel1", np.uint8), ("x1", np.uint8), ("y1", np.uint8), ("radius1", np.uint8),
                      ("channel2", np.uint8), ("x2", np.uint8), ("y2", np.uint8), ("radius2", np.uint8),
                      ("threshold", np.float32)])


def _names(names_of: int) -> List[str]:
    """One of the library's lists of names."""
    names: List[str] = []
    while (name := lib.kb_name(names_of, len(names))) is not None:
        names.append(text(name))
    return names


def builtin_models() -> List[str]:
    """The names of the models that this build holds."""
    return _names(_abi.KB_NAMES_MODEL)


def preset_scale(name: str) -> float:
    """The factor from keypoint size to described width for keypoints of a detector: "orb", "sift", "akaze", ..."""
    scale = float(lib.kb_model_scale(None, str(name).encode()))
    if scale == 0:
        raise KeybitsValueError(f"no preset {name!r}; there are {', '.join(presets())}")
    return scale


def presets() -> List[str]:
    """The names that preset_scale knows."""
    return _names(_abi.KB_NAMES_PRESET)


class Model:
    """A descriptor: the name of a built-in model ("bag256", "bad256", ...), or the path of a .kbm file.

    Immutable; any number of threads may use one."""

    def __init__(self, name: PathLike = "bag256") -> None:
        self._handle = ctypes.c_void_p()
        if str(name) in builtin_models():
            check(lib.kb_model_builtin(str(name).encode(), None, ctypes.byref(self._handle)), None, str(name))
        else:
            path = Path(name)
            if not path.exists():
                known = ", ".join(builtin_models())
                raise KeybitsValueError(f"{path}: no such file, and no built-in model (there are {known})")
            self._read(path.read_bytes(), str(path))

    def _read(self, data: bytes, what: str) -> None:
        error = _abi.kb_error()
        check(lib.kb_model_load(bytes_pointer(data), len(data), None, ctypes.byref(self._handle),
                                ctypes.byref(error)), error, what)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Model":
        """A model out of the content of a .kbm file."""
        model = cls.__new__(cls)
        model._handle = ctypes.c_void_p()
        model._read(bytes(memoryview(data)), "model")  # not bytes(5), which is five zeros
        return model

    @classmethod
    def from_tables(cls, kind: str, *, name: str, boxes: Optional[npt.ArrayLike] = None,
                    weights: Optional[npt.ArrayLike] = None, bias: Optional[npt.ArrayLike] = None,
                    root: bool = False, support: float = 1, sift_support: float = 0,
                    sampler: Optional[str] = None, text: str = "", thresholds: Tuple[int, int] = (0, 0)) -> "Model":
        """A model out of its tables: "bad" and "bag" from boxes (box_dtype, one per bit), "hashsift" from weights (bits
        x 128 of int8) and bias (int32). support is the width of the described region as a multiple of the detector's;
        sift_support the same for keypoints of SIFT detectors, 0: support; root takes RootSIFT. sampler is one of the
        property; by default "octaves" for bag, where bit i is on octave i // 8 % 4, and "patch" for others. text tells how it was learned; thresholds are those of the property."""
        if sampler is None:
            sampler = "octaves" if kind == "bag" else "patch"
        if kind not in _KINDS or sampler not in SAMPLERS:
            raise KeybitsValueError(f"kind is one of {', '.join(_KINDS)} and sampler one of {', '.join(SAMPLERS)}, "
                                    f"not {kind!r} and {sampler!r}")
        pairs = None if boxes is None else np.ascontiguousarray(boxes, box_dtype)
        matrix = None if weights is None else numbers("weights", weights, np.int8)
        offset = None if bias is None else numbers("bias", bias, np.int32)
        if matrix is not None and matrix.shape[1:] != (_abi.KB_SIFT_VALUES,) or \
                (kind == "hashsift") != (matrix is not None) or (matrix is None) != (offset is None) or \
                (matrix is not None and offset is not None and offset.shape != matrix.shape[:1]):
            raise KeybitsValueError("hashsift takes weights, bits x 128, and as many numbers of bias; others take none")
        if (kind in ("bad", "bag")) != (pairs is not None):
            raise KeybitsValueError("bad and bag take boxes, one per bit; others take none")
        bits = len(pairs) if pairs is not None else len(matrix) if matrix is not None else 0
        spec = new(_abi.kb_model_spec, kind=_KINDS[kind], sampler=SAMPLERS[sampler], bits=bits, support=support,
                   sift_support=sift_support, threshold_low=thresholds[0], threshold_high=thresholds[1],
                   name=name.encode(), text=text.encode(), root=int(root),
                   boxes=address(pairs) if pairs is not None else None,
                   weights=address(matrix) if matrix is not None else None,
                   bias=address(offset) if offset is not None else None)
        model, error = cls.__new__(cls), _abi.kb_error()
        model._handle = ctypes.c_void_p()
        check(lib.kb_model_create(ctypes.byref(spec), None, ctypes.byref(model._handle), ctypes.byref(error)), error, name)
        return model

    def __reduce__(self) -> Tuple[Any, Tuple[bytes]]:  # so that features pass between processes
        return Model.from_bytes, (self.to_bytes(),)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            lib.kb_model_free(self._handle)

    @cached_property
    def _info(self) -> Any:
        info = new(_abi.kb_model_info)
        check(lib.kb_model_get_info(self._handle, ctypes.byref(info)))
        return info

    @cached_property
    def _spec(self) -> Any:
        return ctypes.cast(self._info.spec, ctypes.POINTER(_abi.kb_model_spec)).contents

    @property
    def name(self) -> str:
        """The name of the model."""
        return text(self._spec.name)

    @property
    def kind(self) -> str:
        """"bad", "bag", "hashsift", "sift" or "rootsift"."""
        return text(lib.kb_name(_abi.KB_NAMES_KIND, self._spec.kind))

    @property
    def bits(self) -> int:
        """Bits per descriptor; 0 for SIFT and RootSIFT."""
        return int(self._spec.bits)

    @cached_property
    def row_bytes(self) -> int:
        """Bytes per descriptor."""
        return int(self._info.row_bytes)

    @property
    def id(self) -> int:
        """A hash of everything that decides the bits: equal ids mean equal descriptors everywhere."""
        return int(self._info.id)

    @property
    def thresholds(self) -> Optional[Tuple[int, int]]:
        """The Hamming distances that mean for this model what 50 and 100 mean for ORB (docs/slam.md); None when they
        are not known."""
        info = self._info
        return (int(info.threshold_low), int(info.threshold_high)) if info.threshold_high else None

    @property
    def support(self) -> float:
        """The width of the described region, as a multiple of the detector's scale."""
        return float(self._spec.support)

    @property
    def sift_support(self) -> float:
        """The same for keypoints of SIFT detectors."""
        return float(self._spec.sift_support) or self.support

    def scale(self, preset: str) -> float:
        """The factor from keypoint size to described width, without the support, for keypoints of a detector: "orb",
        "sift", "akaze", ..."""
        factor = float(lib.kb_model_scale(self._handle, str(preset).encode()))
        if factor == 0:
            raise KeybitsValueError(f"no preset {preset!r}; there are {', '.join(presets())}")
        return factor

    @property
    def sampler(self) -> str:
        """"patch", "image", "octaves" (BAG, and BAG alone) or "cells"."""
        return text(lib.kb_name(_abi.KB_NAMES_SAMPLER, self._spec.sampler))

    @property
    def boxes(self) -> npt.NDArray[np.void]:
        """The boxes of BAD and BAG (box_dtype), one per bit; none for other kinds."""
        spec = self._spec
        size = int(spec.bits) * box_dtype.itemsize if spec.boxes else 0
        return np.frombuffer(ctypes.string_at(spec.boxes, size) if size else b"", box_dtype)

    @property
    def text(self) -> str:
        """How the model was learned."""
        return text(self._spec.text)

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


def scale_of(scale: Union[float, str], model: Optional[Model] = None) -> float:
    """A scale that is given as a number, or by the name of a preset: that of the model, if there is one."""
    if not isinstance(scale, str):
        return number("scale", scale, 0, 100)
    return preset_scale(scale) if model is None else model.scale(scale)


_default_models: Dict[str, Model] = {}


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
