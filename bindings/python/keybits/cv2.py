"""In place of OpenCV's own features: objects that take and return what cv2 does.

    orb = cv2.ORB_create(1000)                  # before
    orb = keybits.cv2.create(1000)              # after; the rest of the program stays as it is
    keypoints, descriptors = orb.detectAndCompute(image, None)
    matcher = keybits.cv2.Matcher(crossCheck=True)  # was: cv2.BFMatcher(cv2.NORM_HAMMING, crossCheck=True)

Colour images are BGR, as cv2.imread gives them. Lists of cv2.KeyPoint and cv2.DMatch are converted from and to arrays by
to_keypoints, from_keypoints, to_matches and from_matches.
"""
import sys
from itertools import islice, repeat, starmap
from typing import Any, List, Optional, Sequence, Tuple, Union

import numpy as np

try:
    import cv2  # type: ignore[import]
except ImportError as _error:
    raise ImportError("keybits.cv2 needs OpenCV's Python module (Debian: python3-opencv)") from _error

from ._arrays import Keypoints, Matches, keypoint_array, keypoint_dtype, match_dtype, to_gray
from ._checked import KeybitsValueError
from .features import DEFAULT_DETECTOR, Detector, describe
from .matching import match, match_array, match_knn
from .models import Model, model_of

# ------------------------------------------------------------------------------------------------------- conversion
# cv2.KeyPoint and cv2.DMatch are C++ structs behind Python's object header, and their fields lie in the order of our
# own. So the values of a list can be copied as one block of memory. That this is so here is tried out at import; where
# it is not (another Python, another OpenCV), the fields are copied one by one.

_HEADER = object.__basicsize__ if sys.implementation.name == "cpython" else 0
_POINTER = np.dtype(np.intp).itemsize
_dmatch_dtype = np.dtype([("queryIdx", np.int32), ("trainIdx", np.int32), ("imgIdx", np.int32),
                          ("distance", np.float32)])


class _Memory:
    """Memory as numpy sees it: blocks of `size` bytes, one at every so many bytes from an address on."""

    def __init__(self, start: int, count: int, size: int, step: int) -> None:
        self.__array_interface__ = {"data": (start, False), "shape": (count,), "strides": (step,),
                                    "typestr": f"|V{size}", "version": 3}


def _addresses(objects: Sequence[Any]) -> Any:
    """id() of every object: an array of objects is an array of their addresses."""
    try:
        pointers = np.fromiter(objects, object, len(objects))
    except ValueError:  # numpy before 1.23 makes no arrays of objects this way
        return np.fromiter(map(id, objects), np.intp, len(objects))
    return np.array(_Memory(pointers.ctypes.data, len(objects), _POINTER, _POINTER)).view(np.intp)


def _blocks(objects: Sequence[Any], start: int, size: int) -> Tuple[Any, Any]:
    """Memory, and where in it the blocks are that lie `start` bytes behind the beginning of every object."""
    addresses = _addresses(objects)
    first = int(addresses.min())
    places = (addresses - first) // _POINTER  # objects are aligned
    return np.asarray(_Memory(first + start, int(places.max()) + 1, size, _POINTER)), places


def _read_blocks(objects: Sequence[Any], kind: Any, dtype: Any) -> Optional[Any]:
    """The values of objects of exactly this type; None when there is another among them. The address of its type ends
    the header of an object."""
    if not objects:
        return np.zeros(0, dtype)
    typed = np.dtype([("type", np.intp), ("value", f"V{dtype.itemsize}")])
    memory, places = _blocks(objects, _HEADER - _POINTER, typed.itemsize)
    found = memory[places].view(typed)
    return found["value"].copy().view(dtype) if (found["type"] == id(kind)).all() else None


def _write_blocks(values: Any, kind: Any) -> List[Any]:
    """As many new objects with these values."""
    objects = list(map(kind.__new__, repeat(kind, len(values))))  # all their values are set below
    if objects:
        memory, places = _blocks(objects, _HEADER, values.dtype.itemsize)
        memory[places] = np.ascontiguousarray(values).view(memory.dtype)
    return objects


def _keypoint_fields(keypoint: Any) -> Tuple[Any, ...]:
    return (*keypoint.pt, keypoint.size, keypoint.angle, keypoint.response, keypoint.octave, keypoint.class_id)


