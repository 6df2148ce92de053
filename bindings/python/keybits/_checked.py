# SPDX-License-Identifier: Apache-2.0
"""The exceptions of the package, and numbers on their way into C.

ctypes cuts an integer to the width of its field or argument without a word, and C a text at a zero byte. So every struct
of the headers is a Struct, and every function of the library is called through checked_call."""
import ctypes
import operator
from typing import Any, Callable, Dict, Sequence, Tuple


class KeybitsError(Exception):
    """A call of the library failed. `status` is its code, `field` and `row` say where the input is wrong."""

    def __init__(self, message: str, status: int = 0, field: str = "", row: int = -1) -> None:
        super().__init__(message)
        self.status = status
        self.field = field
        self.row = row


class KeybitsValueError(KeybitsError, ValueError):
    """An argument is out of its range, or not what the function takes."""


class KeybitsMemoryError(KeybitsError, MemoryError):
    """An allocation failed."""


class KeybitsFileError(KeybitsError, ValueError):
    """A model, vocabulary or index file is damaged or not one."""


def _range(kind: Any) -> Tuple[int, int]:
    bits = 8 * ctypes.sizeof(kind)
    return (-1 << bits - 1, (1 << bits - 1) - 1) if kind(-1).value < 0 else (0, (1 << bits) - 1)


_INTEGERS: Dict[Any, Tuple[int, int]] = {kind: _range(kind) for kind in (
    ctypes.c_int8, ctypes.c_uint8, ctypes.c_int16, ctypes.c_uint16, ctypes.c_int32, ctypes.c_uint32, ctypes.c_int64,
    ctypes.c_uint64, ctypes.c_int, ctypes.c_size_t, ctypes.c_ssize_t)}
_FLOATS = (ctypes.c_float, ctypes.c_double)


def integer(name: str, value: Any, low: int, high: int) -> int:
    """A whole number within its range; anything else raises."""
    try:
        given = operator.index(value)
    except TypeError:
        raise KeybitsValueError(f"{name} is {value!r}, but must be a whole number") from None
    if not low <= given <= high:
        raise KeybitsValueError(f"{name} is {given}, but must be {low} to {high}")
    return given


def no_zero_byte(name: str, value: Any) -> Any:
    """A text for C, or None; one that C would cut raises."""
    if isinstance(value, bytes) and b"\0" in value:
        raise KeybitsValueError(f"{name} has a zero byte: {value!r}")
    return value


def instance(name: str, value: Any, kind: Any) -> Any:
    """A value of that type; any other raises. What a library gets as a handle must be one of its kind."""
    if not isinstance(value, kind):
        raise KeybitsValueError(f"{name} is a {type(value).__name__}, but must be a {kind.__name__}")
    return value


class Struct(ctypes.Structure):
    """A struct of the headers, whose numbers must fit into their fields."""
    _kinds: Dict[str, Any]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._kinds = {field[0]: field[1] for field in cls._fields_}

    def __setattr__(self, name: str, value: Any) -> None:
        kind = self._kinds[name]
        if kind in _INTEGERS:
            value = integer(name, value, *_INTEGERS[kind])
        elif kind in _FLOATS:
            try:
                value = float(value)
            except (TypeError, ValueError, OverflowError):
                raise KeybitsValueError(f"{name} is {value!r}, but must be a number") from None
        elif kind is ctypes.c_char_p:
            no_zero_byte(name, value)
        super().__setattr__(name, value)


def checked_call(function: Any, arguments: Sequence[Tuple[str, Any]]) -> Callable[..., Any]:
    """A function of the library whose integer arguments must fit into their types, and whose texts have no zero byte."""
    integers = [(place, name, *_INTEGERS[kind]) for place, (name, kind) in enumerate(arguments) if kind in _INTEGERS]
    texts = [(place, name) for place, (name, kind) in enumerate(arguments) if kind is ctypes.c_char_p]
    if not integers and not texts:
        return function  # type: ignore[no-any-return]

    def call(*given: Any) -> Any:
        values = list(given)
        for place, name, low, high in integers:
            values[place] = integer(name, values[place], low, high)
        for place, name in texts:
            no_zero_byte(name, values[place])
        return function(*values)
    return call
