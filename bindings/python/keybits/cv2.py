# SPDX-License-Identifier: Apache-2.0
"""In place of OpenCV's own features: objects that take and return what cv2 does.

    orb = cv2.ORB_create(1000)                  # before
    orb = keybits.cv2.create(1000)              # after; the rest of the program stays as it is
    keypoints, descriptors = orb.detectAndCompute(image, None)
    matcher = keybits.cv2.Matcher(cv2.NORM_HAMMING, crossCheck=True)  # was: cv2.BFMatcher(...)

Colour images are BGR, as cv2.imread gives them. Lists of cv2.KeyPoint and cv2.DMatch are converted from and to arrays by
to_keypoints, from_keypoints, to_matches and from_matches.
"""
import warnings
from itertools import islice, repeat
from operator import attrgetter
from typing import Dict, List, Optional, Sequence, Set, Tuple, Union, cast

import numpy as np
import numpy.typing as npt

try:
    import cv2  # type: ignore[import]
except ImportError as _error:
    raise ImportError("keybits.cv2 needs OpenCV's Python module (Debian: python3-opencv)") from _error

from . import _abi
from ._arrays import (Image, ImageLike, Keypoints, KeypointsLike, Matches, MatchesLike, keypoint_array,
                      keypoints_from_objects, match_dtype, to_gray)
from ._checked import KeybitsValueError
from ._library import number, whole
from .features import DEFAULT_DETECTOR, Detector, describe, has_option
from .matching import match, match_array, match_knn
from .models import Model, model_of, presets

_said: Set[str] = set()


def _say_once(sentence: str) -> None:
    if sentence not in _said:
        _said.add(sentence)
        warnings.warn(sentence, stacklevel=4)


# ------------------------------------------------------------------------------------------------------- conversion

def to_keypoints(keypoints: KeypointsLike) -> List[object]:
    """A list of cv2.KeyPoint out of an array of keypoint_dtype."""
    array = keypoint_array(keypoints)
    return list(map(cv2.KeyPoint, *(array[name].tolist() for name in array.dtype.names or ())))


def from_keypoints(keypoints: Sequence[object]) -> Keypoints:
    """An array of keypoint_dtype out of a list of cv2.KeyPoint."""
    return keypoints_from_objects(keypoints)


def to_matches(matches: MatchesLike) -> List[object]:
    """A list of cv2.DMatch out of an array of match_dtype."""
    array = match_array(matches)
    return list(map(cv2.DMatch, array["a"].tolist(), array["b"].tolist(), repeat(0), array["distance"].tolist()))


def from_matches(matches: Sequence[object]) -> Matches:
    """An array of match_dtype out of a list of cv2.DMatch, or of the pairs that knnMatch(..., k=2) returns; `second`
    is infinity where there is none."""
    nearest, second = matches, None
    if len(matches) and isinstance(matches[0], (list, tuple)):
        pairs = [pair for pair in cast(Sequence[Sequence[object]], matches) if pair]
        nearest = [pair[0] for pair in pairs]
        second = [attrgetter("distance")(pair[1]) if len(pair) > 1 else np.inf for pair in pairs]
    result = np.empty(len(nearest), match_dtype)
    try:
        for field, attribute in (("a", "queryIdx"), ("b", "trainIdx"), ("distance", "distance")):
            result[field] = np.fromiter(map(attrgetter(attribute), nearest), match_dtype[field], len(nearest))
    except AttributeError as error:
        raise KeybitsValueError(f"matches are a list of cv2.DMatch: {error}") from None
    result["second"] = np.inf if second is None else second
    return result


def _array(value: object) -> object:
    """What a cv2.UMat holds; anything else as it is."""
    return value.get() if isinstance(value, cv2.UMat) else value


def _gray(image: object) -> Image:
    return to_gray(cast(ImageLike, _array(image)), "BGR")


# ---------------------------------------------------------------------------------------------------------- features

_Number = Union[int, float]
# Arguments of cv2.ORB_create in their order. A value that is the default there stands for ours.
_ORB: Dict[str, _Number] = {"nfeatures": 500, "scaleFactor": 1.2, "nlevels": 8, "edgeThreshold": 31, "firstLevel": 0,
                            "WTA_K": 2, "scoreType": int(cv2.ORB_HARRIS_SCORE), "patchSize": 31, "fastThreshold": 20}
