# SPDX-License-Identifier: Apache-2.0
"""From descriptors to images: vocabularies, an index of images, and loop closing (docs/index.md)."""
import ctypes
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union, cast

import numpy as np
import numpy.typing as npt

from . import _abi
from ._arrays import (Keypoints, KeypointsLike, Matches, Rows, RowsLike, address, features_view, keypoint_array,
                      keypoint_dtype, match_dtype, numbers, row_array)
from ._checked import KeybitsFileError, KeybitsValueError, instance
from ._files import PathLike, map_file, write_file
from ._guarded import Guarded, Owner
from ._library import check, lib, long_call, new, parallel, text, whole, workspace
from .features import Features, FeaturesLike
from .geometry import GEOMETRIES, Matrix
from .models import Model, model_of

#: A result of Index.query: the image's id and position, its score (0 to 1), the inliers of the verification and the
#: different places among them (0: it failed; -1: it was not tried), the kind of geometry (a number of kb_geometry) and
#: the geometry from the query to the image.
result_dtype = np.dtype([("id", np.uint64), ("position", np.uint64), ("score", np.float64), ("inliers", np.int32),
                         ("places", np.int32), ("geometry", np.int32), ("model", np.float64, (3, 3)),
                         ("reserved", np.int32, 5)], align=True)
#: A node of a vocabulary without its row.
node_dtype = np.dtype([("first_child", np.uint32), ("children", np.uint32), ("word", np.uint32),
                       ("weight", np.float64)])

_SCORINGS = {"binary": _abi.KB_SCORING_BINARY, "tf-idf": _abi.KB_SCORING_TF_IDF, "exact": _abi.KB_SCORING_EXACT}

Words = npt.NDArray[np.uint32]


def _features(features: Any, keypoints: Any = None, size: Tuple[int, int] = (0, 0),
              model_id: int = 0) -> Tuple[Any, Any]:
    """A kb_features over Features or rows, and what must stay alive."""
    found: Dict[str, int] = {}
    if isinstance(features, Features):
        size = features.size
        found = features.origin.as_fields() if features.origin else {}
        features, keypoints, model_id = features.descriptors, features.keypoints, features.model.id
    rows = np.ascontiguousarray(row_array(features))
    places = None if keypoints is None else keypoint_array(keypoints)
    if places is not None and len(places) != len(rows):
        raise KeybitsValueError(f"{len(rows)} rows and {len(places)} keypoints")
    view = new(_abi.kb_features, rows=address(rows), n=len(rows), row_bytes=max(rows.shape[1], 1), model_id=model_id,
               keypoints=address(places) if places is not None else None, width=size[0], height=size[1], **found)
    return view, (rows, places)


def _geometry(name: str) -> int:
    if name == "any":
        return 0  # as kb_verify_options has it
    if name not in GEOMETRIES:
        raise KeybitsValueError(f"no geometry {name!r}; there are {', '.join(GEOMETRIES)}")
    return GEOMETRIES[name]


def _vocabulary_files() -> Dict[str, Path]:
    """The built-in vocabularies: in the package, or in the source tree."""
    package = Path(__file__).resolve().parent
    folders = package / "vocabularies", package.parent.parent.parent / "models"
    return {path.stem: path for path in sorted(next((f for f in folders if f.is_dir()), package).glob("*.kbv"))}


def builtin_vocabularies() -> List[str]:
    """Names that Vocabulary takes: the model and the number of words, such as "bag256-1k"."""
    return list(_vocabulary_files())


