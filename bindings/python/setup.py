# SPDX-License-Identifier: Apache-2.0
"""Builds the shared library of the package by CMake, and a wheel that serves every Python 3.8 and later.

The package loads the library with ctypes, so the wheel is tagged py3-none-PLATFORM. The C sources are those of the
project that this folder lies in; an sdist holds a copy of them in source/.

    CMAKE_ARGS            more arguments for CMake, such as a toolchain
    KEYBITS_LIBRARY_FILE  a library that was built before, which is taken as it is
    KEYBITS_SOURCE        the folder of the C sources
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import List, Optional, Tuple

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist
from setuptools.dist import Distribution

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    try:
        from wheel.bdist_wheel import bdist_wheel  # before setuptools 70.1
    except ImportError:
        raise SystemExit(f"keybits: {sys.executable} has no wheel, which its setuptools needs: install it "
                         "(python3 -m pip install wheel; Debian: python3-wheel)") from None

HERE = Path(__file__).resolve().parent
COPY = HERE / "source"
ROOT = COPY if COPY.exists() else Path(os.environ.get("KEYBITS_SOURCE", HERE.parent.parent))
HEADERS = [ROOT / "include" / "keybits" / name for name in ("keybits.h", "advanced.h", "index.h", "learn.h", "collection.h")]
TERMS = ("LICENSE", "NOTICE")
SOURCES = ("CMakeLists.txt", "cmake", "include", "io/colmap.sql", "learn", "models", "src", *TERMS)  # what the library is built from
LEFT_OUT = ("CLI", "EVAL", "BENCH", "EXAMPLES", "OPENCV", "TESTS")
LIBRARIES = ("libkeybits.so", "libkeybits.dylib", "keybits.dll")

sys.path.insert(0, str(HERE))
from generate_abi import generate  # noqa: E402


def build_library(folder: Path) -> Path:
    """The library and the trainer in one shared object; its path."""
    ready = os.environ.get("KEYBITS_LIBRARY_FILE")
    if ready:
        return Path(ready)
    cmake = shutil.which("cmake")
    if cmake is None:
        raise SystemExit("keybits: the C library is built by CMake, which is not there (Debian: cmake; "
                         "or python3 -m pip install cmake)")
    print("keybits: compiling the C library, which takes about a minute", flush=True)
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DKEYBITS_BUILD_PYTHON=ON", "-DKEYBITS_BUILD_LEARN=ON",
               "-DKEYBITS_INSTALL=OFF", *(f"-DKEYBITS_BUILD_{part}=OFF" for part in LEFT_OUT),
               *shlex.split(os.environ.get("CMAKE_ARGS", ""))]
    for command in ([cmake, "-S", str(ROOT), "-B", str(folder), *options],
                    [cmake, "--build", str(folder), "--config", "Release", "--target", "keybits-python",
                     "--parallel", str(os.cpu_count() or 1)]):
        if subprocess.run(command).returncode != 0:
            raise SystemExit("keybits: the C library does not compile; the lines above say why (pip install -v "
                             "shows them)")
    return next(path for path in sorted((folder / "python").rglob("*")) if path.name in LIBRARIES)


def platform_of(library: Path) -> Optional[str]:
    """The platform that a library runs on, as wheels call it; None for those not known here. On Linux it is the newest
    glibc among the versions of the symbols that the library uses."""
    data = library.read_bytes()
    if data[:4] == b"\x7fELF":
        machine = {62: "x86_64", 183: "aarch64"}.get(int.from_bytes(data[18:20], "little"))
        minors = [int(minor) for minor in re.findall(rb"\0GLIBC_2\.(\d+)(?=[.\0])", data)]
        return f"manylinux_2_{max([17, *minors])}_{machine}" if machine and minors else None
    if data[:2] == b"MZ":
        start = int.from_bytes(data[0x3c:0x40], "little") + 4
        return {0x8664: "win_amd64", 0xaa64: "win_arm64"}.get(int.from_bytes(data[start:start + 2], "little"))
    if data[:4] == b"\xcf\xfa\xed\xfe":  # Mach-O, whose command 0x32 has the oldest macOS
        machine = {0x01000007: "x86_64", 0x0100000c: "arm64"}.get(int.from_bytes(data[4:8], "little"))
        at = 32
        for _ in range(int.from_bytes(data[16:20], "little")):
            command, size = (int.from_bytes(data[at + i:at + i + 4], "little") for i in (0, 4))
            if command == 0x32 and machine:
                return f"macosx_{data[at + 14]}_{data[at + 13] if data[at + 14] < 11 else 0}_{machine}"
            at += size
    return None


class BuildLibrary(build_py):
    def run(self) -> None:
        if not HEADERS[0].exists():
            raise SystemExit(f"keybits: the C sources are not in {ROOT}: set KEYBITS_SOURCE to their folder")
        super().run()
        package = Path(self.build_lib) / "keybits"
        vocabularies = package / "vocabularies"
        vocabularies.mkdir(parents=True, exist_ok=True)
        for path in (ROOT / "models").glob("*.kbv"):
            shutil.copyfile(path, vocabularies / path.name)
        shutil.copyfile(ROOT / "io" / "colmap.sql", package / "colmap.sql")
        (package / "_abi.py").write_text(generate(HEADERS), encoding="utf-8")
        library = build_library(Path(self.build_lib).parent / "keybits_cmake")
        for name in LIBRARIES:  # of a build for another platform
            (package / name).unlink(missing_ok=True)
        shutil.copyfile(library, package / library.name)
        collection = os.environ.get("KEYBITS_COLLECTION_FILE")  # built by CMake: it needs libjpeg, libpng, SQLite
        if collection:
            shutil.copyfile(collection, package / "libkeybits-collection.so")


class PlatformWheel(bdist_wheel):
    def finalize_options(self) -> None:
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self) -> Tuple[str, str, str]:
        package = Path(self.get_finalized_command("build_py").build_lib) / "keybits"
        built: List[Path] = [package / name for name in LIBRARIES if (package / name).exists()]
        return "py3", "none", (built and platform_of(built[0])) or super().get_tag()[2]


class SourceDistribution(sdist):
    def make_release_tree(self, base_dir: str, files: List[str]) -> None:
        super().make_release_tree(base_dir, files)
        copy = Path(base_dir) / COPY.name
        copy.mkdir()
        for name in SOURCES:
            put = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
            (copy / name).parent.mkdir(exist_ok=True)
            put(ROOT / name, copy / name)


class BinaryDistribution(Distribution):
    def has_ext_modules(self) -> bool:
        return True


def header_version() -> str:
    for line in HEADERS[0].read_text(encoding="utf-8").splitlines():
        if line.startswith("#define KB_VERSION_STRING"):
            return line.split('"')[1]
    raise SystemExit("keybits: no KB_VERSION_STRING in keybits.h")


for terms in TERMS:  # setuptools takes them along from beside this file
    if not (HERE / terms).exists():
        shutil.copyfile(ROOT / terms, HERE / terms)
setup(version=header_version(), distclass=BinaryDistribution,
      cmdclass={"build_py": BuildLibrary, "bdist_wheel": PlatformWheel, "sdist": SourceDistribution})
