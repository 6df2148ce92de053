# SPDX-License-Identifier: Apache-2.0
"""Objects that own memory of the library: freed once, and shared by threads."""
import ctypes
import threading
from contextlib import contextmanager
from typing import Any, Iterator


class Owner:
    """Copies would free the memory twice."""

    def __reduce__(self) -> Any:
        raise TypeError(f"a {type(self).__name__} owns memory of the library: it can neither be copied nor pickled")


class Guarded(Owner):
    """An object of the library that changes, and the one way to it: `with reading()` and `with writing()` give the
    handle to many readers or to one writer, who goes before readers that come later. A public method enters once and
    does all of its work inside; what it returns is a copy."""

    def __init__(self, free: Any, borrowed: Any = None) -> None:
        self.handle = ctypes.c_void_p()  # set by whoever makes the object, before anyone else sees it
        self.borrowed = borrowed  # what the library reads as long as the object lives
        self._free = free
        self._changed = threading.Condition()
        self._readers = self._writers = 0  # writers: at work, or waiting for their turn
        self._writing = False

    def __del__(self) -> None:
        if self.handle:
            self._free(self.handle)

    @contextmanager
    def reading(self) -> Iterator[Any]:
        with self._changed:
            self._changed.wait_for(lambda: not self._writers)
            self._readers += 1
        try:
            yield self.handle
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    @contextmanager
    def writing(self) -> Iterator[Any]:
        with self._changed:
            self._writers += 1
            try:
                self._changed.wait_for(lambda: not self._readers and not self._writing)
                self._writing = True
            except BaseException:
                self._writers -= 1
                self._changed.notify_all()
                raise
        try:
            yield self.handle
        finally:
            with self._changed:
                self._writing = False
                self._writers -= 1
                self._changed.notify_all()
