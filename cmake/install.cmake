# SPDX-License-Identifier: Apache-2.0
# The library, its header, the program, and what lets others find them: a CMake package and a pkg-config file.
include(CMakePackageConfigHelpers)

install(TARGETS keybits EXPORT keybitsTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES include/keybits/keybits.h include/keybits/advanced.h include/keybits/index.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/keybits)
if(TARGET keybits-learn)
    if(BUILD_SHARED_LIBS)
        set(learn_library keybits-learn-public)
    else()
        set(learn_library keybits-learn)
    endif()
    install(TARGETS ${learn_library} EXPORT keybitsTargets
            ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
            LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
            RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(FILES include/keybits/learn.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/keybits)
endif()
if(TARGET keybits-cli)
    install(TARGETS keybits-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(FILES ${large_vocabularies} DESTINATION ${CMAKE_INSTALL_DATADIR}/keybits)
    # The program prints its man page and completion from its tables of options.
    if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
        set(man_pages ${PROJECT_BINARY_DIR}/man)
        set(completion ${PROJECT_BINARY_DIR}/keybits.bash)
        add_custom_command(OUTPUT ${completion} DEPENDS keybits-cli ${PROJECT_SOURCE_DIR}/scripts/man-pages
                           COMMAND sh ${PROJECT_SOURCE_DIR}/scripts/man-pages $<TARGET_FILE:keybits-cli> ${man_pages}
                           COMMAND keybits-cli help --completion > ${completion})
        add_custom_target(keybits-man ALL DEPENDS ${completion})
        if(TARGET tests) # which install
            add_dependencies(tests keybits-man)
        endif()
        install(DIRECTORY ${man_pages}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
        install(FILES ${completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME keybits)
    endif()
endif()
if(TARGET keybits-peers)
    install(TARGETS keybits-peers LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/keybits COMPONENT peers)
endif()

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/keybits)
install(EXPORT keybitsTargets NAMESPACE keybits:: DESTINATION ${package_folder})
configure_package_config_file(cmake/keybitsConfig.cmake.in ${PROJECT_BINARY_DIR}/keybitsConfig.cmake
                              INSTALL_DESTINATION ${package_folder} PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/keybitsConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/keybitsConfig.cmake ${PROJECT_BINARY_DIR}/keybitsConfigVersion.cmake
        DESTINATION ${package_folder})

# A static library brings no list of what it needs, so there the needs belong to everyone's link line.
set(pc_needs "-lm")
if(KEYBITS_THREADS)
    string(APPEND pc_needs " -pthread")
endif()
set(pc_libs "-L\${libdir} -lkeybits")
set(pc_libs_private "")
if(BUILD_SHARED_LIBS)
    set(pc_libs_private "${pc_needs}")
else()
    string(APPEND pc_libs " ${pc_needs}")
endif()
# Found from where the file itself lies, so that an installed tree may be moved.
file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
configure_file(cmake/keybits.pc.in ${PROJECT_BINARY_DIR}/keybits.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/keybits.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET keybits-learn)
    configure_file(cmake/keybits-learn.pc.in ${PROJECT_BINARY_DIR}/keybits-learn.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/keybits-learn.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

# The headers for OpenCV programs; they need OpenCV when they are used, not to be installed.
install(FILES bindings/opencv/keybits_opencv.hpp bindings/opencv/keybits_orbslam.hpp
              bindings/opencv/keybits_stitching.hpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(pc_opencv opencv4)
if(OpenCV_VERSION VERSION_GREATER_EQUAL 5)
    set(pc_opencv opencv5)
endif()
configure_file(cmake/keybits-opencv.pc.in ${PROJECT_BINARY_DIR}/keybits-opencv.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/keybits-opencv.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# ------------------------------------------------------------------------------------------ documents and the licence
# Links to what is not installed lead to the forge.
set(forge "https://github.com/keybits/keybits/blob/v${PROJECT_VERSION}")
file(GLOB pages RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS LICENSE NOTICE README.md NEWS.md
     SECURITY.md docs/*.md docs/images/*)
foreach(page IN LISTS pages)
    get_filename_component(folder ${page} DIRECTORY)
    if(page MATCHES "\\.md$")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page})
        file(READ ${page} text)
        string(REGEX MATCHALL "\\([A-Za-z0-9./_-]+[#)]" links "${text}")
        list(REMOVE_DUPLICATES links)
        foreach(link IN LISTS links)
            string(REGEX REPLACE "^\\((.*).$" "\\1" target "${link}")
            get_filename_component(target ${PROJECT_SOURCE_DIR}/${folder}/${target} ABSOLUTE)
            file(RELATIVE_PATH target ${PROJECT_SOURCE_DIR} ${target})
            if(EXISTS ${PROJECT_SOURCE_DIR}/${target} AND NOT target IN_LIST pages)
                string(REGEX MATCH ".$" end "${link}")
                string(REPLACE "]${link}" "](${forge}/${target}${end}" text "${text}")
            endif()
        endforeach()
        file(WRITE ${PROJECT_BINARY_DIR}/installed-pages/${page} "${text}")
        set(page ${PROJECT_BINARY_DIR}/installed-pages/${page})
    endif()
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder})
endforeach()

# `cmake --build BUILD --target uninstall` removes what the last installation wrote.
if(top_level)
    add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -DMANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt
                                        -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake)
    include(cmake/package.cmake)
endif()
