# SPDX-License-Identifier: Apache-2.0
"""Patch sets: gray patches with the scene point that each shows, and their .kbp files (docs/patches.md)."""
import struct
import zlib
from dataclasses import dataclass
from typing import Any, Optional, Tuple

import numpy as np
import numpy.typing as npt

from . import _abi
from ._checked import KeybitsFileError, KeybitsValueError
from ._files import PathLike, map_file, write_file

_MAGIC = b"\x8bKBP\r\n\x1a\n"
_HEADER = struct.Struct("<8sIIQf16s")  # magic, version, side, patches, support; a CRC-32 follows
_HEADER_BYTES = _HEADER.size + 4
_MAX_SIDE = 1024


@dataclass(frozen=True)
class PatchSet:
    """Patches (n x side x side of uint8) or octaves (n x 4 x 16 x 16, of sample_octaves), which BAG is learned from.
    Those with equal labels show the same point, in different views."""
    patches: npt.NDArray[np.uint8]
    labels: npt.NDArray[np.uint32]
    views: npt.NDArray[np.uint32]
    support: float = 0  # of the region, as in Model.support; 0: not known

    def __len__(self) -> int:
        return len(self.patches)

    def split(self, fraction: float = 0.1, seed: int = 0) -> Tuple["PatchSet", "PatchSet"]:
        """Two sets by whole points; a point is in the second with the probability `fraction`."""
        points, index = np.unique(self.labels, return_inverse=True)
        held = (np.random.RandomState(seed).random_sample(len(points)) < fraction)[index]
        first, second = (PatchSet(self.patches[part], self.labels[part], self.views[part], self.support)
                         for part in (~held, held))
        return first, second


#: The shape of what is sampled at one keypoint for BAG.
OCTAVES = (_abi.KB_OCTAVES, _abi.KB_OCTAVE_SIDE, _abi.KB_OCTAVE_SIDE)


def check_pixels(pixels: npt.NDArray[np.generic]) -> None:
    """Raises when an array holds neither patches nor octaves."""
    square = pixels.ndim == 3 and pixels.shape[1] == pixels.shape[2]
    if pixels.dtype != np.uint8 or not (square or pixels.shape[1:] == OCTAVES):
        raise KeybitsValueError("patches are n x side x side of uint8, or octaves, n x 4 x 16 x 16, not "
                                f"{pixels.dtype} of the shape {pixels.shape}")


def patch_set(patches: npt.ArrayLike, labels: npt.ArrayLike, views: Optional[npt.ArrayLike] = None,
              support: float = 0) -> PatchSet:
    """A PatchSet of arrays, checked; without views every patch has its own."""
    pixels = np.asarray(patches)
    check_pixels(pixels)
    if pixels.shape[1:] == (_abi.KB_OCTAVE_SIDE, _abi.KB_OCTAVE_SIDE):
        raise KeybitsValueError("patches of side 16 are octaves, n x 4 x 16 x 16, not n x 16 x 16")
    numbers = []
    for name, given in (("labels", labels), ("views", np.arange(len(pixels)) if views is None else views)):
        array = np.asarray(given)
        if array.shape != (len(pixels),) or array.dtype.kind not in "iu":
            raise KeybitsValueError(f"{name} are {len(pixels)} whole numbers, not {array.dtype} of {array.shape}")
        if array.size and not 0 <= int(array.min()) <= int(array.max()) < 2 ** 32:
            raise KeybitsValueError(f"{name} are 0 to 2^32 - 1")
        numbers.append(array.astype(np.uint32))
    return PatchSet(pixels, numbers[0], numbers[1], float(support))


def checked(patches: PatchSet) -> PatchSet:
    """The same set, when its arrays belong together."""
    if not isinstance(patches, PatchSet):
        raise KeybitsValueError(f"patches are a keybits.PatchSet (keybits.patch_set makes one), not {type(patches)}")
    return patch_set(patches.patches, patches.labels, patches.views, patches.support)


def _record(side: int) -> Any:
    shape = OCTAVES if side == _abi.KB_OCTAVE_SIDE else (side, side)
    return np.dtype([("checksum", "<u4"), ("label", "<u4"), ("view", "<u4"), ("pixels", np.uint8, shape)])


def write_patches(path: PathLike, patches: PatchSet) -> None:
    """Writes a .kbp file, whole or not at all."""
    given = checked(patches)
    side = given.patches.shape[-1]
    if not 1 <= side <= _MAX_SIDE:
        raise KeybitsValueError(f"patches of side {side} cannot be kept; 1 to {_MAX_SIDE} can")
    records = np.zeros(len(given), _record(side))
    records["label"], records["view"], records["pixels"] = given.labels, given.views, given.patches
    rows = records.view(np.uint8).reshape(len(given), -1)
    records["checksum"] = [zlib.crc32(row[4:]) for row in rows]
    header = _HEADER.pack(_MAGIC, 1, side, len(given), given.support, bytes(16))

    def write(file: Any) -> None:
        file.write(header + struct.pack("<I", zlib.crc32(header)))
        file.write(rows)
    write_file(path, write)


def read_patches(path: PathLike) -> PatchSet:
    """Reads a .kbp file. Every checksum is checked; a damaged file raises KeybitsFileError."""
    data = map_file(path)
    head = data[:_HEADER_BYTES].tobytes()
    if len(head) < _HEADER_BYTES or not head.startswith(_MAGIC):
        raise KeybitsFileError(f"{path}: not a patch set of keybits")
    _, version, side, count, support, _ = _HEADER.unpack(head[:-4])
    if version != 1:
        raise KeybitsFileError(f"{path}: patch-set version {version}; this package reads version 1")
    if struct.unpack("<I", head[-4:])[0] != zlib.crc32(head[:-4]) or not 1 <= side <= _MAX_SIDE:
        raise KeybitsFileError(f"{path}: the header is damaged")
    kind = _record(side)
    if len(data) - _HEADER_BYTES != count * kind.itemsize:
        raise KeybitsFileError(f"{path}: {len(data)} bytes are not {count} patches of side {side}")
    rows = data[_HEADER_BYTES:].reshape(count, kind.itemsize)
    records = data[_HEADER_BYTES:].view(kind)
    for index, (row, checksum) in enumerate(zip(rows, records["checksum"].tolist())):
        if zlib.crc32(row[4:]) != checksum:
            raise KeybitsFileError(f"{path}: patch {index} is damaged")
    return PatchSet(records["pixels"].copy(), records["label"].astype(np.uint32), records["view"].astype(np.uint32),
                    float(support))
