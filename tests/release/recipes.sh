# SPDX-License-Identifier: Apache-2.0
# The recipes of the release in KEYBITS_DIST make what they promise, run by stand-ins for vcpkg's functions, Conan's
# modules and conda-build, which are not in Debian. What they make matches two images.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
source "$KEYBITS_SOURCE/scripts/python.inc"
python=$(find_python numpy pip setuptools wheel yaml jinja2)
version=$("$KEYBITS_SOURCE/scripts/version")
mkdir "$scratch/recipes"
tar -C "$scratch/recipes" --strip-components=1 -xf "$KEYBITS_DIST/keybits-$version-recipes.tar.gz"
cd "$scratch"

# uses NAME PREFIX: a CMake project finds what was made, and finds a homography
uses() {
    mkdir -p "$1-user"
    cat >"$1-user/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.16)
project(user C)
find_package(keybits $version REQUIRED)
add_executable(user $KEYBITS_SOURCE/examples/match.c)
target_link_libraries(user keybits::keybits)
CMAKE
    cmake -S "$1-user" -B "$1-user/build" -DCMAKE_PREFIX_PATH="$2" >log 2>&1 && cmake --build "$1-user/build" >>log 2>&1 ||
        fail "$1: $(tail -n 5 log)"
    "$1-user/build/user" | grep '^inliers [1-9]' || fail "$1: nothing is found"
    [ -n "$(find "$2" -name LICENSE)$(find "$2" -name copyright)" ] || fail "$1: no licence"
}

cat >vcpkg.cmake <<'CMAKE'
function(vcpkg_download_distfile out)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "FILENAME;SHA512" "URLS")
    file(SHA512 ${DIST}/${arg_FILENAME} sum)
    if(NOT sum STREQUAL arg_SHA512 OR NOT arg_URLS MATCHES "/v${VERSION}/${arg_FILENAME}$")
        message(FATAL_ERROR "${arg_URLS} ${arg_SHA512}")
    endif()
    set(${out} ${DIST}/${arg_FILENAME} PARENT_SCOPE)
