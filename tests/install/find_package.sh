# SPDX-License-Identifier: Apache-2.0
# A CMake project finds the installed library by find_package, and refuses a version that is not there.
source "$(dirname "$0")/common.inc"
cat > "$scratch/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.16)
project(consumer C)
find_package(keybits ${version%.*} REQUIRED)
add_executable(consumer $consumer)
target_link_libraries(consumer PRIVATE keybits::keybits)
CMAKE
cmake -S "$scratch" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$KEYBITS_PREFIX" >"$scratch/log"
cmake --build "$scratch/build" >>"$scratch/log"
check "$scratch/build/consumer"

sed -i 's/find_package(keybits [0-9.]*/find_package(keybits 99.0/' "$scratch/CMakeLists.txt"
if cmake -S "$scratch" -B "$scratch/other" -DCMAKE_PREFIX_PATH="$KEYBITS_PREFIX" >"$scratch/log" 2>&1; then
    echo "find_package(keybits 99.0) was content with $version"
    exit 1
fi
