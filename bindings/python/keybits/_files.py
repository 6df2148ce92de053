"""Files: written whole or not at all, and mapped into memory."""
import errno
import mmap
import os
from pathlib import Path
from typing import Any, Callable, Union

import numpy as np
import numpy.typing as npt

from ._library import KeybitsFileError

PathLike = Union[str, "os.PathLike[str]"]


def write_file(path: PathLike, write: Callable[[Any], Any]) -> None:
    """Lets `write` fill a file beside the target, which then takes its place."""
    target = Path(path)
    if target.is_dir() or not target.parent.is_dir():  # the message names the target, not the file beside it
        number = errno.EISDIR if target.is_dir() else errno.ENOENT
        raise OSError(number, os.strerror(number), str(target))
    part = target.with_name(f".part-{os.getpid()}-{target.name}")
    try:
        with open(part, "wb") as file:
            write(file)
        os.replace(part, target)
    finally:
        if part.exists():
            part.unlink()


def map_file(path: PathLike) -> npt.NDArray[np.uint8]:
    """The bytes of a file as a read-only array, which the system reads where they are needed."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise KeybitsFileError(f"{path}: the file is empty")
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
