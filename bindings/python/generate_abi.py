# SPDX-License-Identifier: Apache-2.0
"""Turns the C headers into keybits/_abi.py: constants, ctypes structs and function prototypes.

    python3 generate_abi.py include/keybits/keybits.h ... include/keybits/collection.h keybits/_abi.py

The headers are the one place where the interface is defined; nothing is copied from them by hand. The parser knows the
C that the headers use, and stops with a message at anything else.
"""
from __future__ import annotations

import re
import sys
from pathlib import Path

SCALARS = {
    "void": "None", "char": "c_char", "float": "c_float", "double": "c_double", "size_t": "c_size_t",
    "ptrdiff_t": "c_ssize_t", "int": "c_int", "int8_t": "c_int8", "uint8_t": "c_uint8", "int16_t": "c_int16",
    "uint16_t": "c_uint16", "int32_t": "c_int32", "uint32_t": "c_uint32", "int64_t": "c_int64",
    "uint64_t": "c_uint64",
}


class Header:
    def __init__(self) -> None:
        self.constants: dict[str, str] = {}
        self.enums: set[str] = set()
        self.structs: dict[str, list[tuple[str, str]]] = {}
        self.callbacks: dict[str, str] = {}
        self.functions: list[tuple[str, str, list[tuple[str, str]]]] = []

    def type_name(self, c_type: str, returned: bool = False) -> str:
        """The ctypes name of a C type. Pointers are addresses, strings are bytes."""
        words = c_type.replace("const", " ").replace("struct ", " ").split()
        stars = sum(word.count("*") for word in words)
        base = " ".join(word.replace("*", "") for word in words).strip()
        if stars == 1 and base == "char":
            return "c_char_p"
        if stars:
            return "c_void_p"
        if base in self.enums:
            return "c_int"
        if base in self.structs or base in self.callbacks:
            return base
        if base in SCALARS and (returned or base != "void"):
            return SCALARS[base]
        raise SystemExit(f"generate_abi: unknown C type {c_type!r}")

    def read(self, path: Path) -> None:
        text = re.sub(r"/\*.*?\*/", " ", path.read_text(encoding="utf-8"), flags=re.S)
        for name, value in re.findall(r"^#define (KB_\w+) +(-?[0-9][\w.+-]*)\s*$", text, flags=re.M):
            self.constants[name] = value.rstrip("fF") if "." in value else value.rstrip("uU")
        text = re.sub(r"\\\n", " ", text)
        text = re.sub(r"^\s*#.*$", " ", text, flags=re.M)
        for body, name in re.findall(r"(?:typedef )?enum(?: \w+)?\s*\{(.*?)\}\s*(\w*)\s*;", text, flags=re.S):
            self.read_enum(body, name)
        for result, name, arguments in re.findall(r"typedef ([\w \*]+?)\(\*(\w+)\)\((.*?)\);", text, flags=re.S):
            self.callbacks[name] = ", ".join(
                [self.type_name(result, True)] + [self.argument(a)[1] for a in self.split(arguments)])
        for name, body in re.findall(r"struct (\w+)\s*\{(.*?)\}\s*\w*\s*;", text, flags=re.S):
            self.structs[name] = [] # known before its fields are read
            self.structs[name] = self.read_fields(body)
        for result, name, arguments in re.findall(r"KB_API ([\w \*]+?)(\w+)\s*\(([^;]*?)\)\s*;", text, flags=re.S):
            named = [self.argument(a) for a in self.split(arguments)]
            self.functions.append((name, self.type_name(result, True), named))

    def read_enum(self, body: str, name: str) -> None:
        value = -1
        for entry in filter(None, (part.strip() for part in body.split(","))):
            label, _, number = (part.strip() for part in entry.partition("="))
            value = int(number, 0) if number else value + 1
            self.constants[label] = str(value)
        if name:
            self.enums.add(name)

    @staticmethod
    def split(arguments: str) -> list[str]:
        arguments = re.sub(r"\s+", " ", arguments).strip()
        if arguments in ("", "void"):
            return []
        parts, depth = [""], 0
        for character in arguments:
            depth += (character == "(") - (character == ")")
            if character == "," and depth == 0:
                parts.append("")
            else:
                parts[-1] += character
        return [part.strip() for part in parts]

    def argument(self, argument: str) -> tuple[str, str]:
        """The name and the ctypes name of an argument."""
        match = re.fullmatch(r"(.*?[\s\*])(\w+)", argument)
        if "(*" in argument or "[" in argument:
            return re.findall(r"\w+", argument)[-1], "c_void_p"
        if not match:
            raise SystemExit(f"generate_abi: cannot read the argument {argument!r}")
        return match.group(2), self.type_name(match.group(1))

    def read_fields(self, body: str) -> list[tuple[str, str]]:
        fields: list[tuple[str, str]] = []
        for declaration in filter(None, (part.strip() for part in re.sub(r"\s+", " ", body).split(";"))):
            pointer = re.match(r".*?\(\*(\w+)\)\(", declaration)
            if pointer:
                fields.append((pointer.group(1), "c_void_p"))
                continue
            first, *more = (part.strip() for part in declaration.split(","))
            match = re.fullmatch(r"(.*?[\s\*])(\w+)((?: ?\[\w+\])*)", first)
            if not match:
                raise SystemExit(f"generate_abi: cannot read the field {declaration!r}")
            base = match.group(1).replace("*", " ")
            for item in [match.group(1) + match.group(2) + match.group(3)] + [f"{base} {part}" for part in more]:
                fields.append(self.read_field(item))
        return fields

    def read_field(self, item: str) -> tuple[str, str]:
        match = re.fullmatch(r"(.*?[\s\*])(\w+)((?: ?\[\w+\])*)", item.strip())
        if not match:
            raise SystemExit(f"generate_abi: cannot read the field {item!r}")
        c_type, name, sizes = match.groups()
        kind = self.type_name(c_type)
        for size in re.findall(r"\[(\w+)\]", sizes):
            kind = f"{kind} * {self.constants.get(size, size)}"
        return name, kind


def generate(headers: list[Path]) -> str:
    header = Header()
    for path in headers:
        header.read(path)
    lines = ['"""Made from the C headers by generate_abi.py."""', "from ctypes import (  # noqa: F401",
             "    CFUNCTYPE, c_char, c_char_p, c_double, c_float, c_int, c_int8, c_int16, c_int32, c_int64, c_size_t,",
             "    c_ssize_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p)",
             "from typing import Any, Dict, List, Tuple", "", "from ._checked import Struct", ""]
    lines += [f"{name} = {value}" for name, value in header.constants.items()]
    for name, types in header.callbacks.items():
        lines += ["", f"{name}: Any = CFUNCTYPE({types})"]
    for name, fields in header.structs.items():
        lines += ["", "", f"class {name}(Struct):", "    _fields_ = ["]
        lines += [f'        ("{field}", {kind}),' for field, kind in fields]
        lines += ["    ]"]
    lines += ["", "", "FUNCTIONS: Dict[str, Tuple[Any, List[Tuple[str, Any]]]] = {"]
    for function, result, arguments in header.functions:
        listed = ", ".join(f'("{name}", {kind})' for name, kind in arguments)
        lines.append(f'    "{function}": ({result}, [{listed}]),')
    return "\n".join(lines + ["}", ""])


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    Path(sys.argv[-1]).write_text(generate([Path(name) for name in sys.argv[1:-1]]), encoding="utf-8")