def _match_fields(each: Any) -> Tuple[Any, ...]:
    return each.queryIdx, each.trainIdx, each.imgIdx, each.distance


def _layout_is_known() -> bool:
    """Whether the blocks of a few objects hold what their fields say."""
    if not _HEADER or any(_HEADER + dtype.itemsize > kind.__basicsize__
                          for kind, dtype in ((cv2.KeyPoint, keypoint_dtype), (cv2.DMatch, _dmatch_dtype))):
        return False
    keypoints = [cv2.KeyPoint(1.5 + i, -2.25, 31, 77, 0.125, 3 + i, -9) for i in range(3)]
    matches = [cv2.DMatch(5, 6 + i, 7, 8.5) for i in range(3)]
    for objects, dtype, fields in ((keypoints, keypoint_dtype, _keypoint_fields),
                                   (matches, _dmatch_dtype, _match_fields)):
        block = _read_blocks(objects, type(objects[0]), dtype)
        if block is None or block.tolist() != [fields(each) for each in objects]:
            return False
    return True


_BLOCKS = _layout_is_known()


def to_keypoints(keypoints: Any) -> List[Any]:
    """A list of cv2.KeyPoint out of an array of keypoint_dtype."""
    array = keypoint_array(keypoints)
    return _write_blocks(array, cv2.KeyPoint) if _BLOCKS else list(starmap(cv2.KeyPoint, array.tolist()))


def from_keypoints(keypoints: Sequence[Any]) -> Keypoints:
    """An array of keypoint_dtype out of a list of cv2.KeyPoint."""
    block = _read_blocks(keypoints, cv2.KeyPoint, keypoint_dtype) if _BLOCKS else None
    if block is not None:
        return block  # type: ignore[no-any-return]
    try:
        return np.array([_keypoint_fields(each) for each in keypoints], keypoint_dtype)
    except AttributeError as error:
        raise KeybitsValueError(f"keypoints are a list of cv2.KeyPoint: {error}") from None


def to_matches(matches: Any) -> List[Any]:
    """A list of cv2.DMatch out of an array of match_dtype."""
    array = match_array(matches)
    values = np.zeros(len(array), _dmatch_dtype)
    values["queryIdx"], values["trainIdx"], values["distance"] = array["a"], array["b"], array["distance"]
    return _write_blocks(values, cv2.DMatch) if _BLOCKS else list(starmap(cv2.DMatch, values.tolist()))


def from_matches(matches: Sequence[Any]) -> Matches:
    """An array of match_dtype out of a list of cv2.DMatch, or of the pairs that knnMatch(..., k=2) returns; `second`
    is infinity where there is none."""
    nearest, second = matches, None
    if matches and isinstance(matches[0], (list, tuple)):
        pairs = [pair for pair in matches if pair]
        nearest = [pair[0] for pair in pairs]
        second = [pair[1].distance if len(pair) > 1 else np.inf for pair in pairs]
    values = _match_values(nearest)
    result = np.empty(len(values), match_dtype)
    result["a"], result["b"], result["distance"] = (values[name] for name in ("queryIdx", "trainIdx", "distance"))
    result["second"] = np.inf if second is None else second
    return result


def _match_values(matches: Sequence[Any]) -> Any:
    block = _read_blocks(matches, cv2.DMatch, _dmatch_dtype) if _BLOCKS else None
    if block is not None:
        return block
    try:
        return np.array([_match_fields(each) for each in matches], _dmatch_dtype)
    except AttributeError as error:
        raise KeybitsValueError(f"matches are a list of cv2.DMatch: {error}") from None


# ---------------------------------------------------------------------------------------------------------- features

