# SPDX-License-Identifier: Apache-2.0
"""In a source tree there is no _abi.py, which the build makes of the headers; so that the package can be imported from
there, with KEYBITS_LIBRARY, it is made in memory."""
import importlib.util
import sys
import types
from pathlib import Path

_HEADERS = ("keybits.h", "advanced.h", "index.h", "learn.h", "collection.h")


def _make(name: str, folder: Path) -> None:
    headers = [folder.parent.parent / "include" / "keybits" / header for header in _HEADERS]
    spec = importlib.util.spec_from_file_location("keybits_generate_abi", folder / "generate_abi.py")
    if spec is None or spec.loader is None or not (folder / "generate_abi.py").exists() or not headers[0].exists():
        raise ImportError("the package was not built (it has no _abi.py), and is not in its source tree either")
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    module = types.ModuleType(name)
    module.__package__ = __package__
    exec(compile(generator.generate(headers), "_abi.py", "exec"), module.__dict__)
    sys.modules[name] = module
    setattr(sys.modules[str(__package__)], "_abi", module)


if importlib.util.find_spec(f"{__package__}._abi") is None:
    _make(f"{__package__}._abi", Path(__file__).resolve().parent.parent)
