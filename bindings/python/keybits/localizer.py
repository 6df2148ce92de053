# SPDX-License-Identifier: Apache-2.0
"""Where a photograph was taken, in a map of a COLMAP model (docs/localize.md).

    import keybits
    keybits.build_map("sparse/0", "photos", "place.kbl")
    where = keybits.Localizer("place.kbl").find("new.jpg")
    print(where.found, where.position, where.sigma_position)
"""
import ctypes
import os
import warnings
from dataclasses import dataclass
from typing import Any, Dict, List, Optional

import numpy as np
import numpy.typing as npt

from . import _abi
from ._files import PathLike
from ._guarded import Guarded, Owner
from ._library import check, collection_library, new, text
from .features import _DETECTORS, _known
from .geometry import Camera


def build_map(model: PathLike, images: PathLike, output: PathLike, *, descriptors: Optional[str] = None,
              vocabulary: Optional[PathLike] = None, detector: Optional[str] = None,
              max_keypoints: Optional[int] = None, max_size: Optional[int] = None, threads: int = 0) -> Dict[str, float]:
    """Makes a map of the COLMAP model in a folder and the folder of its images. Returns how many images, failed,
    keypoints, pairs, rows and points there are, and their rms error in px. Images that cannot be read are warnings."""
    if detector is not None:
        _known(detector, _DETECTORS, "detector")
    said: List[str] = []
    warn = _abi.kb_collection_warn(lambda _context, sentence: said.append(text(sentence)))

    def path(value: Optional[PathLike]) -> Optional[bytes]:
        return None if value is None else os.fsencode(os.fspath(value))
    options = new(_abi.kb_localizer_map_options, model=path(descriptors), vocabulary=path(vocabulary),
                  detector=detector and _DETECTORS[detector], max_keypoints=max_keypoints, max_size=max_size,
                  threads=threads, warn=warn)
    counts, error, lib = new(_abi.kb_localizer_map_counts), _abi.kb_error(), collection_library()
    status = lib.kb_localizer_build(path(model), path(images), ctypes.byref(options), path(output), ctypes.byref(counts),
                                    ctypes.byref(error))
    for sentence in said:
        warnings.warn(sentence, RuntimeWarning, stacklevel=2)
    check(status, error)
    return {name: getattr(counts, name) for name, *_ in counts._fields_ if name != "struct_size"}


@dataclass(frozen=True)
class Location:
    """A pose: a scene point P is seen along rotation P + translation; the camera is at `position`. Standard deviations
    are in scene units, degrees and px; sigma_focal is 0 where the focal length was not refined."""
    found: bool
    rotation: npt.NDArray[np.float64]
    translation: npt.NDArray[np.float64]
    position: npt.NDArray[np.float64]
    sigma_position: float
    sigma_rotation: float
    sigma_focal: float
    rms: float
    focal: float
    keypoints: int
    matches: int
    inliers: int
    nearest: str
    ms: float
    ms_describe: float


class Localizer(Owner):
    """A map, in which photographs find their pose. Calls from several threads wait for each other."""

    def __init__(self, path: PathLike, threads: int = 0) -> None:
        self._lib = collection_library()
        self._guarded = Guarded(self._lib.kb_localizer_free)
        error = _abi.kb_error()
        check(self._lib.kb_localizer_open(os.fsencode(os.fspath(path)), threads, ctypes.byref(self._guarded.handle),
                                          ctypes.byref(error)), error)

    @property
    def names(self) -> List[str]:
        """The images of the map."""
        with self._guarded.reading() as handle:
            return [text(self._lib.kb_localizer_name(handle, i)) for i in range(self._lib.kb_localizer_count(handle))]

    def find(self, photo: PathLike, camera: Optional[Camera] = None, *, candidates: Optional[int] = None,
             min_inliers: Optional[int] = None, threshold: Optional[float] = None, seed: int = 0) -> Location:
        """The pose of a photograph, an image file. camera None: the map's, that of EXIF, or guesses that are refined
        with the pose. `found` is False when the photograph is not of the place."""
        lens: Any = None if camera is None else camera._struct()
        options = new(_abi.kb_localizer_options, camera=None if lens is None else ctypes.addressof(lens),
                      candidates=candidates, min_inliers=min_inliers, threshold=threshold, seed=seed)
        out, error = new(_abi.kb_location), _abi.kb_error()
        with self._guarded.writing() as handle:
            check(self._lib.kb_localizer_find(handle, os.fsencode(os.fspath(photo)), ctypes.byref(options),
                                              ctypes.byref(out), ctypes.byref(error)), error)
            nearest = text(self._lib.kb_localizer_name(handle, out.nearest)) if out.found else ""
        return Location(bool(out.found), np.array(out.rotation).reshape(3, 3), np.array(out.translation),
                        np.array(out.position), out.sigma_position, out.sigma_rotation, out.sigma_focal, out.rms,
                        out.focal, out.keypoints, out.matches, out.inliers,
                        nearest, out.ms, out.ms_describe)