# Those that are options of some detectors here.
_MEANING = {"scaleFactor": "level_factor", "nlevels": "levels", "fastThreshold": "fast_threshold"}
_USUAL_WIDTH = 31.0  # px, of the keypoints that hessian and orb find on the image itself


class Features2D:
    """A detector and a descriptor with the methods of cv2.ORB; `create` makes one. After a setter was called, the next
    call of a method works with the new value; threads may share an object that nobody sets anything of."""

    def __init__(self, orb: Dict[str, _Number], model: Union[Model, str, None] = None,
                 detector: Union[str, Detector] = DEFAULT_DETECTOR, scale: Union[float, str, None] = None,
                 options: Optional[Dict[str, object]] = None) -> None:
        self._model = model_of(model)
        self._orb: Dict[str, _Number] = dict(_ORB)
        self._preset_given = scale is not None
        if isinstance(detector, Detector):
            if orb or options:
                raise KeybitsValueError(f"{', '.join([*orb, *(options or {})])}: a Detector has its own")
            self._detector = detector
            self._orb["nfeatures"] = detector.max_keypoints
        else:
            self._detector = Detector(detector, 500, **(options or {}))  # type: ignore[arg-type]
            self._set(**orb)
        preset = self._detector.name if scale is None else scale
        self._scale = self._model.scale(preset) if isinstance(preset, str) else number("scale", preset, 0, 100)

    def _set(self, **orb: _Number) -> None:
        """Takes values of cv2.ORB_create over into the detector."""
        arguments = dict(self._detector._arguments)
        for name, value in orb.items():
            given = number(name, value, -1e9, 1e9) if name == "scaleFactor" else whole(name, value, -2 ** 31, 2 ** 31)
            self._orb[name] = given
            if name == "nfeatures":
                arguments["max_keypoints"] = given
            elif name in _MEANING and has_option(self._detector.name, _MEANING[name]):
                arguments[_MEANING[name]] = None if abs(given - _ORB[name]) < 1e-6 else given
            elif given != _ORB[name]:
                _say_once(f"{name} has no meaning for keybits' detector {self._detector.name} and is ignored")
        self._detector = Detector(**arguments)

    def detect(self, image: object, mask: object = None) -> Tuple[object, ...]:
        """Keypoints of an image as a tuple of cv2.KeyPoint; of a list of images as a tuple of such tuples."""
        if isinstance(image, (list, tuple)):
            masks = cast(Sequence[object], mask if mask is not None else [None] * len(image))
            return tuple(self.detect(each, each_mask) for each, each_mask in zip(image, masks))
        return tuple(to_keypoints(self._detector.detect(_gray(image), cast(ImageLike, _array(mask)))))

    def compute(self, image: object, keypoints: Sequence[object],
                descriptors: object = None) -> Tuple[Tuple[object, ...], object]:
        """The keypoints as they were given, and their descriptors (n x bytes, None when there are no keypoints). Every
        keypoint keeps its row; one that cannot be described has a row of zeros. A size too small for a region means
        that the keypoint has none, as cv2.KeyPoint(x, y, 1); it is then described with the size that keypoints of
        hessian and orb have on the image itself, 31 px."""
        if isinstance(image, (list, tuple)):
            both = [self.compute(each, cast(Sequence[object], points)) for each, points in zip(image, keypoints)]
            return tuple(pair[0] for pair in both), tuple(pair[1] for pair in both)
        if keypoints is None or len(keypoints) == 0:
            return (), None
        places = self._with_sizes(from_keypoints(keypoints))
        rows = describe(_gray(image), places, self._model, self._scale)
        return tuple(keypoints), cv2.UMat(rows) if isinstance(image, cv2.UMat) else rows

    def _with_sizes(self, keypoints: Keypoints) -> Keypoints:
        width = keypoints["size"] * self._scale
        none = width < _abi.KB_SMALL_PATCH
        if none.any():
            _say_once(f"keypoints below {_abi.KB_SMALL_PATCH / self._scale:.3g} px have no size that can be described; "
                      f"they are described with {_USUAL_WIDTH / self._scale:.3g} px. keybits.cv2.create(scale=...) "
                      f"takes the detector of the keypoints: {', '.join(presets())}")
            keypoints["size"][none] = _USUAL_WIDTH / self._scale
        elif not self._preset_given and has_option(self._detector.name, "levels") \
                and np.median(width) < 0.9 * _USUAL_WIDTH:
            _say_once(f"the keypoints are smaller than {self._detector.name}'s, so they are of another detector: "
                      f"keybits.cv2.create(scale=...) takes its name: {', '.join(presets())}")
        return keypoints

    def detectAndCompute(self, image: object, mask: object = None, descriptors: object = None,
                         useProvidedKeypoints: bool = False) -> Tuple[Tuple[object, ...], object]:
        """Keypoints (a tuple of cv2.KeyPoint) and their descriptors (n x bytes, or None without keypoints)."""
        if useProvidedKeypoints:
            raise KeybitsValueError("with keypoints of your own, call compute(image, keypoints)")
        keypoints, rows, _ = self._detector._detect_and_describe(_gray(image), self._model,
                                                                cast(Optional[ImageLike], _array(mask)), self._scale)
        if len(rows) == 0:
            return (), None
        return tuple(to_keypoints(keypoints)), cv2.UMat(rows) if isinstance(image, cv2.UMat) else rows

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
        """True, as cv2.ORB's."""
        return True

    def getMaxFeatures(self) -> int:
        """The maximum number of keypoints."""
        return int(self._orb["nfeatures"])

    def setMaxFeatures(self, maxFeatures: int) -> None:
        """The maximum number of keypoints."""
        self._set(nfeatures=maxFeatures)

    def getScaleFactor(self) -> float:
        """The factor between two levels of the pyramid."""
        return float(self._orb["scaleFactor"])

    def setScaleFactor(self, scaleFactor: float) -> None:
        """The factor between two levels of the pyramid, of hessian and orb."""
        self._set(scaleFactor=scaleFactor)

    def getNLevels(self) -> int:
        """Levels of the pyramid."""
        return int(self._orb["nlevels"])

    def setNLevels(self, nlevels: int) -> None:
        """Levels of the pyramid, of hessian and orb."""
        self._set(nlevels=nlevels)

    def getFastThreshold(self) -> int:
        """The threshold of FAST."""
        return int(self._orb["fastThreshold"])

    def setFastThreshold(self, fastThreshold: int) -> None:
        """The threshold of FAST, of the detector orb; ignored by others."""
        self._set(fastThreshold=fastThreshold)

    def getEdgeThreshold(self) -> int:
        """What was set."""
        return int(self._orb["edgeThreshold"])

    def setEdgeThreshold(self, edgeThreshold: int) -> None:
        """Ignored: regions may leave the image."""
        self._set(edgeThreshold=edgeThreshold)

    def getFirstLevel(self) -> int:
        """What was set."""
        return int(self._orb["firstLevel"])

    def setFirstLevel(self, firstLevel: int) -> None:
        """Ignored."""
        self._set(firstLevel=firstLevel)

    def getWTA_K(self) -> int:
        """What was set."""
        return int(self._orb["WTA_K"])

    def setWTA_K(self, wta_k: int) -> None:
        """Ignored: the model decides about bits."""
        self._set(WTA_K=wta_k)

    def getScoreType(self) -> int:
        """What was set."""
        return int(self._orb["scoreType"])

    def setScoreType(self, scoreType: int) -> None:
        """Ignored: the detector has its own score."""
        self._set(scoreType=scoreType)

    def getPatchSize(self) -> int:
        """What was set."""
        return int(self._orb["patchSize"])

    def setPatchSize(self, patchSize: int) -> None:
        """Ignored: the model decides about the width of a region."""
        self._set(patchSize=patchSize)


