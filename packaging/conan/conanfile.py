# SPDX-License-Identifier: Apache-2.0
"""Conan 2: the library alone, from the source tarball: conan create conan --version VERSION."""
import os

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get


class Keybits(ConanFile):
    name = "keybits"
    license = "Apache-2.0"
    url = "https://github.com/keybits/keybits"
    description = "Learned binary local image descriptors, with detection, matching and geometry"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False]}
    default_options = {"shared": False}
    languages = "C"

    def layout(self):
        cmake_layout(self, src_folder="src")

    def source(self):
        get(self, f"{self.url}/releases/download/v{self.version}/keybits-{self.version}-source.tar.gz", sha256="@SHA256@",
            strip_root=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["KEYBITS_EXTRAS"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        for name in ("LICENSE", "NOTICE"):
            copy(self, name, self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.libs = ["keybits"]
        self.cpp_info.set_property("cmake_target_name", "keybits::keybits")
        if self.settings.os in ("Linux", "FreeBSD"):
            self.cpp_info.system_libs = ["m", "pthread"]
        if self.options.shared:
            self.cpp_info.defines = ["KB_SHARED"]
