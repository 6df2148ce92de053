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
if(CMAKE_BUILD_TYPE)
    message(FATAL_ERROR "the build type was set to \${CMAKE_BUILD_TYPE}")
endif()
CMAKE
cmake -S "$scratch" -B "$scratch/build" >"$scratch/log"
cmake --build "$scratch/build" >>"$scratch/log"
check "$scratch/build/consumer"
