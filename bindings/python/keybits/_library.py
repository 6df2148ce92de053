# SPDX-License-Identifier: Apache-2.0
"""The shared library: where it is, its prototypes, errors as exceptions, and a workspace per thread."""
import ctypes
import os
import queue
import sys
import threading
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable, Dict, List, Optional, Type

from . import _abi
from ._checked import KeybitsError, KeybitsFileError, KeybitsMemoryError, KeybitsValueError, checked_call, integer


_EXCEPTIONS: Dict[int, Type[KeybitsError]] = {
    _abi.KB_E_MEMORY: KeybitsMemoryError,
    _abi.KB_E_FORMAT: KeybitsFileError,
    _abi.KB_E_TRUNCATED: KeybitsFileError,
    _abi.KB_E_CHECKSUM: KeybitsFileError,
}


def _library_name() -> str:
    return {"win32": "keybits.dll", "darwin": "libkeybits.dylib"}.get(sys.platform, "libkeybits.so")


def _load() -> Any:
    """KEYBITS_LIBRARY names another library; else it is the one that lies in the package."""
    path = os.environ.get("KEYBITS_LIBRARY") or str(Path(__file__).with_name(_library_name()))
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"the keybits library cannot be loaded: {error}") from error
    return _functions(library, path, [name for name in _abi.FUNCTIONS if not name.startswith(_COLLECTION)])


_COLLECTION = ("kb_collection_", "kb_localizer_")


def _functions(library: Any, path: str, names: List[str]) -> Any:
    """Functions with their prototypes."""
    functions = SimpleNamespace()
    for name in names:
        result, arguments = _abi.FUNCTIONS[name]
        try:
            function = getattr(library, name)
        except AttributeError:
            if name.startswith("kb_learn"):
                continue  # a library without the trainer
            raise ImportError(f"{path} has no {name}: it is not the library that this package was made for") from None
        function.restype = result
        function.argtypes = [kind for _, kind in arguments]
        setattr(functions, name, checked_call(function, arguments))
    return functions


@lru_cache(maxsize=None)
def collection_library() -> Any:
    """The library of collections, which reads and writes files and needs libjpeg, libpng and SQLite. It is loaded when
    it is used first. KEYBITS_COLLECTION_LIBRARY names another one than that in the package."""
    path = os.environ.get("KEYBITS_COLLECTION_LIBRARY") or str(Path(__file__).with_name("libkeybits-collection.so"))
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"the library of collections cannot be loaded: {error}; `make python` of a clone builds a "
                          "package that has it") from error
    return _functions(library, path, [name for name in _abi.FUNCTIONS if name.startswith(_COLLECTION)])


lib: Any = _load()


def text(value: Optional[bytes]) -> str:
    return value.decode("utf-8", "replace") if value else ""


def check(status: int, error: Optional[_abi.kb_error] = None, what: str = "") -> None:
    """Raises the exception of a failed call, with the library's sentence."""
    if status == _abi.KB_OK:
        return
    sentence = text(error.text) if error is not None else ""
    sentence = sentence or text(lib.kb_status_string(status))
    kind = _EXCEPTIONS.get(status, KeybitsValueError)
    field, row = (text(error.field), int(error.row)) if error is not None else ("", -1)
    raise kind(f"{what}: {sentence}" if what else sentence, status, field, row)


def call(what: str, function: Any, *arguments: Any) -> None:
    """A call whose last argument is a kb_error."""
    error = _abi.kb_error()
    check(function(*arguments, ctypes.byref(error)), error, what)


def new(struct_type: Type[Any], /, **fields: Any) -> Any:
    """A struct with its size set, and the given fields; None leaves a field at its default, zero."""
    struct = struct_type()
    struct.struct_size = ctypes.sizeof(struct_type)
    for name, value in fields.items():
        if value is not None:
            setattr(struct, name, value)
    return struct


def number(name: str, value: Any, low: float, high: Optional[float] = None) -> float:
    """The value of an option; one that is no number or out of its range (high None: no limit) raises."""
    limits = f"{low} or more" if high is None else f"{low} to {high}"
    try:
        given = float(value)
        good = given >= low and (high is None or given <= high)
    except (TypeError, ValueError):
        good = False
    if not good:
        raise KeybitsValueError(f"{name} is {value!r}, but must be {limits}")
    return given


def whole(name: str, value: Any, low: int, high: int = 2 ** 63 - 1) -> int:
    """The same for whole numbers."""
    return integer(name, value, low, high)


class _Memory:
    """A workspace and the pools of threads that calls of one Python thread use."""

    def __init__(self) -> None:
        self.workspace = ctypes.c_void_p()
        check(lib.kb_workspace_create(None, ctypes.byref(self.workspace)))
        self.pools: Dict[int, ctypes.c_void_p] = {}
        self._free_workspace = lib.kb_workspace_free
        self._free_pool = lib.kb_pool_free

    def __del__(self) -> None:
        for pool in self.pools.values():
            self._free_pool(pool)
        self._free_workspace(self.workspace)


class _PerThread(threading.local):
    """Workspaces and pools serve one call at a time, so every Python thread has its own."""

    def __init__(self) -> None:
        self.memory = _Memory()


_per_thread = _PerThread()
_threads = 1


def workspace() -> Any:
    return _per_thread.memory.workspace


Requests = Optional["queue.SimpleQueue[Optional[Callable[[], None]]]"]


def long_call(function: Any, *arguments: Any, keep: Any = None, requests: Requests = None) -> int:
    """A call that may take seconds, which Ctrl-C ends at once.

    Python handles signals between its own instructions, never inside a C function, and what a callback of ctypes raises
    is lost. So this thread waits here while another one makes the call. After Ctrl-C that other one runs on by itself,
    with the workspace and everything in `keep` and `arguments`, and its result is dropped. `requests` are functions that
    the call wants this thread to run."""
    if requests is None and threading.current_thread() is not threading.main_thread():
        return int(function(*arguments))
    waiting: Any = queue.SimpleQueue() if requests is None else requests
    status: List[int] = []

    def run(*alive: Any) -> None:
        status.append(int(function(*arguments)))
        waiting.put(None)

    # The call keeps the workspace and the pools; what this thread runs meanwhile (a request, the handler of a signal)
    # gets others.
    lent, _per_thread.memory = _per_thread.memory, _Memory()
    threading.Thread(target=run, args=(lent, keep), daemon=True).start()
    while True:
        try:
            request = waiting.get(timeout=0.1)
        except queue.Empty:
            continue
        if request is None:
            _per_thread.memory = lent
            return status[0]
        request()


def set_threads(threads: int) -> None:
    """How many threads a call may use; 0 is one per processor. The default is 1: Python threads that call at the same
    time then run side by side. Results do not depend on it."""
    global _threads
    _threads = whole("threads", threads, 0, 256)


def parallel() -> Any:
    """The kb_parallel of this Python thread, or None."""
    if _threads == 1:
        return None
    pools = _per_thread.memory.pools
    pool = pools.get(_threads)
    if pool is None:
        pool = ctypes.c_void_p()
        check(lib.kb_pool_create(_threads, None, ctypes.byref(pool)))
        pools[_threads] = pool
    return pool


def version() -> str:
    """The version of the library, such as "0.1.0"."""
    return text(lib.kb_version())


def cpu_features() -> str:
    """The instruction sets in use, such as "sse4.2 avx2"."""
    return text(lib.kb_cpu_features(None))
