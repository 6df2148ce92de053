"""Builds the shared library of the package from the C sources, and a wheel that serves every Python 3.8 and later.

The package loads the library with ctypes, so the wheel is tagged py3-none-PLATFORM. A C compiler is all it takes: the
sources are those of the project that this folder lies in.
"""
import os
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

HERE = Path(__file__).resolve().parent
ROOT = Path(os.environ.get("KEYBITS_SOURCE", HERE.parent.parent))

sys.path.insert(0, str(HERE))
from generate_abi import generate  # noqa: E402

try:
    from wheel.bdist_wheel import bdist_wheel
except ImportError:  # newer setuptools have their own
    from setuptools.command.bdist_wheel import bdist_wheel


def model_tables() -> str:
    """models/*.kbm as C arrays, as cmake/embed_models.cmake makes them."""
    arrays, entries = [], []
    for number, path in enumerate(sorted((ROOT / "models").glob("*.kbm"))):
        values = ",".join(str(byte) for byte in path.read_bytes())
        arrays.append(f"static const unsigned char table_{number}[] = {{{values}}};")
        entries.append(f'{{"{path.stem}", table_{number}, sizeof table_{number}}},')
    return "\n".join(['#include "model/model.h"', "extern const kbi_builtin_table kbi_builtin_tables[];", *arrays,
                      "const kbi_builtin_table kbi_builtin_tables[] = {", *entries, "{NULL, NULL, 0}};", ""])


def library_name() -> str:
    return {"win32": "keybits.dll", "darwin": "libkeybits.dylib"}.get(sys.platform, "libkeybits.so")


def compile_library(target: Path, folder: Path) -> None:
    """The library and the trainer in one shared object."""
    ready = os.environ.get("KEYBITS_LIBRARY_FILE")  # built by CMake
    if ready:
        shutil.copyfile(ready, target)
        return
    folder.mkdir(parents=True, exist_ok=True)
    tables = folder / "builtin_tables.c"
    tables.write_text(model_tables())
    sources = [*sorted(ROOT.glob("src/*/*.c")), *sorted(ROOT.glob("learn/*.c")), tables]
    compiler = os.environ.get("CC", sysconfig.get_config_var("CC") or "cc").split()
    compiler = compiler if shutil.which(compiler[0]) else ["cc"]
    flags = ["-O3", "-std=gnu11", "-ffp-contract=off", "-fPIC", "-fvisibility=hidden", "-DKB_HAVE_BUILTIN_TABLES",
             "-DKB_BUILDING", "-DKB_SHARED", f"-I{ROOT / 'include'}", f"-I{ROOT / 'src'}", f"-I{ROOT}"]

    def compile_source(source: Path) -> str:
        result = str(folder / f"{source.parent.name}_{source.stem}.o")
        subprocess.run([*compiler, *flags, "-c", str(source), "-o", result], check=True)
        return result

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        objects = list(pool.map(compile_source, sources))
    system = [] if sys.platform == "win32" else ["-lm", "-lpthread", "-ldl"]
    subprocess.run([*compiler, "-shared", *objects, *system, "-o", str(target)], check=True)


class BuildLibrary(build_py):
    def run(self) -> None:
        super().run()
        package = Path(self.build_lib) / "keybits"
        package.mkdir(parents=True, exist_ok=True)
        headers = [ROOT / "include" / "keybits" / name
                   for name in ("keybits.h", "index.h", "learn.h", "collection.h")]
        if not headers[0].exists():
            raise SystemExit(f"the sources of keybits are not in {ROOT}: set KEYBITS_SOURCE to their folder")
        (package / "_abi.py").write_text(generate(headers), encoding="utf-8")
        compile_library(package / library_name(), Path(self.build_lib).parent / "keybits_objects")
        collection = os.environ.get("KEYBITS_COLLECTION_FILE")  # built by CMake: it needs libjpeg, libpng, SQLite
        if collection:
            shutil.copyfile(collection, package / "libkeybits-collection.so")
            words = package / "share" / "keybits"
            words.mkdir(parents=True, exist_ok=True)
            for vocabulary in (ROOT / "models").glob("*-10k.kbv"):
                shutil.copyfile(vocabulary, words / vocabulary.name)


class PlatformWheel(bdist_wheel):
    def finalize_options(self) -> None:
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self) -> "tuple[str, str, str]":
        return "py3", "none", super().get_tag()[2]


class BinaryDistribution(Distribution):
    def has_ext_modules(self) -> bool:
        return True


def header_version() -> str:
    for line in (ROOT / "include" / "keybits" / "keybits.h").read_text(encoding="utf-8").splitlines():
        if line.startswith("#define KB_VERSION_STRING"):
            return line.split('"')[1]
    raise SystemExit("no KB_VERSION_STRING in keybits.h")


setup(version=header_version(), cmdclass={"build_py": BuildLibrary, "bdist_wheel": PlatformWheel},
      distclass=BinaryDistribution)
