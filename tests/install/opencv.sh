# SPDX-License-Identifier: Apache-2.0
# An OpenCV program with keybits in it: by pkg-config, and by find_package(keybits COMPONENTS opencv). It runs, and an
# OpenCV that is not there is said.
source "$(dirname "$0")/common.inc"
need g++
need pkg-config
pkg-config --exists opencv4 || pkg-config --exists opencv5 || { echo "skipped: OpenCV (libopencv-dev) is missing"; exit 77; }
example=$KEYBITS_SOURCE/examples/opencv_homography.cpp
inliers() { LD_LIBRARY_PATH=${library%/*} "$1" | awk '/^inliers/ { print $2 }'; }

library=$(find "$KEYBITS_PREFIX" -name 'libkeybits.*' -print -quit)
file=$(find "$KEYBITS_PREFIX" -name keybits-opencv.pc)
export PKG_CONFIG_PATH=${file%/*}
[ "$(pkg-config --modversion keybits-opencv)" = "$version" ]
# shellcheck disable=SC2046
g++ -std=c++11 -Wall -Wextra -Werror "$example" $(pkg-config --cflags --libs keybits-opencv) -o "$scratch/example"
[ "$(inliers "$scratch/example")" -gt 200 ]

cat > "$scratch/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.16)
project(consumer CXX)
find_package(keybits ${version%.*} REQUIRED COMPONENTS opencv)
find_package(OpenCV REQUIRED COMPONENTS core imgproc imgcodecs calib3d)
add_executable(consumer $example)
target_link_libraries(consumer PRIVATE keybits::opencv \${OpenCV_LIBS})
CMAKE
cmake -S "$scratch" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$KEYBITS_PREFIX" >"$scratch/log"
cmake --build "$scratch/build" >>"$scratch/log"
[ "$(inliers "$scratch/build/consumer")" -gt 200 ]

if cmake -S "$scratch" -B "$scratch/without" -DCMAKE_PREFIX_PATH="$KEYBITS_PREFIX" \
    -DCMAKE_DISABLE_FIND_PACKAGE_OpenCV=ON >"$scratch/log" 2>&1; then
    echo "find_package found the component opencv without OpenCV"
    exit 1
fi
grep -q "needs OpenCV" "$scratch/log" || { cat "$scratch/log"; exit 1; }