class Features2D:
    """A detector and a descriptor with the methods of cv2.Feature2D."""

    def __init__(self, nfeatures: int = 500, model: Union[Model, str, None] = None,
                 detector: Union[str, Detector] = DEFAULT_DETECTOR, scale: Union[float, str, None] = None,
                 **options: Any) -> None:
        self._detector = detector if isinstance(detector, Detector) else Detector(detector, nfeatures, **options)
        self._model = model_of(model)
        preset = self._detector.name if scale is None else scale
        self._scale = self._model.scale(preset) if isinstance(preset, str) else float(preset)

    def detect(self, image: Any, mask: Any = None) -> Any:
        """Keypoints of an image as a tuple of cv2.KeyPoint; of a list of images as a tuple of such tuples."""
        if isinstance(image, (list, tuple)):
            masks = mask if mask is not None else [None] * len(image)
            return tuple(self.detect(each, each_mask) for each, each_mask in zip(image, masks))
        return tuple(to_keypoints(self._detector.detect(to_gray(image, "BGR"), mask)))

    def compute(self, image: Any, keypoints: Any, descriptors: Any = None) -> Tuple[Any, Any]:
        """The keypoints as they were given, and their descriptors (n x bytes, None when there are no keypoints). Every
        keypoint keeps its row; one that cannot be described has a row of zeros."""
        if isinstance(image, (list, tuple)):
            both = [self.compute(*pair) for pair in zip(image, keypoints)]
            return tuple(pair[0] for pair in both), tuple(pair[1] for pair in both)
        if len(keypoints) == 0:
            return (), None
        rows = describe(to_gray(image, "BGR"), from_keypoints(keypoints), self._model, self._scale)
        return tuple(keypoints), rows

    def detectAndCompute(self, image: Any, mask: Any = None, descriptors: Any = None,
                         useProvidedKeypoints: bool = False) -> Tuple[Any, Any]:
        """Keypoints (a tuple of cv2.KeyPoint) and their descriptors (n x bytes, or None without keypoints)."""
        if useProvidedKeypoints:
            raise KeybitsValueError("with keypoints of your own, call compute(image, keypoints)")
        keypoints, rows = self._detector._detect_and_describe(to_gray(image, "BGR"), self._model, mask, self._scale)
        return tuple(to_keypoints(keypoints)), rows if len(rows) else None

    def descriptorSize(self) -> int:
        """Bytes per descriptor."""
        return self._model.row_bytes

    def descriptorType(self) -> int:
        """cv2.CV_8U."""
        return int(cv2.CV_8U)

    def defaultNorm(self) -> int:
        """cv2.NORM_HAMMING; cv2.NORM_L2 for SIFT and RootSIFT."""
        return int(cv2.NORM_HAMMING if self._model.bits else cv2.NORM_L2)

    def getDefaultName(self) -> str:
        """"Feature2D.keybits." and the model's name."""
        return f"Feature2D.keybits.{self._model.name}"

    def empty(self) -> bool:
        """True, as of cv2.ORB."""
        return True

    def getMaxFeatures(self) -> int:
        """As cv2.ORB's."""
        return self._detector.max_keypoints


def create(nfeatures: int = 500, model: Union[Model, str, None] = None,
           detector: Union[str, Detector] = DEFAULT_DETECTOR, scale: Union[float, str, None] = None, **options: Any) -> Features2D:
    """In place of cv2.ORB_create(nfeatures): hessian's keypoints (or ORB's, detector="orb") with bag256's bits.

    model: "bag256" (default), "bad256", a Model ...; detector: "hessian", "orb", "sift" or a Detector; scale: the
    preset of keypoints that compute() is given from elsewhere, such as "akaze"; options: those of keybits.Detector."""
    return Features2D(nfeatures, model, detector, scale, **options)


class Matcher:
    """In place of cv2.BFMatcher(cv2.NORM_HAMMING, crossCheck): the same matches, sooner."""

    def __init__(self, crossCheck: bool = False) -> None:
        self._mutual = bool(crossCheck)

    def match(self, queryDescriptors: Any, trainDescriptors: Any) -> Tuple[Any, ...]:
        """The nearest row of every query as a tuple of cv2.DMatch; with crossCheck only mutual ones."""
        return tuple(to_matches(match(queryDescriptors, trainDescriptors, mutual=self._mutual)))

    def knnMatch(self, queryDescriptors: Any, trainDescriptors: Any, k: int) -> Tuple[Any, ...]:
        """The k nearest rows of every query, a tuple of cv2.DMatch each."""
        if self._mutual:
            raise KeybitsValueError("crossCheck and knnMatch exclude each other")
        index, distance = match_knn(queryDescriptors, trainDescriptors, k)
        values = np.zeros(index.shape, match_dtype)
        values["a"], values["b"], values["distance"] = np.arange(len(index))[:, np.newaxis], index, distance
        there = index >= 0
        objects = iter(to_matches(values[there]))
        return tuple(tuple(islice(objects, count)) for count in there.sum(axis=1).tolist())
