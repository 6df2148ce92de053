# SPDX-License-Identifier: Apache-2.0
"""What the wheel says about itself, and what a Python without setuptools says."""
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import keybits

SOURCE = Path(os.environ.get("KEYBITS_SOURCE", ""), "bindings/python")


def test_metadata():
    about = metadata.metadata("keybits")
    assert about["Version"] == keybits.__version__ and "numpy" in about["Requires-Dist"]
    assert any(line.startswith("License :: OSI Approved") for line in about.get_all("Classifier"))
    names = [path.name for path in metadata.files("keybits")]
    assert "LICENSE" in names and "NOTICE" in names and "bag256-1k.kbv" in names
    notice = next(path for path in metadata.files("keybits") if path.name == "NOTICE").read_text()
    assert "CC BY 4.0" in notice and "CC BY 3.0" in notice  # photographs that the models were learned from


@pytest.mark.skipif(not (SOURCE / "backend.py").exists(), reason="KEYBITS_SOURCE does not name the sources")
@pytest.mark.parametrize("missing", ["setuptools", "wheel"])
def test_a_python_that_cannot_build_says_so(missing):
    code = f"""import sys
sys.modules[{missing!r}] = None
sys.modules["setuptools.command.bdist_wheel"] = None
import backend
sys.argv = ["setup.py", "--version"]
exec(compile(open("setup.py").read(), "setup.py", "exec"), {{"__file__": "setup.py"}})"""
    done = subprocess.run([sys.executable, "-c", code], cwd=SOURCE, capture_output=True, text=True, timeout=600)
    assert done.returncode == 1 and f"has no {missing}" in done.stderr and "Traceback" not in done.stderr, done.stderr