def create(nfeatures: Optional[int] = None, scaleFactor: Optional[float] = None, nlevels: Optional[int] = None,
           edgeThreshold: Optional[int] = None, firstLevel: Optional[int] = None, WTA_K: Optional[int] = None,
           scoreType: Optional[int] = None, patchSize: Optional[int] = None, fastThreshold: Optional[int] = None, *,
           model: Union[Model, str, None] = None, detector: Union[str, Detector] = DEFAULT_DETECTOR,
           scale: Union[float, str, None] = None, **options: object) -> Features2D:
    """In place of cv2.ORB_create, with its arguments by position and by name: hessian's keypoints (or ORB's,
    detector="orb") with bag256's bits. nfeatures is 500 by default, and a value that is ORB's default stands for ours.
    scaleFactor and nlevels are options of hessian and orb, fastThreshold of orb; what has no meaning here is accepted,
    with a warning the first time.

    model: "bag256" (default), "bad256", a Model ...; detector: a name or a Detector, which has all options of its own;
    scale: the preset of keypoints that compute() is given from elsewhere, such as "akaze"; options: those of
    keybits.Detector."""
    values = (nfeatures, scaleFactor, nlevels, edgeThreshold, firstLevel, WTA_K, scoreType, patchSize, fastThreshold)
    if isinstance(scaleFactor, (str, Model)):
        raise KeybitsValueError(f"the second argument is scaleFactor, as cv2.ORB_create's, not {scaleFactor!r}; a "
                                "model is given by its name: model=...")
    return Features2D({name: value for name, value in zip(_ORB, values) if value is not None}, model, detector, scale,
                      options)