class Vocabulary:
    """A tree over binary rows whose leaves are words. `Vocabulary(source)` maps a file, or a built-in one by its name,
    such as "bag256-10k" (builtin_vocabularies); `Vocabulary.train` learns one.

    Immutable; any number of threads may use one."""

    def __init__(self, source: PathLike) -> None:
        files = _vocabulary_files()
        if isinstance(source, str) and Path(source).name == source and not Path(source).exists():
            if source not in files:
                raise KeybitsFileError(f"there is neither a file {source!r} nor a built-in vocabulary of that name; "
                                       f"these are {', '.join(files)}")
            source = files[source]
        self._open(map_file(source), str(source))

    def _open(self, data: npt.NDArray[np.uint8], what: str) -> None:
        self._alive: Any = data  # borrowed by the handle
        self._handle = ctypes.c_void_p()
        self._owned = True
        error = _abi.kb_error()
        check(lib.kb_vocabulary_load(address(data), data.size, None, ctypes.byref(self._handle), ctypes.byref(error)),
              error, what)

    @classmethod
    def _from_handle(cls, handle: Any, owner: Any = None) -> "Vocabulary":
        """The handle belongs to the new object, or to its owner (an index), which it keeps alive."""
        vocabulary = cls.__new__(cls)
        vocabulary._handle, vocabulary._alive, vocabulary._owned = handle, owner, owner is None
        return vocabulary

    @classmethod
    def from_bytes(cls, data: bytes) -> "Vocabulary":
        """A vocabulary out of the content of its file."""
        vocabulary = cls.__new__(cls)
        vocabulary._open(np.frombuffer(data, np.uint8), "vocabulary")
        return vocabulary

    @classmethod
    def train(cls, rows: Union[FeaturesLike, Sequence[FeaturesLike]], *, branching: int = 10, levels: int = 4,
              iterations: int = 10, seed: int = 0, model: Union[Model, str, None] = None) -> "Vocabulary":
        """Learns a vocabulary of up to branching ^ levels words by hierarchical k-majority clustering.

        rows: n x bytes, or one such array (or Features) per image; then words get their weight ln(images / images with
        the word). model: of the rows, whose id the vocabulary keeps; taken from Features by itself. The same rows and
        seed give the same bytes on any number of threads. Ctrl-C ends it."""
        parts: Any = [rows]
        ends = None
        if not isinstance(rows, (np.ndarray, Features)):
            parts = list(cast(Sequence[Any], rows))
            ends = np.cumsum([len(part) for part in parts], dtype=np.uintp)
        if model is None and parts and isinstance(parts[0], Features):
            model = parts[0].model
        if not parts:
            raise KeybitsValueError("there are no images to learn from")
        arrays = [row_array(part.descriptors if isinstance(part, Features) else part, "rows") for part in parts]
        if len({array.shape[1] for array in arrays}) != 1:
            raise KeybitsValueError("rows of all images must have one length; "
                                    f"these have {sorted({array.shape[1] for array in arrays})}")
        together = np.ascontiguousarray(np.concatenate(arrays))
        used = None if model is None else model_of(model)
        options = new(_abi.kb_vocabulary_options, branching=branching, levels=levels, iterations=iterations, seed=seed,
                      model=used._handle if used else None, parallel=parallel(),
                      image_ends=address(ends) if ends is not None else None, images=0 if ends is None else len(ends))
        handle, error = ctypes.c_void_p(), _abi.kb_error()
        check(long_call(lib.kb_vocabulary_train, address(together), len(together), together.shape[1],
                        ctypes.byref(options), None, ctypes.byref(handle), ctypes.byref(error),
                        keep=(together, ends, used, options)), error, "Vocabulary.train")
        return cls._from_handle(handle)

    @classmethod
    def from_tree(cls, parents: npt.ArrayLike, rows: RowsLike, weights: npt.ArrayLike, *, branching: int, levels: int,
                  model: Union[Model, str, None] = None) -> "Vocabulary":
        """A vocabulary out of a tree from elsewhere: node 0 is the root, parents[i] < i, one row and weight per
        node."""
        table = np.ascontiguousarray(row_array(rows, "rows"))
        above, weight = numbers("parents", parents, np.uint32), numbers("weights", weights, np.float64)
        if not above.shape == weight.shape == (len(table),):
            raise KeybitsValueError(f"{len(table)} rows have as many parents and weights, not arrays of the shapes "
                                    f"{above.shape} and {weight.shape}")
        used = None if model is None else model_of(model)
        spec = new(_abi.kb_vocabulary_spec, nodes=len(above), parents=address(above), rows=address(table),
                   weights=address(weight), row_bytes=table.shape[1], branching=branching, levels=levels,
                   model_id=used.id if used else 0, model_name=used.name.encode() if used else None)
        handle, error = ctypes.c_void_p(), _abi.kb_error()
        check(lib.kb_vocabulary_create(ctypes.byref(spec), None, ctypes.byref(handle), ctypes.byref(error)), error,
              "Vocabulary.from_tree")
        return cls._from_handle(handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", None) and self._owned:
            lib.kb_vocabulary_free(self._handle)

    def __reduce__(self) -> Tuple[Callable[[bytes], "Vocabulary"], Tuple[bytes]]:
        return Vocabulary.from_bytes, (self.to_bytes(),)

    def _info(self) -> Any:
        info = new(_abi.kb_vocabulary_info)
        check(lib.kb_vocabulary_get_info(self._handle, ctypes.byref(info)))
        return info

    def __len__(self) -> int:
        """The number of words."""
        return int(self._info().words)

    @property
    def nodes(self) -> int:
        """The number of nodes, with the root."""
        return int(self._info().nodes)

    @property
    def row_bytes(self) -> int:
        """Bytes per row."""
        return int(self._info().row_bytes)

    @property
    def branching(self) -> int:
        """Children per node, as it was trained."""
        return int(self._info().branching)

    @property
    def levels(self) -> int:
        """Levels of the tree, as it was trained."""
        return int(self._info().levels)

    @property
    def model_id(self) -> int:
        """The id of the model that made the rows; 0: unknown."""
        return int(self._info().model_id)

    @property
    def model_name(self) -> str:
        """The name of that model."""
        return text(self._info().model_name)

    def node(self, index: int) -> Tuple[np.void, npt.NDArray[np.uint8]]:
        """Node `index` (0 is the root): its fields (node_dtype) and its row."""
        node = _abi.kb_vocabulary_node()
        if not 0 <= index < self.nodes or not lib.kb_vocabulary_get_node(self._handle, index, ctypes.byref(node)):
            raise KeybitsValueError(f"no node {index}; there are {self.nodes}")
        fields = np.array((node.first_child, node.children, node.word, node.weight), node_dtype)
        return cast(np.void, fields[()]), np.frombuffer(ctypes.string_at(node.row, self.row_bytes), np.uint8)

    def words(self, features: FeaturesLike) -> Words:
        """The word of every row (n x bytes, or Features)."""
        return self._words(features, 0, False)[0]

    def words_and_nodes(self, features: FeaturesLike, levels_up: int = 4) -> Tuple[Words, Words]:
        """The word of every row, and the node that it passed levels_up above: ORB-SLAM's feature vector."""
        words, nodes = self._words(features, levels_up, True)
        assert nodes is not None
        return words, nodes

    def _words(self, features: Any, levels_up: int, want_nodes: bool) -> Tuple[Words, Optional[Words]]:
        view, alive = _features(features)
        words = np.empty(view.n, np.uint32)
        nodes = np.empty(view.n, np.uint32) if want_nodes else None
        error = _abi.kb_error()
        options = new(_abi.kb_words_options, levels_up=levels_up, parallel=parallel())
        check(lib.kb_vocabulary_words(self._handle, ctypes.byref(view), ctypes.byref(options), address(words),
                                      address(nodes) if nodes is not None else None, ctypes.byref(error)), error,
              "words")
        del alive
        return words, nodes

    def _bytes(self) -> npt.NDArray[np.uint8]:
        info = self._info()
        return np.ctypeslib.as_array((ctypes.c_uint8 * info.bytes).from_address(info.data))

    def to_bytes(self) -> bytes:
        """The content of the vocabulary's file."""
        return self._bytes().tobytes()

    def save(self, path: PathLike) -> None:
        """Writes the file, which `Vocabulary(path)` maps."""
        write_file(path, lambda file: file.write(self._bytes()))

    def __repr__(self) -> str:
        return f"<keybits.Vocabulary of {len(self)} words, {self.row_bytes} bytes per row>"


class IndexImage(NamedTuple):
    """An image of an index."""
    id: int
    name: str
    rows: int
    words: int
    removed: bool
    size: Tuple[int, int]  # width and height; (0, 0): not known


def _info(handle: Any) -> Any:
    info = new(_abi.kb_index_info)
    check(lib.kb_index_get_info(handle, ctypes.byref(info)))
    return info


def _image(handle: Any, position: int) -> IndexImage:
    image = new(_abi.kb_index_image)
    if position < 0 or lib.kb_index_get_image(handle, position, ctypes.byref(image), None, None) != _abi.KB_OK:
        raise KeybitsValueError(f"no image at position {position}; there are {_info(handle).positions}")
    return IndexImage(int(image.id), text(image.name), int(image.rows), int(image.words), bool(image.removed),
                      (int(image.width), int(image.height)))


class Index(Owner):
    """Finds the images that share words with a query.

    keep_features: keep rows and keypoints, for verification and exact scoring. signatures: keep a row per word of an
    image; without them only scoring "tf-idf" works, in less memory. Threads may share an index: they look and query
    side by side, and add, remove and save one at a time."""

    def __init__(self, vocabulary: Vocabulary, *, keep_features: bool = False, signatures: bool = True) -> None:
        self._guarded = Guarded(lib.kb_index_free, instance("vocabulary", vocabulary, Vocabulary))
        options = new(_abi.kb_index_options, keep_features=int(keep_features), no_signatures=int(not signatures))
        error = _abi.kb_error()
        check(lib.kb_index_create(vocabulary._handle, ctypes.byref(options), None,
                                  ctypes.byref(self._guarded.handle), ctypes.byref(error)), error, "Index")

    @classmethod
    def open(cls, path: PathLike, check_all: bool = False) -> "Index":
        """Maps an index file, which holds its vocabulary too. Images can be added, in memory. check_all reads all of
        the file and raises KeybitsFileError when it is damaged."""
        index = cls.__new__(cls)
        data = map_file(path)
        index._guarded = Guarded(lib.kb_index_free, data)
        error = _abi.kb_error()
        check(lib.kb_index_load(address(data), data.size, int(check_all), None, ctypes.byref(index._guarded.handle),
                                ctypes.byref(error)), error, str(path))
        return index

    def __len__(self) -> int:
        """Images that were added and not removed."""
        with self._guarded.reading() as handle:
            return int(_info(handle).images)

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the index."""
        if isinstance(self._guarded.borrowed, Vocabulary):
            return self._guarded.borrowed
        with self._guarded.reading() as handle:
            return Vocabulary._from_handle(ctypes.c_void_p(_info(handle).vocabulary), self)

    def add(self, features: FeaturesLike, id: Optional[int] = None, name: str = "",
            keypoints: Optional[KeypointsLike] = None, size: Tuple[int, int] = (0, 0)) -> int:
        """Adds an image (Features, or rows, keypoints and the image's width and height) and returns its position. id
        is yours, the position by default."""
        view, alive = _features(features, keypoints, size)
        error = _abi.kb_error()
        with self._guarded.writing() as handle:
            position = int(_info(handle).positions)
            number = position if id is None else whole("id", id, 0, 2 ** 64 - 1)
            check(lib.kb_index_add(handle, ctypes.byref(view), number, name.encode() if name else None,
                                   workspace(), ctypes.byref(error)), error, "Index.add")
        del alive
        return position

    def remove(self, id: int) -> int:
        """Removes every image with this id; tells how many there were. Positions stay until the index is saved."""
        count = ctypes.c_size_t()
        number = whole("id", id, 0, 2 ** 64 - 1)
        with self._guarded.writing() as handle:
            check(lib.kb_index_remove(handle, number, ctypes.byref(count)), None, "Index.remove")
        return count.value

    def compact(self) -> None:
        """Gives back the memory of removed images; positions change. Happens by itself when half are removed."""
        with self._guarded.writing() as handle:
            check(lib.kb_index_compact(handle), None, "Index.compact")

    def image(self, position: int) -> IndexImage:
        """The image at a position."""
        with self._guarded.reading() as handle:
            return _image(handle, position)

    def features(self, position: int) -> Tuple[Keypoints, Rows]:
        """Keypoints (x, y, size and angle) and rows of the image at a position, of an index that keeps features."""
        with self._guarded.reading() as handle:
            keypoints, error = np.zeros(_image(handle, position).rows, keypoint_dtype), _abi.kb_error()
            kept = features_view(keypoints)
            check(lib.kb_index_get_image(handle, position, None, ctypes.byref(kept), ctypes.byref(error)), error,
                  "Index.features")
            keypoints = keypoints[:kept.n]  # a removed image has none
            rows = np.empty((len(keypoints), kept.row_bytes), np.uint8)
            if len(rows):
                ctypes.memmove(rows.ctypes.data, kept.rows, rows.size)
        return keypoints, rows

    def query(self, features: FeaturesLike, count: int = 10, *, keypoints: Optional[KeypointsLike] = None,
              scoring: str = "binary", verify: int = 0, geometry: str = "any", threshold: float = 0,
              first_images: int = 0, probes: int = 0) -> npt.NDArray[np.void]:
        """The `count` best images for Features or rows, best first: an array of result_dtype.

        scoring: "binary" (rows are compared within each word), "tf-idf" (DBoW2's scores) or "exact" (all rows are
        matched; slow). verify: so many of the best are verified by matching and a geometry ("any": what the images
        show); those that are come first, by the similarity of their matches, of which inliers count twice. first_images: only the first so many images take part; 0 is all. probes:
        words in which "binary" looks for each row; more find more, in more time; 0 decides by the number of images."""
        if scoring not in _SCORINGS:
            raise KeybitsValueError(f"no scoring {scoring!r}; there are {', '.join(_SCORINGS)}")
        count = whole("count", count, 0)
        view, alive = _features(features, keypoints)
        options = new(_abi.kb_index_query_options, scoring=_SCORINGS[scoring], verify=verify,
                      geometry=_geometry(geometry), threshold=threshold,
                      first_images=whole("first_images", first_images, 0), probes=probes)
        results = np.empty(count, result_dtype)
        found, error = ctypes.c_size_t(), _abi.kb_error()
        with self._guarded.reading() as handle:
            check(lib.kb_index_query(handle, ctypes.byref(view), ctypes.byref(options), workspace(),
                                     address(results), count, ctypes.byref(found), ctypes.byref(error)), error,
                  "Index.query")
        del alive
        return results[:found.value]

    def save(self, path: PathLike) -> None:
        """Writes the index with its vocabulary. Removed images are dropped, so that positions change in the file."""
        failure: List[BaseException] = []

        def write(file: Any) -> None:
            def put(_: Any, data: int, size: int) -> int:
                try:
                    file.write((ctypes.c_uint8 * size).from_address(data) if size else b"")
                    return int(_abi.KB_OK)
                except BaseException as error:
                    failure.append(error)
                    return int(_abi.KB_E_SPACE)
            with self._guarded.writing() as handle:
                status = lib.kb_index_save(handle, _abi.kb_write(put), None)
            if failure:
                raise failure[0]
            check(status, None, str(path))
        write_file(path, write)

    def __repr__(self) -> str:
        return f"<keybits.Index of {len(self)} images>"


class Verification(NamedTuple):
    """What verify_pair says of two images."""
    verified: bool                   # they show one scene
    geometry: str                    # "homography" or "fundamental"; "" when not verified
    model: Optional[Matrix]          # from a to b, 3 x 3
    matches: Matches                 # mutual matches that agree with their neighbours
    inliers: npt.NDArray[np.bool_]   # one per match
    places: int                      # different inliers of the homography that decided
    candidates: int                  # mutual matches
    look: str                        # the rows that gave the result: "upright" or "oriented"


def verify_pair(a: Features, b: Features, *, threshold: float = 0, min_places: int = 0,
                upright: Optional[Tuple[RowsLike, RowsLike]] = None) -> Verification:
    """Whether two images show one scene, by their features alone: a geometry that neither chance nor repetition
    explains. threshold: px of a homography, half of it from an epipolar line (0: 3). upright: upright rows of the
    keypoints of a and b, which may match more of what their oriented rows verify."""
    (first, alive_a), (second, alive_b) = _features(a), _features(b)
    kept = [np.ascontiguousarray(row_array(rows, "upright")) for rows in upright or ()]
    for rows, view in zip(kept, (first, second)):
        if rows.shape != (view.n, view.row_bytes):
            raise KeybitsValueError(f"upright: rows of the shape {rows.shape} for {view.n} of {view.row_bytes} bytes")
    options = new(_abi.kb_verify_options, threshold=threshold, min_places=min_places)
    if upright is not None:
        options.upright_a, options.upright_b = (address(rows) for rows in kept)
    result, error = new(_abi.kb_verification), _abi.kb_error()
    matches, inliers = np.empty(first.n, match_dtype), np.zeros(first.n, np.uint8)
    check(lib.kb_pair_verify(ctypes.byref(first), ctypes.byref(second), ctypes.byref(options), workspace(),
                             address(matches), address(inliers), ctypes.byref(result), ctypes.byref(error)), error,
          "verify_pair")
    del alive_a, alive_b, kept
    verified, count = bool(result.verified), int(result.count)
    return Verification(verified, text(lib.kb_name(_abi.KB_NAMES_GEOMETRY, result.geometry)) if verified else "",
                        np.array(result.model).reshape(3, 3) if verified else None, matches[:count],
                        inliers[:count].view(np.bool_), int(result.places), int(result.candidates),
                        text(lib.kb_name(_abi.KB_NAMES_LOOK, result.look)))


class Loop(NamedTuple):
    """What LoopDetector.add found."""
    found: bool
    query: int               # positions, counted from 0
    reference: int
    score: float
    inliers: int
    places: int              # different ones; 0: not verified
    model: Optional[Matrix]  # from the query to the reference, 3 x 3; None without a loop
    island: Tuple[int, int]  # the candidates around the reference, first and last
    checked: int             # pairs of images that were matched


class LoopDetector(Owner):
    """Loop closing: images come in order, and each is compared with the earlier ones but the last few (`window`).

    Zeros are the defaults of kb_loop_options: 20 images of window, 2 checks, islands of 3, 30 places, a score of half
    the median of neighbours."""

    def __init__(self, vocabulary: Vocabulary, *, window: int = 0, checks: int = 0, island: int = 0,
                 min_places: int = 0, min_score: float = 0, geometry: str = "any",
                 threshold: float = 0) -> None:
        self._guarded = Guarded(lib.kb_loop_detector_free, instance("vocabulary", vocabulary, Vocabulary))
        options = new(_abi.kb_loop_options, window=window, checks=checks, island=island, min_places=min_places,
                      min_score=min_score, geometry=_geometry(geometry), threshold=threshold)
        error = _abi.kb_error()
        check(lib.kb_loop_detector_create(vocabulary._handle, ctypes.byref(options), None,
                                          ctypes.byref(self._guarded.handle), ctypes.byref(error)), error,
              "LoopDetector")

    def add(self, features: FeaturesLike, keypoints: Optional[KeypointsLike] = None) -> Loop:
        """Looks for a loop and adds the image."""
        view, alive = _features(features, keypoints)
        loop, error = new(_abi.kb_loop), _abi.kb_error()
        with self._guarded.writing() as handle:
            check(lib.kb_loop_detector_add(handle, ctypes.byref(view), workspace(), ctypes.byref(loop),
                                           ctypes.byref(error)), error, "LoopDetector.add")
        del alive
        return Loop(bool(loop.found), int(loop.query), int(loop.reference), float(loop.score), int(loop.inliers), int(loop.places),
                    np.array(loop.model).reshape(3, 3) if loop.found else None,
                    (int(loop.island_first), int(loop.island_last)), int(loop.checked))
