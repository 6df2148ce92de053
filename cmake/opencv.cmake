# SPDX-License-Identifier: Apache-2.0
# keybits::opencv: the headers of bindings/opencv, which are all of it, together with OpenCV and the library. Only there
# when a C++ compiler and OpenCV are. An installed keybits makes the target by find_package(keybits COMPONENTS opencv).
include(CheckLanguage)
check_language(CXX)
set(KEYBITS_OPENCV_FOUND OFF)
if(CMAKE_CXX_COMPILER)
    enable_language(CXX)
    find_package(OpenCV QUIET COMPONENTS core imgproc features) # OpenCV 5
    if(NOT OpenCV_FOUND)
        find_package(OpenCV QUIET COMPONENTS core imgproc features2d)
    endif()
    if(OpenCV_FOUND)
        set(KEYBITS_OPENCV_FOUND ON)
        foreach(library IN LISTS OpenCV_LIBS) # a project around this one links them too
            if(TARGET ${library} AND NOT top_level)
                set_target_properties(${library} PROPERTIES IMPORTED_GLOBAL TRUE)
            endif()
        endforeach()
        add_library(keybits-opencv INTERFACE)
        add_library(keybits::opencv ALIAS keybits-opencv)
        target_include_directories(keybits-opencv INTERFACE ${PROJECT_SOURCE_DIR}/bindings/opencv)
        target_include_directories(keybits-opencv SYSTEM INTERFACE ${OpenCV_INCLUDE_DIRS})
        target_link_libraries(keybits-opencv INTERFACE keybits ${OpenCV_LIBS})
    endif()
endif()
