# SPDX-License-Identifier: Apache-2.0
"""The build backend of pyproject.toml: that of setuptools, with a sentence where a Python has none."""
import sys

try:
    from setuptools.build_meta import *  # noqa: F401,F403
except ImportError:
    sys.exit(f"keybits: {sys.executable} has no setuptools, which builds the package: install it "
             "(python3 -m pip install setuptools wheel; Debian: python3-setuptools, python3-wheel), "
             "or call another Python, such as /usr/bin/python3")
