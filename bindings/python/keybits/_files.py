# SPDX-License-Identifier: Apache-2.0
"""Files: written whole or not at all, and mapped into memory."""
import errno
import mmap
import os
import secrets
import stat
from typing import Any, Callable, Union

import numpy as np
import numpy.typing as npt

from ._checked import KeybitsFileError

PathLike = Union[str, "os.PathLike[str]"]

_NO_SYNC = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)


def write_file(path: PathLike, write: Callable[[Any], Any]) -> None:
    """Lets `write` fill a file beside the target, which takes its place once it is on the disc.

    Links are followed to the file itself, whose permissions stay. Threads and processes that write one file at a time
    each have a file of their own: the last one stays, whole."""
    name = os.fspath(path)
    try:
        status = os.stat(name)  # by the path as given: the system refuses links of others in folders such as /tmp
    except FileNotFoundError:
        mode = None
    else:
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
        if not os.access(name, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
        if not stat.S_ISREG(status.st_mode):  # a pipe or a device
            with open(name, "wb") as file:
                write(file)
            return
        mode = stat.S_IMODE(status.st_mode) & 0o777
    target = os.path.realpath(name)
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):  # the message names the target, not the file beside it
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    _replace(target, folder, mode, write)


def _replace(target: str, folder: str, mode: Any, write: Callable[[Any], Any]) -> None:
    part = os.path.join(folder, f".part-{secrets.token_hex(8)}")

    def create(name: str, flags: int) -> int:  # a new file gets its permissions from the umask
        return os.open(name, flags, 0o666 if mode is None else mode)
    try:
        with open(part, "xb", opener=create) as file:
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), mode)
            write(file)
            file.flush()
            _sync(file.fileno())
        os.replace(part, target)
    except BaseException:
        try:
            os.unlink(part)
        except FileNotFoundError:
            pass
        raise
    if os.name == "posix":  # the name of a file is in its folder
        try:
            descriptor = os.open(folder, os.O_RDONLY)
        except PermissionError:
            return  # a folder that may be written only
        try:
            _sync(descriptor)
        finally:
            os.close(descriptor)


def _sync(descriptor: int) -> None:
    """fsync; file systems that have none say so, which is no failure."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def map_file(path: PathLike) -> npt.NDArray[np.uint8]:
    """The bytes of a file as a read-only array, which the system reads where they are needed."""
    with open(os.fspath(path), "rb") as file:  # a number would be a descriptor of this process, and closed
        if os.fstat(file.fileno()).st_size == 0:
            raise KeybitsFileError(f"{path}: the file is empty")
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