# ---------------------------------------------------------------------------------------------------------- matching

_ADDED = object()  # in place of train rows: those that were added


class Matcher:
    """In place of cv2.BFMatcher(normType, crossCheck): the same matches, sooner where rows of bytes are compared by
    NORM_HAMMING (the default here) and no masks are given. Everything else is left to a cv2.BFMatcher inside."""

    def __init__(self, normType: int = cv2.NORM_HAMMING, crossCheck: bool = False) -> None:
        if isinstance(normType, bool):
            raise KeybitsValueError("the first argument is normType, as cv2.BFMatcher's; crossCheck is the second")
        self._norm, self._mutual = int(normType), bool(crossCheck)
        self._trained: List[object] = []
        self._theirs = cv2.BFMatcher(self._norm, self._mutual)

    @classmethod
    def create(cls, normType: int = cv2.NORM_HAMMING, crossCheck: bool = False) -> "Matcher":
        """As cv2.BFMatcher.create."""
        return cls(normType, crossCheck)

    def __reduce__(self) -> Tuple[object, ...]:
        return _restore_matcher, (self._norm, self._mutual, [_array(rows) for rows in self._trained])

    def add(self, descriptors: Sequence[object]) -> None:
        """Adds the rows of images, one array each, to those that a query without train rows is compared with."""
        self._theirs.add(descriptors)
        self._trained += descriptors

    def clear(self) -> None:
        """Forgets the rows that were added."""
        self._theirs.clear()
        self._trained = []

    def train(self) -> None:
        """Nothing, as cv2.BFMatcher's."""

    def empty(self) -> bool:
        """Whether no rows were added."""
        return bool(self._theirs.empty())

    def getTrainDescriptors(self) -> Tuple[object, ...]:
        """The rows that were added."""
        return tuple(self._theirs.getTrainDescriptors())

    def isMaskSupported(self) -> bool:
        """True."""
        return True

    def getDefaultName(self) -> str:
        """As cv2.BFMatcher's."""
        return str(self._theirs.getDefaultName())

    def clone(self, emptyTrainData: bool = False) -> "Matcher":
        """Another matcher, with the rows that were added unless told otherwise."""
        return _restore_matcher(self._norm, self._mutual, [] if emptyTrainData else self._trained)

    def match(self, queryDescriptors: object, trainDescriptors: object = _ADDED, mask: object = None, *,
              masks: object = None) -> Tuple[object, ...]:
        """The nearest row of every query as a tuple of cv2.DMatch; with crossCheck only mutual ones. match(queries) and
        match(queries, masks) look among the rows that were added."""
        if isinstance(trainDescriptors, (list, tuple)):
            trainDescriptors, masks = _ADDED, trainDescriptors
        rows = self._rows(queryDescriptors, trainDescriptors, mask, masks)
        if rows is None:
            return self._ask("match", queryDescriptors, trainDescriptors, (), mask, masks)
        found = match(rows[0], rows[1], mutual=self._mutual)
        return tuple(self._objects(found["a"], found["b"], found["distance"], trainDescriptors))

    def knnMatch(self, queryDescriptors: object, trainDescriptors: object = _ADDED, k: object = None,
                 mask: object = None, compactResult: bool = False, *, masks: object = None
                 ) -> Tuple[Tuple[object, ...], ...]:
        """The k nearest rows of every query, a tuple of cv2.DMatch each. knnMatch(queries, k, masks) looks among the
        rows that were added."""
        if isinstance(trainDescriptors, (int, np.integer)):
            trainDescriptors, k, masks = _ADDED, trainDescriptors, k if masks is None else masks
        rows = self._rows(queryDescriptors, trainDescriptors, mask, masks)
        if rows is None or self._mutual or not isinstance(k, (int, np.integer)) or k < 1 or compactResult:
            return cast(Tuple[Tuple[object, ...], ...],
                        self._ask("knnMatch", queryDescriptors, trainDescriptors, (k,), mask, masks, compactResult))
        index, distance = match_knn(rows[0], rows[1], min(int(k), len(rows[1])))
        query = np.repeat(np.arange(len(index)), index.shape[1])
        objects = iter(self._objects(query, index.ravel(), distance.ravel(), trainDescriptors))
        return tuple(tuple(islice(objects, index.shape[1])) for _ in range(len(index)))

    def radiusMatch(self, queryDescriptors: object, trainDescriptors: object = _ADDED, maxDistance: object = None,
                    mask: object = None, compactResult: bool = False, *, masks: object = None
                    ) -> Tuple[Tuple[object, ...], ...]:
        """All rows up to maxDistance from every query, nearest first, by cv2.BFMatcher. radiusMatch(queries,
        maxDistance, masks) looks among the rows that were added."""
        if isinstance(trainDescriptors, (int, float, np.number)):
            trainDescriptors, maxDistance, masks = _ADDED, trainDescriptors, maxDistance if masks is None else masks
        return cast(Tuple[Tuple[object, ...], ...], self._ask("radiusMatch", queryDescriptors, trainDescriptors,
                                                              (maxDistance,), mask, masks, compactResult))

    def _ask(self, method: str, query: object, train: object, limit: Tuple[object, ...], mask: object, masks: object,
             *compact: bool) -> Tuple[object, ...]:
        """What cv2.BFMatcher says, also to what it refuses."""
        options = {} if not compact else {"compactResult": compact[0]}
        train_rows, masked = ([], {"masks": masks}) if train is _ADDED else ([train], {"mask": mask})
        given = {name: value for name, value in masked.items() if value is not None}
        return tuple(getattr(self._theirs, method)(query, *train_rows, *limit, **given, **options))

    def _rows(self, query: object, train: object, mask: object, masks: object
              ) -> Optional[Tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]]:
        """Query and train rows that keybits compares as cv2.BFMatcher does; None: ask that one. In keybits rows of
        zeros never match."""
        if self._norm != cv2.NORM_HAMMING or mask is not None or masks is not None:
            return None
        groups = [[query], self._trained if train is _ADDED else [train]]
        arrays = []
        for group in groups:
            parts = [_array(each) for each in group]
            if not parts or not all(isinstance(part, np.ndarray) and part.ndim == 2 and part.dtype == np.uint8 and
                                    part.size for part in parts):
                return None
            rows = cast(List[npt.NDArray[np.uint8]], parts)
            if len({part.shape[1] for part in rows}) > 1 or (self._mutual and len(rows) > 1):
                return None
            arrays.append(rows[0] if len(rows) == 1 else np.concatenate(rows))
        if arrays[0].shape[1] != arrays[1].shape[1] or not all(rows.any(axis=1).all() for rows in arrays):
            return None
        return arrays[0], arrays[1]

    def _objects(self, query: npt.NDArray[np.int_], index: npt.NDArray[np.int32], distance: npt.NDArray[np.float32],
                 train: object) -> List[object]:
        image = np.zeros(len(index), np.intp)
        if train is _ADDED:
            ends = np.cumsum([len(cast(Sequence[object], _array(rows))) for rows in self._trained])
            image = np.searchsorted(ends, index, side="right")
            index = index - np.concatenate([[0], ends])[image]
        return list(map(cv2.DMatch, query.tolist(), index.tolist(), image.tolist(), distance.tolist()))


def _restore_matcher(norm: int, mutual: bool, trained: Sequence[object]) -> Matcher:
    matcher = Matcher(norm, mutual)
    if trained:
        matcher.add(trained)
    return matcher
