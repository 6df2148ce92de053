# SPDX-License-Identifier: Apache-2.0
"""numpy arrays at the boundary: dtypes of the C structs, views of images, checked conversions."""
import ctypes
import os
from itertools import chain
from operator import attrgetter
from typing import Any, Optional, Protocol, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _abi
from ._checked import KeybitsValueError
from ._library import new, whole

#: The seven fields of cv::KeyPoint, 28 bytes.
keypoint_dtype = np.dtype([("x", np.float32), ("y", np.float32), ("size", np.float32), ("angle", np.float32),
                           ("response", np.float32), ("octave", np.int32), ("class_id", np.int32)])
#: A match: rows a and b, their distance, and the distance from a to its second nearest row.
match_dtype = np.dtype([("a", np.int32), ("b", np.int32), ("distance", np.float32), ("second", np.float32)])

Keypoints = npt.NDArray[np.void]
Matches = npt.NDArray[np.void]
Rows = npt.NDArray[np.uint8]
Image = Union[npt.NDArray[np.uint8], npt.NDArray[np.uint16]]

#: What functions take in place of the above: whatever numpy makes such an array of.
ImageLike = npt.ArrayLike
RowsLike = npt.ArrayLike
MatchesLike = npt.ArrayLike
PointsLike = npt.ArrayLike


class HasKeypoints(Protocol):
    """Features."""
    @property
    def keypoints(self) -> Keypoints:
        """An array of keypoint_dtype."""


#: An array of keypoint_dtype, n x 2 places, a list of cv2.KeyPoint, or Features.
KeypointsLike = Union[npt.ArrayLike, Sequence[object], HasKeypoints]

# ITU-R BT.601 in 1/32768, as the program's decoders and OpenCV's cvtColor (docs/formats.md).
_LUMA = (9798, 19235, 3735)


def to_gray(image: ImageLike, order: str = "RGB") -> Image:
    """Colour (height x width x 3 or 4) to gray by BT.601 luma; gray is returned as it is. `order` is "RGB" or "BGR"
    (OpenCV's); a fourth channel is ignored."""
    if image is None:
        raise KeybitsValueError("the image is None, which cv2.imread gives for a file that it cannot read")
    if isinstance(image, (str, bytes, os.PathLike)):
        raise KeybitsValueError(f"an image is an array, not the name of a file: {os.fspath(image)!r}")
    array = np.asarray(image)
    if array.ndim == 2:
        return array
    if array.ndim != 3 or array.shape[2] not in (1, 3, 4):
        raise KeybitsValueError(f"an image has the shape (height, width) or (height, width, 3), not {array.shape}")
    if array.shape[2] == 1:
        return array[:, :, 0]
    if order not in ("RGB", "BGR"):
        raise KeybitsValueError(f'order is "RGB" or "BGR", not {order!r}')
    if array.dtype not in (np.uint8, np.uint16):
        raise KeybitsValueError(f"an image is uint8 or uint16, not {array.dtype}")
    weights = _LUMA if order == "RGB" else _LUMA[::-1]
    luma = np.full(array.shape[:2], 16384, np.uint32)
    term = np.empty_like(luma)
    for channel, weight in enumerate(weights):
        np.multiply(array[:, :, channel], np.uint32(weight), out=term, dtype=np.uint32)
        luma += term
    luma >>= 15
    gray: Image = luma.astype(array.dtype)
    return gray


def image_view(image: Any, white: int = 0) -> Tuple[Any, Any]:
    """A kb_image over a numpy array of any row stride, without a copy where pixels of a row lie side by side; and the
    array that must stay alive during the call."""
    array = to_gray(image)
    if array.dtype == np.dtype(np.uint16).newbyteorder():
        array = array.astype(np.uint16)
    if array.dtype not in (np.uint8, np.uint16):
        raise KeybitsValueError(f"an image is uint8 or uint16, not {array.dtype}")
    if array.shape[0] == 0 or array.shape[1] == 0:
        raise KeybitsValueError("the image has no pixels")
    row_bytes = array.shape[1] * array.itemsize
    if array.strides[1] != array.itemsize or array.strides[0] < row_bytes or not array.flags.aligned:
        array = np.ascontiguousarray(array)
    stride = array.strides[0] if array.shape[0] > 1 else row_bytes
    view = _abi.kb_image(array.ctypes.data, array.shape[1], array.shape[0], stride,
                         _abi.KB_FORMAT_GRAY8 if array.itemsize == 1 else _abi.KB_FORMAT_GRAY16,
                         whole("white", white, 0, 65535))
    return view, array


