# SPDX-License-Identifier: Apache-2.0
# The project inside another one: only the library is built, and nothing of ours changes theirs.
source "$(dirname "$0")/common.inc"
cat > "$scratch/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.16)
project(consumer C)
add_subdirectory($KEYBITS_SOURCE keybits)
add_executable(consumer $consumer)
target_link_libraries(consumer PRIVATE keybits::keybits)
foreach(target keybits-cli hash_everything keybits-learn keybits-eval)
    if(TARGET \${target})
        message(FATAL_ERROR "\${target} came along")
    endif()
endforeach()
if(CMAKE_BUILD_TYPE AND NOT DEBUG_IS_MEANT)
    message(FATAL_ERROR "the build type was set to \${CMAKE_BUILD_TYPE}")
endif()
CMAKE
# without a build type of theirs the library is optimised, for Debug it is not
cmake -S "$scratch" -B "$scratch/plain" >"$scratch/log"
grep -q -e '-O3' "$scratch/plain/keybits/CMakeFiles/keybits_objects.dir/flags.make" ||
    { echo "the library is not optimised"; exit 1; }
cmake -S "$scratch" -B "$scratch/build" -DCMAKE_BUILD_TYPE=Debug -DDEBUG_IS_MEANT=ON >"$scratch/log"
! grep -q -e '-O3' "$scratch/build/keybits/CMakeFiles/keybits_objects.dir/flags.make" ||
    { echo "the library is optimised for Debug"; exit 1; }
cmake --build "$scratch/build" >>"$scratch/log"
check "$scratch/build/consumer"

# a C++ project has keybits::opencv; in the same folder, where the library is built already
pkg-config --exists opencv4 2>/dev/null || { echo "OpenCV (libopencv-dev) is missing: keybits::opencv is not tested"; exit 0; }
cat > "$scratch/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.16)
project(consumer C CXX)
add_subdirectory($KEYBITS_SOURCE keybits)
find_package(OpenCV REQUIRED COMPONENTS core imgproc imgcodecs calib3d)
add_executable(consumer $KEYBITS_SOURCE/examples/opencv_homography.cpp)
target_link_libraries(consumer PRIVATE keybits::opencv \${OpenCV_LIBS})
CMAKE
cmake -S "$scratch" -B "$scratch/build" -UKEYBITS_BUILD_OPENCV >"$scratch/log"
cmake --build "$scratch/build" >>"$scratch/log"
"$scratch/build/consumer" | grep -q '^inliers'
