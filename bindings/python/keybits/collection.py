# SPDX-License-Identifier: Apache-2.0
"""Collections of photographs, from image files to COLMAP's database (docs/collections.md).

    import keybits
    c = keybits.Collection(["photos/"], "photos.work")
    print(c.run("photos.db"))
"""
import ctypes
import os
import threading
import warnings
from typing import Any, Callable, List, NamedTuple, Optional, Sequence

from . import _abi
from ._checked import KeybitsError, no_zero_byte
from ._files import PathLike
from ._guarded import Guarded, Owner
from ._library import check, collection_library, new, text
from .features import _DETECTORS, _ORIENTATIONS, _SELECTIONS, _known

_PAIRS = {"auto": _abi.KB_PAIRS_AUTO, "exhaustive": _abi.KB_PAIRS_EXHAUSTIVE, "sequential": _abi.KB_PAIRS_SEQUENTIAL,
          "retrieval": _abi.KB_PAIRS_RETRIEVAL, "gps": _abi.KB_PAIRS_GPS, "list": _abi.KB_PAIRS_LIST}

_ROWS = {"both": _abi.KB_ROWS_BOTH, "oriented": _abi.KB_ROWS_ORIENTED, "upright": _abi.KB_ROWS_UPRIGHT}

#: Gets the step, how much of it is done, and of how much; False cancels.
Report = Callable[[str, int, int], Optional[bool]]


class CollectionCounts(NamedTuple):
    """What a database holds."""
    images: int
    failed: int
    keypoints: int
    pairs: int
    verified_pairs: int
    matches: int


def _choice(name: str, value: str, words: Any) -> int:
    _known(value, words, name)
    return int(words[value])


def _path(value: Optional[PathLike]) -> Optional[bytes]:
    return None if value is None else no_zero_byte("a path", os.fsencode(os.fspath(value)))