def keypoints_from_objects(keypoints: Sequence[object]) -> Keypoints:
    """An array of keypoint_dtype out of a list of cv2.KeyPoint."""
    result = np.empty(len(keypoints), keypoint_dtype)
    try:
        places = np.fromiter(chain.from_iterable(map(attrgetter("pt"), keypoints)), np.float32, 2 * len(result))
        result["x"], result["y"] = places[::2], places[1::2]
        for name in ("size", "angle", "response", "octave", "class_id"):
            result[name] = np.fromiter(map(attrgetter(name), keypoints), keypoint_dtype[name], len(result))
    except AttributeError as error:
        raise KeybitsValueError(f"keypoints are a list of cv2.KeyPoint: {error}") from None
    return result


def keypoint_array(keypoints: Any) -> Keypoints:
    """Contiguous keypoints of keypoint_dtype, also out of Features. A list of cv2.KeyPoint is converted; an n x 2 array
    of places becomes keypoints of size 31 without angle."""
    keypoints = getattr(keypoints, "keypoints", keypoints)
    if isinstance(keypoints, (list, tuple)) and (not keypoints or hasattr(keypoints[0], "pt")):
        return keypoints_from_objects(keypoints)
    array = np.asarray(keypoints)
    if array.dtype == keypoint_dtype and array.ndim == 1:
        return np.ascontiguousarray(array)
    if array.dtype.names is None and array.ndim == 2 and array.shape[1] == 2:
        result = np.zeros(len(array), keypoint_dtype)
        result["x"], result["y"] = array[:, 0], array[:, 1]
        result["size"], result["angle"], result["class_id"] = 31, -1, -1
        return result
    raise KeybitsValueError("keypoints are an array of keybits.keypoint_dtype, a list of cv2.KeyPoint or n x 2 places; "
                            f"this has the dtype {array.dtype} and the shape {array.shape}")


def row_array(rows: Any, name: str = "descriptors") -> Rows:
    array = np.asarray(rows)
    if array.dtype == np.object_:
        raise KeybitsValueError(f"{name}: rows are n x bytes of uint8, such as Features.descriptors, "
                                f"not {type(rows).__name__}")
    if array.ndim != 2 or array.dtype != np.uint8:
        raise KeybitsValueError(f"{name}: rows are n x bytes of uint8, not {array.dtype} of the shape {array.shape}")
    if array.size and (array.strides[1] != 1 or array.strides[0] < array.shape[1]):
        array = np.ascontiguousarray(array)
    return array


def numbers(name: str, values: Any, dtype: Any) -> Any:
    """A contiguous array of that type; numbers that it does not hold raise, where numpy would wrap or cut them."""
    try:
        given = np.asarray(values)
        array = np.ascontiguousarray(given.astype(dtype))
    except (TypeError, ValueError, OverflowError) as error:
        raise KeybitsValueError(f"{name}: {error}") from None
    if array.dtype.kind in "iu" and not np.array_equal(array.reshape(given.shape), given):
        raise KeybitsValueError(f"{name}: these are not all whole numbers of {array.dtype}")
    return array


def row_stride(rows: Rows) -> int:
    return int(rows.strides[0]) if len(rows) > 1 else 0


def output(out: Optional[Any], shape: Tuple[int, ...], dtype: Any, name: str = "out") -> Any:
    """`out` checked, or a new array."""
    if out is None:
        return np.empty(shape, dtype)
    if not isinstance(out, np.ndarray) or out.dtype != dtype or out.shape != shape or not out.flags.c_contiguous \
            or not out.flags.writeable:
        raise KeybitsValueError(f"{name} must be a contiguous writable array of {np.dtype(dtype)} and shape {shape}")
    return out


def address(array: Any) -> Optional[int]:
    """The address of an array's first element; None for an empty one."""
    return int(array.ctypes.data) if array.size else None


def features_view(keypoints: Any = None, rows: Any = None, **fields: Any) -> Any:
    """A kb_features over arrays, which must stay alive, to read or to fill."""
    n = len(keypoints if rows is None else rows)
    view = new(_abi.kb_features, n=n, capacity=n, **fields)
    if keypoints is not None:
        view.keypoints = address(keypoints)
    if rows is not None:
        view.rows, view.row_stride, view.floats = address(rows), row_stride(rows), int(rows.dtype == np.float32)
        view.row_bytes = max(rows.shape[1], 1) * rows.itemsize
        view.rows_size = rows.nbytes if rows.flags.c_contiguous else 0
    return view


def bytes_pointer(data: bytes) -> Any:
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p)
