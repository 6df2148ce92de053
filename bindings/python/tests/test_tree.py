# SPDX-License-Identifier: Apache-2.0
"""The package of a source tree, which was not built, with a library from elsewhere."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

import keybits

SOURCE = Path(os.environ.get("KEYBITS_SOURCE", ""))


def run(folder, code, **environment):
    variables = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, env=variables)


@pytest.fixture
def library():
    path = os.environ.get("KEYBITS_LIBRARY") or next(Path(keybits.__file__).parent.glob("*keybits.*"), None)
    if not (SOURCE / "bindings/python/generate_abi.py").exists() or path is None:
        pytest.skip("KEYBITS_SOURCE does not name the sources")
    return str(path)


def test_import_from_the_source_tree(library):
    code = "import numpy, keybits; print(keybits.__file__, len(keybits.detect(numpy.zeros((90, 90), numpy.uint8))))"
    done = run(SOURCE / "bindings/python", code, KEYBITS_LIBRARY=library)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(SOURCE / "bindings/python/keybits/__init__.py"), "0"]


def test_a_database_from_the_source_tree(library, tmp_path):
    code = f"import keybits.colmap; keybits.colmap.Database({str(tmp_path / 'a.db')!r}).close()"
    done = run(SOURCE / "bindings/python", code, KEYBITS_LIBRARY=library)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.db").stat().st_size > 0


def test_half_a_package_says_what_is_missing(library, tmp_path):
    (tmp_path / "keybits").mkdir()
    for path in (SOURCE / "bindings/python/keybits").glob("*.py"):
        if path.name != "_abi.py":
            (tmp_path / "keybits" / path.name).write_bytes(path.read_bytes())
    done = run(tmp_path, "import keybits", KEYBITS_LIBRARY=library)
    assert done.returncode != 0 and "ImportError: the package was not built" in done.stderr
    done = run(SOURCE / "bindings/python", "import keybits", KEYBITS_LIBRARY=str(tmp_path / "nothing.so"))
    assert done.returncode != 0 and "ImportError: the keybits library cannot be loaded" in done.stderr