endfunction()
function(vcpkg_extract_source_archive out)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "ARCHIVE" "")
    file(ARCHIVE_EXTRACT INPUT ${arg_ARCHIVE} DESTINATION ${WORK}/src)
    file(GLOB folder ${WORK}/src/*)
    set(${out} ${folder} PARENT_SCOPE)
endfunction()
macro(run)
    execute_process(COMMAND ${CMAKE_COMMAND} ${ARGN} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endmacro()
function(vcpkg_cmake_configure)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
    run(-S ${arg_SOURCE_PATH} -B ${WORK}/build -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} -DCMAKE_INSTALL_LIBDIR=lib ${arg_OPTIONS})
endfunction()
function(vcpkg_cmake_install)
    run(--build ${WORK}/build -j 2)
    run(--install ${WORK}/build)
endfunction()
function(vcpkg_cmake_config_fixup)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "PACKAGE_NAME;CONFIG_PATH" "")
    if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/${arg_PACKAGE_NAME}Config.cmake)
        message(FATAL_ERROR "no ${arg_CONFIG_PATH}")
    endif()
endfunction()
function(vcpkg_fixup_pkgconfig)
endfunction()
function(vcpkg_install_copyright)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
    foreach(file IN LISTS arg_FILE_LIST)
        file(READ ${file} text)
        file(APPEND ${CURRENT_PACKAGES_DIR}/share/keybits/copyright "${text}")
    endforeach()
endfunction()
include(${PORT}/portfile.cmake)
CMAKE
port_version=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["version"])' recipes/vcpkg/vcpkg.json)
cmake -DDIST="$KEYBITS_DIST" -DVERSION="$port_version" -DWORK="$scratch/vcpkg" -DCURRENT_PACKAGES_DIR="$scratch/vcpkg/installed" \
    -DPORT="$scratch/recipes/vcpkg" -P vcpkg.cmake >log 2>&1 || fail "vcpkg: $(tail -n 10 log)"
uses vcpkg "$scratch/vcpkg/installed"

mkdir -p modules/conan/tools
cat >modules/conan/__init__.py <<'PY'
class ConanFile:
    pass
PY
touch modules/conan/tools/__init__.py
cat >modules/conan/tools/files.py <<'PY'
import hashlib, os, shutil, tarfile

def get(recipe, url, sha256, strip_root):
    path = os.path.join(os.environ["KEYBITS_DIST"], url.rsplit("/", 1)[1])
    assert f"/v{recipe.version}/" in url and strip_root
    assert hashlib.sha256(open(path, "rb").read()).hexdigest() == sha256
    tarfile.open(path).extractall("unpacked")
    os.rename(os.path.join("unpacked", os.listdir("unpacked")[0]), recipe.source_folder)

def copy(recipe, name, source, to):
    os.makedirs(to, exist_ok=True)
    shutil.copy(os.path.join(source, name), to)
PY
cat >modules/conan/tools/cmake.py <<'PY'
import subprocess

def cmake_layout(recipe, src_folder):
    recipe.source_folder, recipe.build_folder, recipe.package_folder = src_folder, "build", "installed"

class CMakeToolchain:
    def __init__(self, recipe):
        self.recipe, self.cache_variables = recipe, {}
    def generate(self):
        self.recipe.toolchain = [f"-D{name}={'ON' if value else 'OFF'}" for name, value in self.cache_variables.items()]

class CMake:
    def __init__(self, recipe):
        self.recipe = recipe
    def run(self, *words):
        subprocess.run(["cmake", *words], check=True, stdout=subprocess.DEVNULL)
    def configure(self):
        self.run("-S", self.recipe.source_folder, "-B", self.recipe.build_folder, *self.recipe.toolchain)
    def build(self):
        self.run("--build", self.recipe.build_folder, "-j", "2")
    def install(self):
        self.run("--install", self.recipe.build_folder, "--prefix", self.recipe.package_folder)
PY
cat >run-conan.py <<'PY'
import runpy, sys, types
recipe = runpy.run_path(sys.argv[1])["Keybits"]()
recipe.version = sys.argv[2]
recipe.settings, recipe.options = types.SimpleNamespace(os="Linux"), types.SimpleNamespace(shared=False)
recipe.cpp_info = types.SimpleNamespace(set_property=lambda *words: None)
for step in ("layout", "source", "generate", "build", "package", "package_info"):
    getattr(recipe, step)()
assert recipe.cpp_info.libs == ["keybits"] and recipe.cpp_info.system_libs == ["m", "pthread"]
PY
mkdir conan
(cd conan && PYTHONPATH=$scratch/modules "$python" "$scratch/run-conan.py" "$scratch/recipes/conan/conanfile.py" "$version") >log 2>&1 ||
    fail "conan: $(tail -n 10 log)"
uses conan "$scratch/conan/installed"

cat >run-conda.py <<'PY'
import hashlib, os, subprocess, sys, tarfile
import jinja2, yaml
recipe, prefix = sys.argv[1:]
text = jinja2.Template(open(recipe).read()).render(PYTHON=sys.executable, compiler=lambda language: language)
recipe = yaml.safe_load(text)
path = os.path.join(os.environ["KEYBITS_DIST"], recipe["source"]["url"].rsplit("/", 1)[1])
assert hashlib.sha256(open(path, "rb").read()).hexdigest() == recipe["source"]["sha256"]
tarfile.open(path).extractall("sdist")
folder = os.path.join("sdist", os.listdir("sdist")[0])
for terms in recipe["about"]["license_file"]:
    assert os.path.exists(os.path.join(folder, terms)), terms
subprocess.run(recipe["build"]["script"] + f" --no-index --target {prefix}", shell=True, check=True, cwd=folder)
for module in recipe["test"]["imports"]:
    subprocess.run([sys.executable, "-c", f"import {module}; print({module}.__file__)"], check=True, env={"PYTHONPATH": prefix})
PY
"$python" run-conda.py recipes/conda/meta.yaml "$scratch/conda" >log 2>&1 || fail "conda: $(tail -n 10 log)"
grep -q "^$scratch/conda/keybits/" log || fail "conda: another package was imported"
echo "vcpkg, conan, conda: made from the release"