class Collection(Owner):
    """A collection of photographs, and its work folder.

    images: paths, folders or "@list.txt". Everything that is done is kept in the folder `work`, so that a run goes on
    where another one stopped, and shards of describe() and match() may run in any process, on any machine that sees the
    same paths. Options are those of kb_collection_options; None means the default. `progress(step, done, total)` is
    called on the calling thread and may return False to cancel, which raises KeybitsError. `warn(sentence)` hears about
    photographs that cannot be read; without it they are Python warnings. One call at a time: another, by a callback or
    another thread, raises KeybitsError."""

    def __init__(self, images: Sequence[PathLike], work: PathLike, *, model: Optional[str] = None,
                 vocabulary: Optional[PathLike] = None, pairs: str = "auto", pair_list: Optional[PathLike] = None,
                 camera: Optional[str] = None, one_camera: bool = False, refine: bool = True, expand: bool = True,
                 detector: Optional[str] = None, selection: Optional[str] = None, orientation: Optional[str] = None,
                 rows: str = "both", max_keypoints: Optional[int] = None, neighbours: Optional[int] = None,
                 overlap: Optional[int] = None, min_places: Optional[int] = None, max_size: Optional[int] = None,
                 exif: bool = False, reach: Optional[float] = None, threshold: Optional[float] = None,
                 max_ratio: Optional[float] = None, max_distance: Optional[float] = None, seed: int = 0,
                 threads: int = 0,
                 progress: Optional[Report] = None, warn: Optional[Callable[[str], None]] = None) -> None:
        self._lib = collection_library()
        self._guarded, self._busy = Guarded(self._lib.kb_collection_free), threading.Lock()
        self._progress, self._warn = progress, warn
        self._raised: List[BaseException] = []
        self._callbacks = (_abi.kb_collection_progress(self._report), _abi.kb_collection_warn(self._sentence))
        self._options = new(
            _abi.kb_collection_options, work=_path(work), model=_path(model), vocabulary=_path(vocabulary),
            list=_path(pair_list), camera=_path(camera), pairs=_choice("pairs", pairs, _PAIRS),
            detector=detector and _choice("detector", detector, _DETECTORS),
            selection=selection and _choice("selection", selection, _SELECTIONS),
            orientation=orientation and _choice("orientation", orientation, _ORIENTATIONS),
            rows=_choice("rows", rows, _ROWS), max_keypoints=max_keypoints, neighbours=neighbours, overlap=overlap, min_places=min_places, max_size=max_size,
            one_camera=int(one_camera), no_refine=int(not refine),
            no_expand=int(not expand), exif=int(exif), threads=threads, reach=reach,
            threshold=threshold, max_ratio=max_ratio, max_distance=max_distance, seed=seed, progress=self._callbacks[0], warn=self._callbacks[1])
        paths = [_path(image) for image in images]
        array = (ctypes.c_char_p * max(len(paths), 1))(*paths)
        error = _abi.kb_error()
        check(self._lib.kb_collection_open(array, len(paths), ctypes.byref(self._options),
                                           ctypes.byref(self._guarded.handle), ctypes.byref(error)), error)

    def __len__(self) -> int:
        return int(self._lib.kb_collection_count(self._guarded.handle))

    @property
    def names(self) -> List[str]:
        """How the database calls the images, in their order."""
        return [text(self._lib.kb_collection_name(self._guarded.handle, i)) for i in range(len(self))]

    def _report(self, _context: Any, step: bytes, done: int, total: int) -> int:
        """What Python raises here, Ctrl-C too, cancels, and is raised by the call."""
        try:
            return 0 if self._progress is not None and self._progress(step.decode(), done, total) is False else 1
        except BaseException as error:
            self._raised.append(error)
            return 0

    def _sentence(self, _context: Any, sentence: bytes) -> None:
        try:
            if self._warn is not None:
                self._warn(text(sentence))
            else:
                warnings.warn(text(sentence), RuntimeWarning, stacklevel=4)
        except BaseException as error:
            self._raised.append(error)

    def _call(self, function: Any, *arguments: Any) -> None:
        error = _abi.kb_error()
        if not self._busy.acquire(blocking=False):
            raise KeybitsError("a call of this collection is under way")
        try:
            status = function(self._guarded.handle, *arguments, ctypes.byref(error))
            if self._raised:
                raised, self._raised = self._raised[0], []
                raise raised
        finally:
            self._busy.release()
        check(status, error)

    def describe(self, shard: int = 0, shards: int = 1) -> None:
        """Keypoints and descriptors of the images of a shard, or of all."""
        self._call(self._lib.kb_collection_describe, shard, shards)

    def choose_pairs(self) -> None:
        """Which images are matched; needs the features of all."""
        self._call(self._lib.kb_collection_pairs)

    def match(self, shard: int = 0, shards: int = 1) -> None:
        """Matches and verifies the pairs of a shard, or all."""
        self._call(self._lib.kb_collection_match, shard, shards)

    def expand_pairs(self) -> None:
        """Adds pairs of images that are both verified with a third, for match() again; needs all pairs matched."""
        self._call(self._lib.kb_collection_expand)

    def merge(self, database: PathLike) -> CollectionCounts:
        """Writes COLMAP's database; the same bytes for any number of shards and threads."""
        counts = new(_abi.kb_collection_counts)
        self._call(self._lib.kb_collection_merge, _path(database), ctypes.byref(counts))
        return CollectionCounts(*(int(getattr(counts, name)) for name in CollectionCounts._fields))

    def run(self, database: PathLike) -> CollectionCounts:
        """All steps on this machine."""
        self.describe()
        self.choose_pairs()
        self.match()
        self.expand_pairs()
        self.match()
        return self.merge(database)

    def write_openmvg(self, folder: PathLike) -> None:
        """sfm_data.json, features and matches.f.txt of OpenMVG."""
        self._call(self._lib.kb_collection_write_openmvg, _path(folder))

    def write_matches(self, path: PathLike) -> None:
        """The verified matches as COLMAP's text (.txt) or arrays (.npz)."""
        self._call(self._lib.kb_collection_write_matches, _path(path))

    def write_page(self, path: PathLike) -> None:
        """A summary in HTML."""
        self._call(self._lib.kb_collection_write_page, _path(path))
