# SPDX-License-Identifier: Apache-2.0
"""The structs as Python sees them are those of the C compiler, and every function of the headers is in the library."""
import ctypes
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import keybits
from keybits import _abi
from keybits._arrays import keypoint_dtype, match_dtype
from keybits.matching import guide_dtype, stereo_dtype

STRUCTS = {name: kind for name, kind in vars(_abi).items()
           if isinstance(kind, type) and issubclass(kind, ctypes.Structure) and name.startswith("kb_")}
DTYPES = {"kb_keypoint": keypoint_dtype, "kb_match": match_dtype, "kb_guide": guide_dtype,
          "kb_stereo_match": stereo_dtype}


@pytest.fixture(scope="module")
def layout(tmp_path_factory):
    """What a C program that includes the headers says: {"struct": size, "struct.field": offset}."""
    root = Path(os.environ.get("KEYBITS_SOURCE", ""))
    compiler = shutil.which("cc")
    if not (root / "include/keybits/keybits.h").exists() or not compiler:
        pytest.skip("no C compiler, or KEYBITS_SOURCE does not name the sources")
    lines = ["#include <stdio.h>", "#include <keybits/index.h>", "#include <keybits/learn.h>",
             "#include <keybits/collection.h>", "int main(void) {"]
    for name, kind in STRUCTS.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        lines += [f'printf("{name}.{field} %zu\\n", offsetof({name}, {field}));' for field, *_ in kind._fields_]
    lines += [f'printf("{name} %lld\\n", (long long){name});' for name in constants()]
    folder = tmp_path_factory.mktemp("probe")
    (folder / "probe.c").write_text("\n".join([*lines, "return 0; }"]))
    subprocess.run([compiler, f"-I{root / 'include'}", folder / "probe.c", "-o", folder / "probe"], check=True)
    output = subprocess.run([folder / "probe"], capture_output=True, text=True, check=True).stdout
    return {key: int(value) for key, value in (line.split() for line in output.splitlines())}


def constants():
    return [name for name, value in vars(_abi).items() if name.startswith("KB_") and isinstance(value, int)]


def test_structs_have_the_compilers_layout(layout):
    assert len(STRUCTS) > 30
    for name, kind in STRUCTS.items():
        assert ctypes.sizeof(kind) == layout[name], name
        for field, *_ in kind._fields_:
            assert getattr(kind, field).offset == layout[f"{name}.{field}"], f"{name}.{field}"


def test_constants(layout):
    assert len(constants()) > 60
    for name in constants():
        assert getattr(_abi, name) == layout[name], name


def test_dtypes_have_the_compilers_layout(layout):
    for name, dtype in DTYPES.items():
        assert dtype.itemsize == layout[name]
        assert list(dtype.names) == [field for field, *_ in STRUCTS[name]._fields_]
        for field in dtype.names:
            assert dtype.fields[field][1] == layout[f"{name}.{field}"], f"{name}.{field}"


def test_every_function_is_there():
    assert len(_abi.FUNCTIONS) > 70
    for name in _abi.FUNCTIONS:
        assert name.startswith(("kb_collection_", "kb_localizer_")) or hasattr(keybits._library.lib, name), name


# What the package leaves out: the memory that it manages itself, single points and names of which numpy and the
# package have their own, defaults that zeros stand for, and what only tests of the library need.
LEFT_OUT = {"kb_workspace_create_in", "kb_workspace_reserve", "kb_index_reserve",
            "kb_collection_vocabulary", "kb_hamming", "kb_homography_apply", "kb_kernel_at", "kb_learn_defaults",
            "kb_learn_hash_defaults"}


def test_the_package_calls_every_function_but_those_left_out():
    modules = [path for path in Path(keybits.__file__).parent.glob("*.py") if path.name != "_abi.py"]
    called = set(re.findall(r"lib\.(kb_\w+)", "".join(path.read_text(encoding="utf-8") for path in modules)))
    assert called & LEFT_OUT == set()
    assert set(_abi.FUNCTIONS) - called == LEFT_OUT
